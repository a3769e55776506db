import type { Database } from "#src/platform/index.ts";
import { CHANNEL } from "./transition.ts";

/** Who wants to hear of which session, and of what. */
export class Watchers<T = void> {
  readonly #bySession = new Map<string, Set<(what: T) => void>>();

  /** Calls `onEvent` each time the session is told of; the returned function ends it. */
  watch(id: string, onEvent: (what: T) => void): () => void {
    const watchers = this.#bySession.get(id) ?? new Set();
    this.#bySession.set(id, watchers);
    // The same function may be given twice.
    const watcher = (what: T) => onEvent(what);
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#bySession.get(id) === watchers) this.#bySession.delete(id);
    };
  }

  tell(id: string, what: T): void {
    this.#bySession.get(id)?.forEach((watcher) => watcher(what));
  }

  /** Tells all of every session. */
  tellAll(what: T): void {
    [...this.#bySession.keys()].forEach((id) => this.tell(id, what));
  }
}

/**
 * Tells of each committed change of a session, in whichever process it was made: one LISTEN serves all streams and calls of a process (E11).
 * After a lost connection everybody is told, because any change may have been missed.
 */
export function listenForChanges(database: Pick<Database, "listen">, watchers: Watchers): Promise<() => Promise<void>> {
  return database.listen(
    CHANNEL,
    (id) => watchers.tell(id),
    () => watchers.tellAll(),
  );
}
