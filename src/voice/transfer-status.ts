import { writeWhenThere } from "#src/platform/index.ts";
import type { Unanswered } from "./dial.ts";
import type { CallDeps } from "./types.ts";

/** `transfer_status`. */
export type TransferStatus = "completed" | Unanswered;

/** How often the database is asked whether it is back, and how many times: ten minutes. */
const AWAY_WAIT_MS = 5_000;
const TRIES = 120;

/** Resolves after the first try, whatever came of it: the caller waits for no database. Where that is away it is tried again in the background. */
export function writeTransferStatus(
  sessionId: string,
  status: TransferStatus,
  { sessions, background, clock, log }: Pick<CallDeps, "sessions" | "background" | "clock" | "log">,
): Promise<void> {
  const onFailed = (error: unknown) => log.error("transfer_status_not_written", { session: sessionId, error });
  const retry = { clock, waitMs: AWAY_WAIT_MS, tries: TRIES, onFailed, background };
  return writeWhenThere(() => sessions.setTransferStatus(sessionId, status), retry);
}
