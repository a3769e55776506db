import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayIo, LookUpResult, Outcome, ProcessorFields, Unknown } from "../contract.ts";
import { words } from "./scrub.ts";

/** The three outcomes of an attempt, built alike by every adapter. Absent and empty fields are left out. */

type Fields = Readonly<Record<string, string | undefined>>;

/** Fields that have a value. */
export function present(fields: Fields): ProcessorFields {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => Boolean(entry[1])));
}

interface ApprovedDetails {
  /** `captured` when absent. */
  capture?: Approved["capture"];
  /** Further keys of the status webhook. */
  webhook?: Fields;
  reason?: string | undefined;
}

export function approved(processor: Fields, { capture = "captured", webhook, reason }: ApprovedDetails = {}): Approved {
  return {
    outcome: "approved",
    capture,
    processor: present(processor),
    ...(webhook && { webhookProcessor: present(webhook) }),
    ...(reason !== undefined && { reason }),
  };
}

/** Declines whose words are ours alone: the vendor's are about keys, outages, or say too little. */
const OURS: ReadonlySet<DeclineCode> = new Set(["gateway_credentials_invalid", "gateway_unavailable", "held_for_review"]);

interface DeclinedDetails {
  /** The vendor's words as they came; cleaned here, and left out where they cannot help the merchant. */
  message?: string | undefined;
  processor?: Fields;
  /** For the operator: a constant. */
  reason?: string | undefined;
}

export function declined(code: DeclineCode, { message, processor = {}, reason }: DeclinedDetails = {}): Declined {
  return {
    outcome: "declined",
    code,
    message: OURS.has(code) ? null : words(message),
    processor: present(processor),
    ...(reason !== undefined && { reason }),
  };
}

const TAKEN_BACK = "the payment was taken back";

/** Approved once, and void or refunded as a whole since: nothing of it is left. */
export function takenBack(processor: Fields = {}): Declined {
  return declined("processing_error", { processor, reason: TAKEN_BACK });
}

/** Whether `takenBack` made it, and no refusal, which may have the same code. */
export const isTakenBack = ({ reason }: Declined): boolean => reason === TAKEN_BACK;

/**
 * `reason`: what was lost and where, for the operator: a constant, never a vendor's text. `unlessFound`: what the answer means where nothing
 * was made.
 */
export function unknown(reason: string, unlessFound?: DeclineCode): Unknown {
  return { outcome: "unknown", reason, ...(unlessFound !== undefined && { unlessFound }) };
}

export const absent = { outcome: "absent" } as const satisfies LookUpResult;
/** A card that may be stored all the same. */
export const perhapsStored = { outcome: "absent", mayBeStored: true } as const satisfies LookUpResult;
export const pending = { outcome: "pending" } as const satisfies LookUpResult;

/** Tells an outcome from the other things that a step of an adapter may return: an id, an answer's body, a token. */
export function isOutcome(value: unknown): value is Outcome {
  return typeof value === "object" && value !== null && "outcome" in value;
}

/** What the finds of a look-up say: none is absent, more than one payment of one attempt is a doubt. */
export function theOnly<T, R>(found: readonly T[], read: (only: T) => R): R | typeof absent | Unknown {
  const [only, ...others] = found;
  if (only === undefined) return absent;
  return others.length > 0 ? unknown("more than one payment carries this attempt") : read(only);
}

/** What is made of each of the finds, one after another: a vendor is asked about no more than one payment at a time. */
export async function each<T, R>(found: readonly T[], read: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const one of found) results.push(await read(one));
  return results;
}

/** The same for finds that are read: a refused twin does not hide the one that stands; of refusals alone the last counts. */
export function theStanding<S extends { outcome: string }>(found: readonly S[]): S | typeof absent | Unknown {
  const standing = found.filter(({ outcome }) => outcome !== "declined");
  return standing.length > 0 ? theOnly(standing, (only) => only) : (found.at(-1) ?? absent);
}

/** Of finds that may all stand, because they take nothing: any approval, else the last. */
export const anyApproved = <S extends { outcome: string }>(found: readonly S[]): S | typeof absent =>
  found.find(({ outcome }) => outcome === "approved") ?? found.at(-1) ?? absent;

/**
 * The finds of a vendor that lists each request by itself, without those refused as duplicates: of the first one, which may not be
 * shown yet, they say nothing.
 */
export function withoutDuplicates<S extends { outcome: string; code?: DeclineCode }>(found: readonly S[]): S[] {
  return found.filter((one) => !isDuplicate(one));
}

/**
 * Refused for an id that pays or is stored once, made for this very request and used up before it: by another delivery of the request,
 * so that it is looked up like a duplicate. `unlessFound`: what the refusal is where there was none.
 */
export const usedUp = (details: DeclinedDetails, unlessFound: DeclineCode = "processing_error"): Declined => ({
  ...declined("duplicate_transaction", details),
  unlessFound,
});

/** A refusal of a card that was stored to be verified, without its verification's ids; one that could not be taken out again is kept. */
export const refusedCard = (refusal: Declined, isRemoved: boolean): Declined => ({
  ...refusal,
  processor: {},
  ...(!isRemoved && { mayBeStored: true }),
});

/** Refused because it came twice. */
export const isDuplicate = (state: { outcome: string; code?: DeclineCode }): boolean =>
  state.outcome === "declined" && state.code === "duplicate_transaction";

/**
 * A refusal of money that moved and must not stay, a part of the amount or a hold: sent back first, and unknown when that
 * cannot be done.
 */
export async function releasedFirst(refusal: Declined, release: () => Promise<boolean>): Promise<Declined | Unknown> {
  return (await release()) ? refusal : unknown("money that must not stay could not be sent back");
}

/**
 * An outcome, with the ids of an approval, which a reversal goes by, written down at once, in case its process dies before it is.
 * Where they cannot be written the outcome stands: the ledger gets them with it.
 */
export async function noted<R extends Outcome>(io: Pick<GatewayIo, "note">, outcome: R): Promise<R> {
  if (outcome.outcome === "approved") await io.note(outcome.processor).catch(() => {});
  return outcome;
}

/** Fields under our names, read by the vendor's. */
export function namedFields(
  read: (theirs: string) => string | undefined,
  names: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [ours, read(theirs)]));
}
