/** Packets that may come late and still count. RFC 3711 section 3.3.2 asks for 64 at least. */
const WINDOW = 128;

/** Which packets of a stream have come: none is let through twice, and none from before the window (RFC 3711 section 3.3.2). */
export class ReplayWindow {
  readonly #seen = new Uint8Array(WINDOW);
  /** Index of the newest packet; -1 before the first. */
  highest: number;

  /** `highest`: the indices of a stream that goes on under a new key. */
  constructor(highest = -1) {
    this.highest = highest;
  }

  /** False for an index that has been there, or that is too old to tell. */
  isNew(index: number): boolean {
    if (index > this.highest) return true;
    return this.highest - index < WINDOW && this.#seen[index % WINDOW] === 0;
  }

  /** Notes an index once its packet was found genuine. */
  note(index: number): void {
    if (index > this.highest) {
      for (let at = Math.max(this.highest + 1, index - WINDOW + 1); at <= index; at++) this.#seen[at % WINDOW] = 0;
      this.highest = index;
    }
    this.#seen[index % WINDOW] = 1;
  }
}
