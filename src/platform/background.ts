/** Work that nobody waits for, until the process is to end. */
export class Background {
  readonly #running = new Set<Promise<unknown>>();

  /** The same promise, kept until it is over. */
  run<T>(work: Promise<T>): Promise<T> {
    const whole = work.finally(() => this.#running.delete(whole));
    this.#running.add(whole);
    return whole;
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
