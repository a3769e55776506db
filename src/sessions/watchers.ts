import type { Database } from "#src/platform/index.ts";
import { CHANNEL } from "./transition.ts";

/** Who wants to hear of which session. One LISTEN serves all streams and calls of a process (E11). */
export class Watchers {
  readonly #bySession = new Map<string, Set<() => void>>();

  /** Calls `onChange` after each committed change of the session, in whichever process it was made; the returned function ends it. */
  watch(id: string, onChange: () => void): () => void {
    const watchers = this.#bySession.get(id) ?? new Set();
    this.#bySession.set(id, watchers);
    // The same function may be given twice.
    const watcher = () => onChange();
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#bySession.get(id) === watchers) this.#bySession.delete(id);
    };
  }

  /** Starts listening. After a lost connection everybody is called, because any change may have been missed. */
  listen(database: Pick<Database, "listen">): Promise<() => Promise<void>> {
    return database.listen(
      CHANNEL,
      (id) => this.#call(id),
      () => [...this.#bySession.keys()].forEach((id) => this.#call(id)),
    );
  }

  #call(id: string): void {
    this.#bySession.get(id)?.forEach((watcher) => watcher());
  }
}
