import { inspect } from "node:util";

const MASK = "[redacted]";

/** What cannot be printed by accident: `toString`, `toJSON` and `inspect` return a mask. */
export abstract class Masked {
  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** A value that cannot be printed by accident. */
export class Secret<T = string> extends Masked {
  readonly #value: T;

  constructor(value: T) {
    super();
    this.#value = value;
  }

  /** The value itself. Call it where it is sent and nowhere else. */
  reveal(): T {
    return this.#value;
  }
}
