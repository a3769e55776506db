import { inspect } from "node:util";

export const MASK = "[redacted]";

/** A value that cannot be printed by accident: `toString`, `toJSON` and `inspect` return a mask. */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. Call it where it is sent and nowhere else. */
  reveal(): T {
    return this.#value;
  }

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
