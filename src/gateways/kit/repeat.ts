import type { Declined, GatewayAnswer, GatewayIo, GatewayRequest, LookUpResult, Outcome, Unknown } from "../contract.ts";
import { declined, isOutcome, unknown } from "./outcomes.ts";
import type { Answered, Effect } from "./triage.ts";

/** Everything that an adapter does more than once: requests with an idempotency key, polls, look-ups. All of it ends at the attempt's deadline. */

type Sender = Pick<GatewayIo, "send" | "wait">;

/** What an answer says about repeating its request: it is final; nothing was done, come again; something may have been done, come again. */
export type Repeat = "final" | "nothing done" | "perhaps done";

const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];

/** Whether the same request with the same key should be sent again, where the vendor has no rule of its own. */
export function repeatByStatus({ status }: Answered): Repeat {
  if (status === 429) return "nothing done";
  return status >= 500 || [408, 409, 424, 425].includes(status) ? "perhaps done" : "final";
}

/** One try: a request made anew, because bodies are wiped once they were sent, or its sending, where that is more than `io.send`. */
export type Try = () => GatewayRequest | Promise<GatewayAnswer | Declined>;

export interface Repeated {
  /** The last answer that arrived; null when none did. */
  answer: Answered | null;
  /** The last answer is final. */
  final: boolean;
  /** A try before the final answer, or any at all without one, may have been acted on. */
  doubt: boolean;
  /** Why a try could not be made, no access token say; null when all were. */
  refusal: Declined | null;
}

/** Sends a request that carries an idempotency key until its answer is final, at most five times. */
export async function sendUntilFinal(io: Sender, attempt: Try, judge: (answer: Answered) => Repeat = repeatByStatus): Promise<Repeated> {
  let last: Answered | null = null;
  let doubt = false;
  for (const pause of [...PAUSES_MS, null]) {
    const tried = attempt();
    const answer = await ("url" in tried ? io.send(tried) : tried);
    if (isOutcome(answer)) return { answer: last, final: false, doubt, refusal: answer };
    if (answer.kind === "answered") {
      last = answer;
      const repeat = judge(answer);
      if (repeat === "final") return { answer, final: true, doubt, refusal: null };
      doubt ||= repeat === "perhaps done";
    } else doubt ||= answer.kind === "lost";
    if (pause === null || !(await io.wait(pause))) break;
  }
  return { answer: last, final: false, doubt, refusal: null };
}

export interface KeyRule {
  effect: Effect;
  judge?: (answer: Answered) => Repeat;
  /** Whether the vendor keeps such an answer under the key. After a lost try only those tell what became of the first one. */
  recorded?: (answer: Answered) => boolean;
}

/** The final answer to a request that carries an idempotency key, or what it means that none came: never a doubt where nothing can be done. */
export function sendWithKey(io: Sender, attempt: Try, rule: KeyRule & { effect: "nothing" }): Promise<Answered | Declined>;
export function sendWithKey(io: Sender, attempt: Try, rule: KeyRule): Promise<Answered | Declined | Unknown>;
export async function sendWithKey(io: Sender, attempt: Try, rule: KeyRule): Promise<Answered | Declined | Unknown> {
  const { effect, judge, recorded = ({ status }) => status < 300 } = rule;
  const { answer, final, doubt, refusal } = await sendUntilFinal(io, attempt, judge);
  const harmless = effect === "nothing" || !doubt;
  if (final && answer !== null && (harmless || recorded(answer))) return answer;
  if (harmless) return refusal ?? declined("gateway_unavailable");
  return unknown(final ? "a lost answer, then a refusal that says nothing about it" : "the vendor's answer was lost");
}

/** A store is sent again after these pauses. */
const STORE_AGAIN_MS: readonly number[] = [1_000, 3_000];

/**
 * Stores a card at a vendor without a key for it: it moves no money, so it is simply sent again while its answer is lost. A refusal that
 * comes after a lost answer says nothing of that one: the card may be stored.
 */
export async function storeAgain(io: Pick<GatewayIo, "wait">, store: () => Promise<Outcome>): Promise<Outcome> {
  let tries = 0;
  const outcome = await whileLost(io, () => {
    tries++;
    return store();
  });
  if (outcome === null) return LOST_STORE;
  return outcome.outcome === "declined" && tries > 1 ? { ...outcome, mayBeStored: true } : outcome;
}

/** The same for a verification after which nothing is stored yet. */
export async function verifyAgain(io: Pick<GatewayIo, "wait">, verify: () => Promise<Outcome>): Promise<Outcome> {
  return (await whileLost(io, verify)) ?? declined("gateway_unavailable", { reason: NO_ANSWER });
}

async function whileLost(io: Pick<GatewayIo, "wait">, send: () => Promise<Outcome>): Promise<Outcome | null> {
  for (const pause of [...STORE_AGAIN_MS, null]) {
    const outcome = await send();
    if (outcome.outcome !== "unknown") return outcome;
    if (pause === null || !(await io.wait(pause))) break;
  }
  return null;
}

const NO_ANSWER = "no answer to storing the card; no money can have moved";
/** A card whose storing was never answered, however often it was asked for. */
export const LOST_STORE: Declined = { ...declined("gateway_unavailable", { reason: NO_ANSWER }), mayBeStored: true };

/** Pauses between polls; the last one goes on. */
const POLL_MS: readonly number[] = [1_000, 2_000, 3_000, 5_000];

/** Runs `step` after each pause until it returns something, or null when the deadline comes first. */
export async function poll<T>(io: Pick<GatewayIo, "wait">, step: () => Promise<T | undefined>, pausesMs = POLL_MS): Promise<T | null> {
  for (let round = 0; await io.wait(pausesMs[Math.min(round, pausesMs.length - 1)] ?? 0); round++) {
    const found = await step();
    if (found !== undefined) return found;
  }
  return null;
}

/** A vendor's index lags behind what it took: an absence is asked again after these pauses. */
const LOOK_AGAIN_MS: readonly number[] = [2_000, 5_000, 15_000, 30_000];

/**
 * What became of an attempt whose own request the vendor calls a duplicate. It may have arrived twice, and the first one
 * taken the money, so neither the refusal nor an early absence is final: it is looked up now and again, and unknown when it
 * is not found before the deadline. The search goes on from there, and after `absenceIsProofAfterMs` takes the noted refusal.
 */
export async function ofDuplicate(
  io: Pick<GatewayIo, "wait" | "note">,
  refusal: Declined,
  lookUp: () => Promise<LookUpResult>,
): Promise<Outcome> {
  await io.note({ [REFUSED_AS]: refusal.unlessFound ?? refusal.code });
  let found = await lookUp();
  for (const pause of [...LOOK_AGAIN_MS, null]) {
    if (found.outcome === "approved" || found.outcome === "declined") return found;
    if (pause === null || !(await io.wait(pause))) break;
    found = await lookUp();
  }
  return unknown("the vendor calls it a duplicate and does not show the first one");
}

/** The note of an attempt that ended in a refusal which is no proof: reconciliation ends it so once absence is proven. */
export const REFUSED_AS = "refused_as";

/** How far the vendor's clock may be from the database's, by which an attempt began: a look-up among what was made since then allows for it. */
export const CLOCKS_APART_MS = 15 * 60_000;

/** Pages of a list, from `first` on; null when one could not be read, or there are more than `most`: no guess. */
export async function allPages<Cursor, Item>(
  first: Cursor,
  read: (cursor: Cursor) => Promise<{ items: readonly Item[]; next: Cursor | null } | null>,
  most = 20,
): Promise<Item[] | null> {
  const found: Item[] = [];
  let cursor = first;
  for (let page = 0; page < most; page++) {
    const list = await read(cursor);
    if (list === null) return null;
    found.push(...list.items);
    if (list.next === null) return found;
    cursor = list.next;
  }
  return null;
}
