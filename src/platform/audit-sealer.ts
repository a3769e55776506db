import type { Clock } from "#src/kernel/clock.ts";
import { ChainBrokenError, type Head, sealRows } from "./audit-chain.ts";
import type { Database } from "./db/database.ts";
import type { Log } from "./log.ts";
import { repeat } from "./repeat.ts";

const EVERY_MS = 1000;
/** How often the chain's end is written to the log, from where it can be kept out of reach of the database's owner. */
const TELL_EVERY_MS = 600_000;

interface SealerDeps {
  database: Database;
  /** The audit key of the installation. */
  key: Uint8Array;
  clock: Clock;
  log: Log;
}

/** Seals the audit log every second. Every worker does; whoever comes first seals. The returned function seals once more and ends it. */
export function startAuditSealer({ database, key, clock, log }: SealerDeps): () => Promise<void> {
  let [told, toldAt]: [number | null, number] = [null, 0];

  const tell = (head: Head) => {
    if (head.position === (told ?? 0)) return;
    [told, toldAt] = [head.position, clock.monotonic()];
    log.info("audit_head", { audit_head: headText(head) });
  };
  const round = async (isLast: boolean) => {
    const head = await sealRows(database, key);
    if (head && (told === null || isLast || clock.monotonic() - toldAt >= TELL_EVERY_MS)) tell(head);
  };
  const onFailure = (error: unknown) => {
    if (error instanceof ChainBrokenError) log.error("audit_chain_broken", { reason: error.message });
    else log.warn("audit_not_sealed", { error });
  };
  const end = repeat({ clock, everyMs: EVERY_MS, task: () => round(false), onFailure });
  return async () => {
    await end();
    await round(true).catch(onFailure);
  };
}

/** `position:seal`, as `audit verify --head` takes it. */
export function headText({ position, seal }: Head): string {
  return `${position}:${seal}`;
}

/** The head that `headText` wrote; null for any other text. */
export function parseHead(text: string): Head | null {
  const found = /^([0-9]{1,15}):([A-Za-z0-9_-]{43})$/.exec(text.trim());
  return found ? { position: Number(found[1]), seal: found[2]! } : null;
}
