import { AppError } from "#src/kernel/errors.ts";
import { type DeclineCode, DECLINES, isDeclineCode } from "#src/kernel/payment.ts";
import { type Db, writeWhenThere } from "#src/platform/index.ts";
import { isTerminal, type Session } from "#src/sessions/index.ts";
import type { Nonces } from "./nonce.ts";
import { beginTry, endTry, isLate, MAX_TRIES, triesOf } from "./tries.ts";
import type { Charge, ChargeResult, WidgetDeps } from "./types.ts";

/** Who moved the session, for the audit log. */
const ACTOR = "widget";

/** How far apart the database is asked to end a try, and how often: a minute, after which it keeps nobody out by itself. */
const AWAY_WAIT_MS = 1_000;
const END_TRIES = 60;

/** `claimed`: no call has this voice session; the try gives it back. */
type Begun = { kind: "begun"; number: number; session: Session; claimed: boolean };
/** Its time is over or its tries are used up, and nobody has ended it yet. */
type Over = { kind: "over"; session: Session; isExhausted: boolean };

/**
 * One try: counted and its nonce used first, in one commit with the claim of the session; then the charge protocol. The
 * money is guarded by the session's phase (`charge` is one conditional UPDATE), not by what is counted here.
 */
export async function chargeOnce(deps: WidgetDeps, nonces: Nonces, charge: Charge): Promise<ChargeResult> {
  const { database, sessions, payments } = deps;
  const { sessionId } = charge;
  const name = nonces.read(sessionId, charge.nonce);
  const begun = await database
    .transaction((tx) => begin(deps, tx, sessionId, name))
    .catch((error: unknown) => {
      // It may have been committed all the same: a try that sends nothing would keep the next one out.
      if (name !== null) void endSoon(deps, sessionId, name);
      throw error;
    });
  if (begun === "ended") return await endedResult(deps, nonces, sessionId);
  if (typeof begun === "string") return { kind: begun };
  if (begun.kind === "over") {
    // What the shopper is told is then how it ended.
    await payments.giveUp(begun.session, begun.isExhausted);
    return await endedResult(deps, nonces, sessionId);
  }
  try {
    if (charge.card) return await settle(deps, nonces, charge, charge.card, begun);
    if (begun.number < MAX_TRIES) return { kind: "malformed", nonce: nonces.issue(sessionId) };
    // A link is used up by tries that were no cards; the call that the session is for may go on.
    if (begun.session.channel === "widget") await payments.giveUp(begun.session, true);
    return { kind: "malformed", nonce: nonces.issue(sessionId) };
  } finally {
    if (begun.claimed)
      // The sweeper gives it back where this cannot, or was so late that a call may have it by now.
      await sessions
        .apply(sessionId, "release", { actor: ACTOR, heldBy: begun.session })
        .catch((error: unknown) => deps.log.warn("session_not_released", { session: sessionId, error }));
    await endSoon(deps, sessionId, name ?? "");
  }
}

/** The shopper waits for no database: where that is away the try is ended in the background. */
function endSoon(
  { database, clock, log }: Pick<WidgetDeps, "database" | "clock" | "log">,
  sessionId: string,
  nonce: string,
): Promise<void> {
  const onFailed = (error: unknown) => log.warn("widget_try_not_ended", { session: sessionId, error });
  return writeWhenThere(() => endTry(database.db, sessionId, nonce), { clock, waitMs: AWAY_WAIT_MS, tries: END_TRIES, onFailed });
}

/** What a charge of a session in this state is told; `begun` when it may go on. */
async function begin(
  { sessions, owner }: WidgetDeps,
  tx: Db,
  id: string,
  nonce: string | null,
): Promise<Begun | Over | "missing" | "ended" | "busy" | "invalid nonce"> {
  const found = await sessions.find(tx, id);
  if (!found || !isPaidByPage(found, nonce !== null)) return "missing";
  if (isTerminal(found.status)) return "ended";
  if (found.phase !== null && found.phase !== "collecting") return "busy";
  if (nonce === null) return "invalid nonce";
  const claimed = found.status === "PENDING" ? await sessions.transition(tx, id, "claim", { claimedBy: owner, actor: ACTOR }) : found;
  // Another try claimed it in between, or its time is over.
  if (!claimed) return (await hasEnded(sessions, tx, id)) ? "ended" : "busy";

  const isClaimed = found.channel === "voice" && found.status === "PENDING";
  const number = await beginTry(tx, id, nonce);
  if (number !== null) {
    return { kind: "begun", number, session: claimed, claimed: isClaimed };
  }
  if (isClaimed) await sessions.transition(tx, id, "release", { actor: ACTOR });
  const { used, busy, spent } = await triesOf(tx, id, nonce);
  if (busy) return "busy";
  // Of a voice session only the link is used up; and its time is the call's, or it expires.
  if (found.channel === "voice") return used >= MAX_TRIES ? "ended" : spent ? "invalid nonce" : "busy";
  const isExhausted = used >= MAX_TRIES;
  if (isExhausted || (await isLate(tx, id))) return { kind: "over", session: claimed, isExhausted };
  // Not spent: the try that kept this one out has ended since.
  return spent ? "invalid nonce" : "busy";
}

/** Whether a page may take the card of this session: a widget's own, or one with the link that its project offers. */
export function isPaidByPage({ channel, offersLink }: Session, hasLink: boolean): boolean {
  return channel === "widget" || (offersLink && hasLink);
}

async function hasEnded(sessions: WidgetDeps["sessions"], tx: Db, id: string): Promise<boolean> {
  const session = await sessions.find(tx, id);
  return session === null || isTerminal(session.status);
}

async function settle(
  deps: WidgetDeps,
  nonces: Nonces,
  { sessionId, customerIp }: Charge,
  card: NonNullable<Charge["card"]>,
  { number, session }: Begun,
): Promise<ChargeResult> {
  const { payments, log } = deps;
  const { brand, last4 } = card;
  try {
    const result = await payments.settle({ session, card, mayRetry: number < MAX_TRIES, customerIp, channel: "widget" });
    if (result.kind === "approved") {
      return { kind: "paid", status: result.capture === "authorized" ? "payment-authorized" : "payment-success", brand, last4 };
    }
    // Never "declined", never "try again": the frame waits until it is known.
    if (result.kind === "unknown") return { kind: "busy" };
    if (result.kind === "refused") return isTerminal(result.status) ? await endedResult(deps, nonces, sessionId) : { kind: "busy" };
    if (result.final) return await finalDecline(deps, nonces, sessionId, result.code);
    const { message } = DECLINES[result.code];
    const triesLeft = MAX_TRIES - number;
    return { kind: "declined", code: result.code, message, retryable: true, triesLeft, nonce: nonces.issue(sessionId) };
  } catch (error) {
    // It throws only while nothing was sent; then the same card may be tried again.
    if (error instanceof AppError && error.code === "unavailable") throw error;
    log.error("payment_not_started", { session: sessionId, error });
    const change = { ...errorOf("processing_error"), actor: ACTOR, from: "collecting" } as const;
    const failed = await deps.sessions.apply(sessionId, "fail", change).catch(() => null);
    // A call was first to charge it.
    if (!failed && session.channel === "voice") return await endedResult(deps, nonces, sessionId);
    return await finalDecline(deps, nonces, sessionId, "processing_error");
  }
}

/**
 * The session's own error. For a code of ours the shopper reads our words, whatever a merchant's endpoint said with it: that may tell that
 * a card is stolen. For a code of his own there are none but his.
 */
async function finalDecline({ database, sessions }: WidgetDeps, nonces: Nonces, id: string, code: DeclineCode): Promise<ChargeResult> {
  const session = await sessions.find(database.db, id);
  const ownCode = session?.errorCode ?? code;
  const message = isDeclineCode(ownCode) ? DECLINES[ownCode].message : (session?.errorMessage ?? DECLINES[code].message);
  return {
    kind: "declined",
    code: ownCode,
    message,
    retryable: false,
    triesLeft: 0,
    nonce: nonces.issue(id),
  };
}

async function endedResult({ database, sessions }: WidgetDeps, nonces: Nonces, id: string): Promise<ChargeResult> {
  const session = await sessions.find(database.db, id);
  if (!session || !isTerminal(session.status)) return { kind: "busy" };
  return { kind: "ended", result: nonces.result(id, session.status, session.errorCode) };
}

function errorOf(code: DeclineCode) {
  return { errorCode: code, errorMessage: DECLINES[code].message };
}
