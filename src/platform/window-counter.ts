import type { Clock } from "#src/kernel/clock.ts";

interface WindowOptions {
  clock: Pick<Clock, "monotonic">;
  /** A window begins with the first count of a name and lasts this long. */
  windowMs: number;
  /** Names that are told apart at a time; all others are counted together as `OTHERS`. */
  most: number;
}

/** What names beyond `most` are counted as. */
export const OTHERS = "many others";

/** Counts what comes in windows of time, by a name that an unknown peer may choose: its memory is bounded. */
export class WindowCounter {
  readonly #options: WindowOptions;
  readonly #windows = new Map<string, { endsAt: number; count: number }>();

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  /** Counts one. Returns the name it was counted as, and how many that are in its window. */
  count(name: string): { name: string; count: number } {
    const { clock, windowMs, most } = this.#options;
    const now = clock.monotonic();
    const known = this.#windows.get(name);
    if (known && now < known.endsAt) return { name, count: ++known.count };
    // Windows are all as long, so those that began first end first.
    for (const [other, { endsAt }] of this.#windows) {
      if (now < endsAt) break;
      this.#windows.delete(other);
    }
    if (this.#windows.size >= most && name !== OTHERS) return this.count(OTHERS);
    this.#windows.set(name, { endsAt: now + windowMs, count: 1 });
    return { name, count: 1 };
  }
}
