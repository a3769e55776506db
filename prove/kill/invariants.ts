import { behaviours, orderOf } from "#src/gateways/testing.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { RecordedEntry } from "#simulators/kit/ledger.ts";
import type { Track } from "./track.ts";

/** A broken invariant of docs/invariants.md. */
export interface Break {
  invariant: string;
  track: Track | null;
  what: string;
}

/** One status webhook as the receiver journalled it. */
export interface ReceivedWebhook {
  at: number;
  /** Null: the signature did not hold. */
  id: string | null;
  why: string | null;
  body: { session_id?: string; status?: string; amount_cents?: number; currency?: string };
  answered: string;
}

export interface Evidence {
  tracks: readonly Track[];
  /** The simulators' ledger, as its file has it. */
  ledger: readonly RecordedEntry[];
  hooks: readonly ReceivedWebhook[];
}

const PAID: ReadonlySet<string> = new Set(["payment-success", "payment-authorized"]);
const FINAL: ReadonlySet<string> = new Set([...PAID, "payment-failed", "expired", "cancelled", "abandoned"]);
const CURRENCY = "USD";
/** More cards than one call may try. */
const MOST_ATTEMPTS = 5;

export const isFinal = (status: string): boolean => FINAL.has(status);

const BEHAVIOURS = await behaviours();

/** The references under which a session's attempts may stand at its vendor. */
function referencesOf(sessionId: string, { gateway, mode }: Track["plan"]): string[] {
  const { told = ({ reference }) => reference } = BEHAVIOURS[gateway]!;
  return Array.from({ length: MOST_ATTEMPTS }, (_, index) => told(orderOf({ sessionId, mode, attempt: index + 1 })));
}

/** Its payment can be given back only by an id that comes with the answer: what was taken when that was lost is the operator's (I4). */
export const isVoidedById = ({ gateway }: Track["plan"]): boolean => GATEWAYS_BUILT[gateway]?.capabilities.voidBy === "vendor id";

/**
 * What stands at the vendor: charges and stored cards of each attempt, less what was given back. A verification holds no money. A
 * card that may be stored again, because that moves nothing, counts once.
 */
function standing(entries: readonly RecordedEntry[], { gateway, mode }: Track["plan"]): RecordedEntry[] {
  const left = new Map<string, RecordedEntry[]>();
  for (const entry of entries) {
    if (entry.outcome !== "approved" || entry.reference === null || (entry.kind === "authorization" && !entry.amountMinor)) continue;
    const before = left.get(entry.reference) ?? [];
    if (["charge", "authorization", "token"].includes(entry.kind)) left.set(entry.reference, [...before, entry]);
    if (entry.kind === "void" || entry.kind === "refund") left.set(entry.reference, before.slice(1));
  }
  const stands = [...left.values()].flat();
  return mode === "tokenize" && BEHAVIOURS[gateway]?.storesAgain ? stands.slice(0, 1) : stands;
}

/** Holds what clients, vendors and receivers saw against the invariants. `atEnd`: everything has had its time. */
export function checkInvariants({ tracks, ledger, hooks }: Evidence, atEnd: boolean): Break[] {
  const entriesBy = Map.groupBy(ledger, ({ reference }) => reference ?? "");
  const hooksBy = Map.groupBy(hooks, ({ body }) => body.session_id ?? "");
  const breaks = tracks.flatMap((track) => {
    const found: Break[] = [];
    const broken = (invariant: string, what: string) => void found.push({ invariant, track, what });
    if (track.id !== null) {
      const entries = [...new Set(referencesOf(track.id, track.plan))].flatMap((reference) => entriesBy.get(reference) ?? []);
      checkViews(track, broken);
      if (track.isFinal) checkMoney(track, entries, atEnd, broken);
      else if (atEnd) broken("I10", `still ${track.seen.at(-1)?.status ?? "never seen"} at the end`);
      checkWebhooks(track, hooksBy.get(track.id) ?? [], atEnd, broken);
    } else if (atEnd) broken("I1", "its creation was never answered");
    return found;
  });
  for (const [id, [hook]] of hooksBy) {
    if (tracks.some((track) => track.id === id)) continue;
    breaks.push(...checkUnknown({ id, status: hook?.body.status ?? "", amountMinor: hook?.body.amount_cents ?? 0 }, tracks));
  }
  if (atEnd) breaks.push(...unknownSessions(tracks, ledger));
  return breaks;
}

type Broken = (invariant: string, what: string) => void;

function checkViews(track: Track, broken: Broken): void {
  if (track.ids.size > 1) broken("I1", `one Idempotency-Key made ${track.ids.size} sessions`);
  let before: Track["seen"][number] | null = null;
  for (const seen of track.seen) {
    if (seen.status === "missing") broken("I1", "a session whose creation was answered is missing");
    if (before && isFinal(before.status)) {
      if (before.status !== seen.status) broken("I6", `${before.status} became ${seen.status}`);
      if (before.completedAt !== seen.completedAt) broken("I6", "completed_at changed");
      if (before.processor !== seen.processor || before.errorCode !== seen.errorCode) broken("I7", "the result changed after the end");
    }
    // Only a call that was never answered gives a session back.
    const isBack = before?.status === "COLLECTING" && seen.status === "PENDING";
    if (isBack && !track.hasRungOff) broken("I7", "COLLECTING became PENDING");
    before = seen;
  }
}

function checkMoney(track: Track, entries: readonly RecordedEntry[], atEnd: boolean, broken: Broken): void {
  const { status = "", errorCode = null } = track.seen.at(-1) ?? {};
  const { gateway, mode, amountMinor } = track.plan;
  const stands = standing(entries, track.plan);
  if (stands.length > 1) broken("I2", `${stands.length} charges stand at the vendor`);
  if (PAID.has(status)) {
    const [charge] = stands;
    if (!charge) broken("I3", `${status}, and nothing stands at the vendor`);
    else if (mode === "charge" && (charge.amountMinor !== amountMinor || charge.currency !== CURRENCY))
      broken("I3", `${charge.amountMinor} ${charge.currency} were taken`);
  } else if (stands.length > 0) {
    // Card forwarding: nobody can be asked what became of a lost answer, and the interface says so.
    const isForwarded = gateway === "webhook" && errorCode === "webhook_gateway_error";
    const isOwed = errorCode === "outcome_unknown" && (!atEnd || isVoidedById(track.plan));
    // A card in the vault takes no money, and some vendors cannot erase it: it is on the operator's list.
    const isKept = mode === "tokenize" && BEHAVIOURS[gateway]?.keepsStored;
    if (!isForwarded && !isOwed && !isKept) broken("I4", `${status} (${errorCode}), and ${stands.length} charges stand at the vendor`);
  }
  const asked = entries.filter(({ kind }) => kind !== "look-up");
  if (gateway === "webhook" && asked.length > 1) broken("I2", `a card was forwarded ${asked.length} times`);
  if (track.cancelAnswers.includes(204)) {
    if (status !== "cancelled") broken("I11", `a cancel was confirmed, and the session is ${status}`);
    if (asked.length > 0 && track.plan.behaviour.startsWith("cancels")) broken("I11", "a cancel was confirmed, and the vendor was asked");
  }
}

function checkWebhooks(track: Track, hooks: readonly ReceivedWebhook[], atEnd: boolean, broken: Broken): void {
  const status = track.seen.at(-1)?.status;
  for (const hook of hooks) {
    if (hook.id === null) broken("I5", `a webhook whose signature does not hold: ${hook.why}`);
    if (track.isFinal && hook.body.status !== status) broken("I5", `the webhook says ${hook.body.status}, the session is ${status}`);
    if (hook.body.amount_cents !== track.plan.amountMinor || hook.body.currency !== CURRENCY)
      broken("I5", "the webhook's amount is another");
  }
  if (new Set(hooks.map(({ id }) => id)).size > 1) broken("I5", "two webhooks with two ids");
  const arrived = hooks.some(({ answered }) => answered === "204");
  if (atEnd && track.isFinal && !arrived) broken("I5", `${status}, and its webhook never arrived`);
}

/**
 * A session whose creation was not answered may stand there until its client has repeated it, and for good when that sent no
 * Idempotency-Key and made another one: nobody can have used it.
 */
export function checkUnknown(
  { id: session, status, amountMinor }: { id: string; status: string; amountMinor: number },
  tracks: readonly Track[],
): Break[] {
  const isForeseen = tracks.some(({ plan, unanswered, id }) => (unanswered > 0 || id === null) && plan.amountMinor === amountMinor);
  if (!isForeseen) return [{ invariant: "I1", track: null, what: `the session ${session} belongs to no creation that was answered` }];
  return status === "expired"
    ? []
    : [{ invariant: "I10", track: null, what: `the session ${session}, which nobody knows of, is ${status}` }];
}

/** What was taken for a session that has ended as unknown: to be given back, sooner or later. */
export function unreversed(track: Track, ledger: readonly RecordedEntry[]): RecordedEntry[] {
  if (track.seen.at(-1)?.errorCode !== "outcome_unknown" || isVoidedById(track.plan)) return [];
  return taken(track, ledger);
}

/** What stands at a session's vendor now. */
export function taken(track: Track, ledger: readonly RecordedEntry[]): RecordedEntry[] {
  if (track.id === null) return [];
  const references = new Set(referencesOf(track.id, track.plan));
  return standing(
    ledger.filter(({ reference }) => references.has(reference ?? "")),
    track.plan,
  );
}

/** The ids of sessions that were not paid and whose vendor keeps a card. */
export function keptCards(tracks: readonly Track[], ledger: readonly RecordedEntry[]): string[] {
  return tracks.flatMap((track) => {
    const isUnpaid = track.plan.mode === "tokenize" && track.isFinal && !PAID.has(track.seen.at(-1)?.status ?? "");
    return isUnpaid && track.id !== null && taken(track, ledger).length > 0 ? [track.id] : [];
  });
}

/** Money in the ledger that belongs to no session of ours. */
function unknownSessions(tracks: readonly Track[], ledger: readonly RecordedEntry[]): Break[] {
  const known = new Set(tracks.flatMap(({ id, plan }) => (id === null ? [] : referencesOf(id, plan))));
  return ledger
    .filter(({ kind, reference }) => kind === "charge" && !known.has(reference ?? ""))
    .map(({ reference }) => ({ invariant: "I1", track: null, what: `a charge for an unknown session: ${reference}` }));
}
