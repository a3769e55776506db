import type { Gateway, GatewaySettings, Order, Outcome } from "#src/gateways/index.ts";
import type { CardCells } from "#src/kernel/card.ts";
import { sleep, within } from "#src/kernel/clock.ts";
import { AppError, errorCode } from "#src/kernel/errors.ts";
import { DECLINES, type DeclineCode } from "#src/kernel/payment.ts";
import { isDatabaseUnavailable } from "#src/platform/index.ts";
import type { Session } from "#src/sessions/index.ts";
import { addNotes, findAttempt } from "./attempts.ts";
import { type IoScope, withGatewayIo } from "./gateway-io.ts";
import type { PaymentsDeps, SettleResult } from "./types.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { tellOfForwarding, writeResult } from "./ledger.ts";
import { beginAttempt, type NewAttempt } from "./transitions.ts";
import { effectsOf, declinedBy, errorOf } from "./outcome.ts";
import type { Search } from "./reconcile.ts";
import type { Reversals } from "./reversal.ts";

export interface SettleInput {
  session: Session;
  card: CardCells;
  /** Whether the caller could be asked for another card after a decline. */
  mayRetry: boolean;
  customerIp?: string | null;
  /** How the card came. Left out: by the session's own channel; the page of a voice session's link says `widget`. */
  channel?: Session["channel"];
}

/** How long an adapter may take to answer after its deadline before its attempt counts as lost. */
const GRACE_MS = 1_000;
/** How often, and how far apart, an intent whose commit was not acknowledged is looked for. */
const INTENT_LOOKS = 20;
const INTENT_LOOK_MS = 500;
/** SQLSTATE. */
const UNIQUE_VIOLATION = "23505";

/**
 * The charge protocol (docs/invariants.md, The charge protocol): intent, one call, result. Never twice, never lost, never a guess.
 * It throws only while nothing can have been sent. Whatever goes wrong once the intent stands is an unknown outcome, which
 * reconciliation looks for.
 */
export async function settle(
  deps: PaymentsDeps,
  tokens: AccessTokens,
  search: Search,
  reversals: Reversals,
  input: SettleInput,
): Promise<SettleResult> {
  const { session, card } = input;
  const ready = await prepare(deps, session).catch((error: unknown) => Promise.reject(unsent(error)));
  if ("refusal" in ready) return await failUncharged(deps, session, ready.refusal);
  const { gateway, settings, connectedAccount } = ready;

  const id = deps.random.uuid();
  let lost = false;
  let intended = false;
  // Counted from before the intent is written: the ledger's deadline, after which others may decide, is later than ours.
  const startedAt = deps.clock.monotonic();
  const ends = startedAt + gateway.capabilities.deadlineMs;
  search.busy.add(id);
  try {
    const intent = await writeIntent(deps, id, input, gateway, settings, connectedAccount);
    if (!intent) return await refused(deps, session);
    intended = true;
    const order: Order = {
      sessionId: session.id,
      attempt: intent.number,
      reference: intent.reference,
      mode: session.mode,
      channel: input.channel ?? session.channel,
      amountMinor: session.amountMinor,
      currency: session.currency,
      // Vendors refuse an empty text, and would fail the payment.
      description: session.description || null,
      caller: session.caller,
      connectedAccount,
      billingAddress: session.billingAddress,
      customerIp: input.customerIp ?? null,
      card,
    };
    const facts = { brand: card.brand, last4: card.last4 };
    const outcome = await callOnce(deps, tokens, { id, session, gateway, settings, deadlineMs: ends - deps.clock.monotonic() }, order);
    lost = outcome.outcome === "unknown";
    const effects = effectsOf(outcome, facts, input.mayRetry && !gateway.capabilities.oneAttempt);
    const written = await writeResult(deps, { id, sessionId: session.id }, effects);
    tellOfForwarding(deps, gateway, session.id, effects.attempt);
    if (written === "late" && outcome.outcome === "approved") {
      deps.log.error("payment_approved_too_late", { session: session.id, gateway: gateway.name, attempt: intent.number });
      reversals.begin(id);
    }
    if (written === "late") return outcome.outcome === "declined" ? resultOf(outcome, true) : { kind: "unknown" };
    return resultOf(outcome, effects.event !== "retry");
  } catch (error) {
    if (!intended) throw error;
    lost = true;
    deps.log.error("payment_interrupted", { session: session.id, gateway: gateway.name, error });
    return { kind: "unknown" };
  } finally {
    search.busy.delete(id);
    if (lost) search.begin(id, startedAt);
  }
}

/** What is thrown while nothing can have been sent: where the database was away, the same card may be tried again. */
function unsent(error: unknown): unknown {
  return isDatabaseUnavailable(error) ? new AppError("unavailable", undefined, { cause: error }) : error;
}

type Ready = { gateway: Gateway; settings: GatewaySettings; connectedAccount: string | null } | { refusal: DeclineCode };

/** The gateway and the settings in force at this moment, or why nothing can be charged. */
async function prepare({ database, projects, gateways }: PaymentsDeps, session: Session): Promise<Ready> {
  const gateway = gateways[session.gateway];
  const settings = await projects.gatewaySettings(database.db, session.projectId, session.gateway, session.environment);
  if (!gateway || !settings) return { refusal: "gateway_credentials_invalid" };
  const live = session.environment === "live";
  if (settings.environment !== session.environment || (live && settings.endpoint !== gateway.hosts.live)) {
    throw new Error("settings of another environment: nothing is sent (R-051)");
  }
  const option = gateway.capabilities.connectedAccountOption;
  if (option === null || session.connectedAccount === null) return { gateway, settings, connectedAccount: null };
  // The option may have been taken back since the session was made: the money would go to the project's own account.
  if (settings.options[option] !== true) return { refusal: "gateway_misconfigured" };
  return { gateway, settings, connectedAccount: session.connectedAccount };
}

async function failUncharged(deps: PaymentsDeps, session: Session, code: DeclineCode): Promise<SettleResult> {
  const outcome = declinedBy(code);
  // Only while nobody else is charging it: a link's page and a call may both be at it.
  const failed = await deps.sessions.apply(session.id, "fail", { ...errorOf(outcome), from: "collecting" });
  return failed ? resultOf(outcome, true) : await refused(deps, session);
}

/**
 * First step: the session goes to `charging` and the attempt is written, in one commit; null when the session is no
 * longer being collected, and then nothing is sent. Nothing is sent either while it is not certain that this is committed.
 */
async function writeIntent(
  deps: PaymentsDeps,
  id: string,
  { session, card }: SettleInput,
  gateway: Gateway,
  settings: GatewaySettings,
  connectedAccount: string | null,
): Promise<{ number: number; reference: string } | null> {
  const { database, sessions, owner, log } = deps;
  const attempt: NewAttempt = {
    id,
    session,
    connectedAccount,
    credentialVersion: settings.version,
    endpoint: settings.endpoint,
    cardBrand: card.brand,
    cardLast4: card.last4,
    owner,
    deadlineMs: gateway.capabilities.deadlineMs,
  };
  const begin = () => beginAttempt(database.db, sessions, attempt);
  try {
    // Refused as a duplicate nothing was written, and the next look sees the attempt that had the number.
    return await begin().catch((error: unknown) => {
      if (errorCode(error) !== UNIQUE_VIOLATION) throw error;
      return begin();
    });
  } catch (error) {
    log.error("payment_intent_not_written", { session: session.id, error });
    const found = await lookForIntent(deps, id);
    if (found === null) throw unsent(error);
    return found;
  }
}

/** An intent that stands in the ledger was committed although the answer to COMMIT was lost. */
async function lookForIntent({ database, clock }: PaymentsDeps, id: string): Promise<{ number: number; reference: string } | null> {
  for (let look = 0; look < INTENT_LOOKS; look++) {
    try {
      const attempt = await findAttempt(database.db, id);
      return attempt ? { number: attempt.trace.attempt, reference: attempt.trace.reference } : null;
    } catch {
      await sleep(clock, INTENT_LOOK_MS);
    }
  }
  return null;
}

interface Call {
  /** Of the attempt. */
  id: string;
  session: Session;
  gateway: Gateway;
  settings: GatewaySettings;
  deadlineMs: number;
}

/**
 * Second step: the one call, under one deadline. Whatever an adapter throws or leaves hanging is an unknown outcome. When
 * writing the intent took the whole time, nothing is sent, and that is known.
 */
async function callOnce(deps: PaymentsDeps, tokens: AccessTokens, call: Call, order: Order): Promise<Outcome> {
  const { database, clock, log } = deps;
  const { id, session, gateway, settings, deadlineMs } = call;
  if (deadlineMs <= 0) return declinedBy("gateway_unavailable");
  const scope: IoScope = {
    sessionId: session.id,
    projectId: session.projectId,
    gateway: gateway.name,
    settings,
    deadlineMs,
    note: (notes) => addNotes(database.db, id, notes),
  };
  const lost = (): Outcome => ({ outcome: "unknown", reason: "the gateway did not answer in time" });
  try {
    return await withGatewayIo({ ...deps, tokens }, scope, (io) =>
      within(clock, deadlineMs + GRACE_MS, gateway[session.mode](order, io), lost),
    );
  } catch (error) {
    log.error("gateway_broken", { session: session.id, gateway: gateway.name, error });
    return { outcome: "unknown", reason: "the gateway's adapter failed in mid-attempt" };
  }
}

/** The session as it is by then: what the caller of `settle` has lost the race to. */
async function refused({ database, sessions }: PaymentsDeps, session: Session): Promise<SettleResult> {
  const current = await sessions.find(database.db, session.id);
  return { kind: "refused", status: current?.status ?? session.status };
}

function resultOf(outcome: Outcome, final: boolean): SettleResult {
  if (outcome.outcome === "approved") return { kind: "approved", capture: outcome.capture };
  if (outcome.outcome === "unknown") return { kind: "unknown" };
  return { kind: "declined", code: outcome.code, fix: DECLINES[outcome.code].fix, final };
}
