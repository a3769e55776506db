import type { Clock } from "#src/kernel/clock.ts";

/** A key that is no longer valid ends its streams within a second, as it ends its requests. */
const CHECK_MS = 500;

/** Watches keys, by their digests, that are in use for longer than a request; returns what adds a use, which returns what ends it. */
type KeyWatch = (digest: string, onInvalid: () => void) => () => void;

/**
 * Looks all keys in use up together, as long as there are any, and calls `onInvalid` of those in `invalidOf`. While the database is
 * away they stay.
 */
export function watchKeys(clock: Clock, invalidOf: (digests: readonly string[]) => Promise<string[]>): KeyWatch {
  const uses = new Map<string, Set<() => void>>();
  let isChecking = false;
  let cancel: (() => void) | null = null;

  const check = async () => {
    cancel = null;
    isChecking = true;
    const invalid = await invalidOf([...uses.keys()]).catch(() => []);
    for (const digest of invalid) uses.get(digest)?.forEach((onInvalid) => onInvalid());
    isChecking = false;
    schedule();
  };
  const schedule = () => {
    if (uses.size > 0 && !isChecking) cancel ??= clock.after(CHECK_MS, () => void check());
  };

  return (digest, onInvalid) => {
    const own = uses.get(digest) ?? new Set();
    uses.set(digest, own.add(onInvalid));
    schedule();
    return () => {
      own.delete(onInvalid);
      if (own.size === 0) uses.delete(digest);
      if (uses.size > 0) return;
      cancel?.();
      cancel = null;
    };
  };
}
