import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { customerReference } from "./requests.ts";

/** `RESULT` of a refusal; another one decides nothing. */
const codeOf = kit.codeTable({
  card_declined: "12",
  do_not_honor: "13",
  incorrect_number: "23",
  invalid_expiry: "24",
  insufficient_funds: "50",
  limit_exceeded: "51 113 117 122",
  incorrect_zip: "112",
  incorrect_cvc: "114",
  card_not_supported: "2 25",
  duplicate_transaction: "30",
  fraud_suspected: "125 126 127 128 170 171 172",
  gateway_credentials_invalid: "1 26 27 28",
  gateway_misconfigured: "3 4 5 6 7 8 9 10 14 22 29 52 100 118 121 131",
  gateway_unavailable: "102 115 1001",
  processing_error: "19 20 99 101 105 108 110 111 116 120 200 402 600 601 1000",
});
/** The vendor or its processor may have acted: the same request is sent again, then inquired about. */
const NOT_KNOWN = new Set(["11", "103", "104", "106", "107", "109", "150", "151", "403", "404"]);
/** A fault of the processor, which may be a time-out: only its words tell. */
const [GENERIC, TIMED_OUT] = ["1000", /timed?[ -]?out/i];
/** Held for a review, or not screened: not settled until somebody looks. */
const HELD = new Set(["126", "127"]);
/** Refused by the merchant's own rules after the bank had approved, whose hold may stay. */
const AFTER_APPROVAL = new Set(["112", "114", "117"]);
/** Words that may be followed by others. */
const PART = /^Partial Approval\b/;
/** A plain decline can be told apart by the processor's own words. */
const ofWords = kit.textTable<DeclineCode>([
  [/expired/i, "expired_card"],
  [/lost|stolen|pick ?up/i, "lost_or_stolen"],
]);
/** A request id that was used before, with another body: what became of the first one is not said. */
const MISMATCH = "133";
/** Of all that decides nothing what is a fault, and no absence of the vendor, where it is proven that nothing was taken. */
const FAULTS = new Set(["103", "107", MISMATCH, "403", "404", GENERIC]);
/** A void that comes after the settlement. */
const VOID_REFUSED = "108";
const KEYS_REFUSED = new Set(["1", "26", "27", "28"]);
/** The processor verifies no card: its amount of 0.00 is "invalid". */
const CANNOT_VERIFY = "4";

/**
 * `TRANSSTATE` of what an inquiry shows: to be settled, in settlement, settled, captured; a verification has nothing to settle. A void
 * adds a thousand; a lost acknowledgement one or two hundred, and then nothing is settled.
 */
const SETTLES = new Set(["6", "7", "8", "9"]);
const [VERIFIED, VOIDED] = [new Set(["0", "3", ...SETTLES]), /^1\d{3}$/];

const PNREF = /^[A-Za-z0-9]{12}$/;

/** What an answer says; `held` and `partial` must be voided, `refused` should be. */
export type PaymentState =
  | Approved
  | Declined
  | Unknown
  | { outcome: "held"; pnref: string }
  | { outcome: "partial"; pnref: string }
  | { outcome: "refused"; pnref: string; refusal: Declined }
  | { outcome: "cannot verify" };

/** Status is 200 for everything that the vendor says: `RESULT` counts. */
const read = (answer: GatewayAnswer): kit.Form | null => kit.lookUpBody(answer, kit.readTagged);

const isOpen = (form: kit.Form, result: string): boolean =>
  NOT_KNOWN.has(result) || (result === GENERIC && TIMED_OUT.test(form.get("RESPMSG") ?? ""));

/** Whether the same request, with the same request id, should be sent again. */
export function judge(answer: kit.Answered): kit.Repeat {
  const form = read(answer);
  const result = form?.get("RESULT");
  return !form || result === undefined || isOpen(form, result) ? "perhaps done" : "final";
}

/**
 * The last answer to a payment or verification. `doubt`: an earlier request with this id may have been acted on. A replay of
 * it carries DUPLICATE; without an earlier request of ours it is somebody else's, which the look-up will tell.
 */
export function readPayment(answer: kit.Answered, subject: Subject, doubt: boolean): PaymentState {
  const form = read(answer);
  const result = form?.get("RESULT");
  if (!form || result === undefined || isOpen(form, result) || result === MISMATCH || !/^\d{1,4}$/.test(result))
    return kit.unknown("no RESULT, or one that decides nothing", unlessFound(answer));
  const duplicate = form.get("DUPLICATE");
  if (duplicate === "2" || (duplicate === "1" && !doubt)) return kit.declined("duplicate_transaction", { message: form.get("RESPMSG") });
  if (doubt && KEYS_REFUSED.has(result)) return kit.unknown("a lost answer, then a refusal that says nothing about it");
  if (result === CANNOT_VERIFY && subject.mode === "tokenize") return { outcome: "cannot verify" };
  return stateOf(form, result, form.get("PNREF") ?? "", subject);
}

function stateOf(form: kit.Form, result: string, pnref: string, subject: Subject): PaymentState {
  const named = customerReference(subject);
  if ((form.get("CUSTREF") ?? named) !== named) return kit.unknown("the answer is another payment's");
  if (HELD.has(result)) return PNREF.test(pnref) ? { outcome: "held", pnref } : kit.unknown("held without a reference");
  if (result !== "0") {
    const code = declineOf(form, result);
    const processor = { payflow_pnref: PNREF.test(pnref) ? pnref : undefined };
    if (code === undefined) return kit.unknown("a RESULT that Payflow does not document");
    const refusal = kit.declined(code, { message: form.get("RESPMSG"), processor });
    const isHeld = subject.mode === "charge" && AFTER_APPROVAL.has(result) && PNREF.test(pnref);
    return isHeld ? { outcome: "refused", pnref, refusal } : refusal;
  }
  if (!PNREF.test(pnref)) return kit.unknown("approved without a PNREF");
  if (PART.test(form.get("RESPMSG") ?? "")) return { outcome: "partial", pnref };
  const amount = form.get("AMT");
  if (amount !== undefined && kit.minorOfDecimal(amount, subject.currency) !== (subject.mode === "charge" ? subject.amountMinor : 0))
    return kit.unknown("another amount than asked for");
  return kit.approved({ payflow_pnref: pnref });
}

function declineOf(form: kit.Form, result: string): DeclineCode | undefined {
  if (result === "12" || result === "117") {
    if (form.get("CVV2MATCH") === "N") return "incorrect_cvc";
    if (result === "117" && form.get("AVSZIP") === "N") return "incorrect_zip";
    const words = ofWords(`${form.get("ADDLMSGS") ?? ""} ${form.get("RESPTEXT") ?? ""}`);
    if (result === "12" && words !== undefined) return words;
  }
  return codeOf(result);
}

/** What an inquiry found: its own RESULT says whether there is anything, ORIGRESULT what became of it. */
export function readInquiry(answer: GatewayAnswer, subject: Subject): PaymentState | typeof kit.absent {
  const form = read(answer);
  const result = form?.get("RESULT");
  if (result === "19" || result === "20") return kit.absent;
  const original = form?.get("ORIGRESULT");
  if (!form || result !== "0" || original === undefined || !/^\d{1,4}$/.test(original)) return kit.unknown("the inquiry was not answered");
  // Of the original's words an inquiry shows none.
  if (NOT_KNOWN.has(original) || original === GENERIC) return kit.unknown("the vendor itself does not know what its processor did");
  const [pnref, settlement] = [form.get("ORIGPNREF") ?? "", form.get("TRANSSTATE")];
  const state = stateOf(form, original, pnref, subject);
  if (settlement === undefined || state.outcome === "unknown") return state;
  if (VOIDED.test(settlement)) return kit.takenBack({ payflow_pnref: pnref });
  const isKept = (subject.mode === "charge" ? SETTLES : VERIFIED).has(settlement);
  return state.outcome === "approved" && !isKept ? kit.unknown("approved, and not to be settled") : state;
}

/** What a RESULT that decides nothing means once it is proven that nothing was taken. */
export const unlessFound = (answer: kit.Answered): DeclineCode =>
  FAULTS.has(read(answer)?.get("RESULT") ?? "") ? "processing_error" : "gateway_unavailable";

/** The vendor could not look whether it had the request before: with an earlier one on its way, both may have been acted on. */
export const isUnchecked = (answer: kit.Answered): boolean => read(answer)?.get("DUPLICATE") === "-1";

/** Whether a void or credit was refused for itself: not for its keys, and not because a void came too late. */
export function isRefusal(answer: kit.Answered): boolean {
  const form = read(answer);
  const result = form?.get("RESULT") ?? "";
  return form !== null && /^\d{1,4}$/.test(result) && !isOpen(form, result) && !["0", VOID_REFUSED, ...KEYS_REFUSED].includes(result);
}

/** A void is refused once the payment is settled; any other refusal of it says nothing of the payment and allows no credit. */
export function readReversal(answer: kit.Answered): kit.ReversalStep {
  const result = read(answer)?.get("RESULT");
  if (result === "0") return "done";
  return result === VOID_REFUSED ? "settled already" : "unclear";
}
