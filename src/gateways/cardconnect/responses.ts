import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import { orderId, refundId } from "./requests.ts";

/** First Data North's codes. */
const NORTH = kit.codeTable({
  do_not_honor: "01 05",
  card_declined: "51 12 NN",
  insufficient_funds: "NU",
  incorrect_number: "14 N3",
  expired_card: "54",
  incorrect_cvc: "C2",
  lost_or_stolen: "60",
  card_not_supported: "57 63",
  limit_exceeded: "61 NH NQ NR",
  authentication_required: "1A 1B",
  duplicate_transaction: "94",
  gateway_misconfigured: "03 13 25 89 NP",
  processing_error: "28 91 CE NL NM NK",
});
/** `respcode` by `respproc`: PPS is the gateway itself, FNOR and NASH First Data North and Nashville, RPCT Rapid Connect. */
const CODES = kit.wordTable({
  PPS: kit.codeTable({
    incorrect_number: "11 12 13 99",
    incorrect_cvc: "14 37 38",
    invalid_expiry: "15",
    expired_card: "16",
    incorrect_zip: "17 35 101",
    fraud_suspected: "18 19",
    card_not_supported: "33 44",
    limit_exceeded: "42",
    duplicate_transaction: "36",
    gateway_misconfigured: "21 22 23 31 32 34 41 43 48 92 94 95 96 97 98 102 103 104",
    gateway_unavailable: "61 62 63 64 65 66 91 93",
  }),
  FNOR: NORTH,
  NASH: NORTH,
  RPCT: kit.codeTable({
    do_not_honor: "100 107 108 727",
    card_declined: "500 504 302 304 332 104 940",
    insufficient_funds: "116",
    incorrect_number: "118 131 303 373 726",
    expired_card: "101 509 510 511",
    invalid_expiry: "132 518",
    incorrect_cvc: "517 954 958 959",
    incorrect_zip: "721",
    lost_or_stolen: "208 209 704 767",
    fraud_suspected: "102 105 122 129 514 729",
    limit_exceeded: "121 123 152 154 521 528 554 771 782 805 809-824 924",
    card_not_supported: "119 120 512 513 526 941",
    authentication_required: "351 531 540",
    duplicate_transaction: "913",
    gateway_misconfigured: "001 109 110 130 150 355 515 527 722 904",
    processing_error: "505 508 516 906 907 909 911 920 923 963",
  }),
});
/** Other processors have tables of their own: their plain words. */
const ofWords = kit.textTable<DeclineCode>([
  [/^duplicate( tran(saction)?| order number)?$/i, "duplicate_transaction"],
  [/insufficient/i, "insufficient_funds"],
  [/\bexpired|wrong expir/i, "expired_card"],
  [/invalid expir/i, "invalid_expiry"],
  [/^invalid (card|cc|account)( number)?$|\bcheck digit\b/i, "incorrect_number"],
  [/\b(lost|stolen|pick ?up)\b/i, "lost_or_stolen"],
  [/\b(cvv|cid\b)/i, "incorrect_cvc"],
  [/\bavs\b/i, "incorrect_zip"],
  [/do not honor|^refer to issuer|^call( issuer)?$/i, "do_not_honor"],
  [/\bfraud/i, "fraud_suspected"],
  [/\blimit\b/i, "limit_exceeded"],
  [/\bcard (type )?not (allowed|permitted)\b|^invalid (card|txn) for (card|merchant)$/i, "card_not_supported"],
  [/^invalid (amex )?merchant|^invalid term id/i, "gateway_misconfigured"],
]);
/** The gateway's own: the processor did not answer, and may have said yes. */
const NOT_KNOWN = new Set(["62", "63", "64", "65", "66"]);
/** A processor's own: it had no answer of the issuer. */
const TIMED_OUT = /timed?[ -]?out/i;
const NOT_FOUND = "29";
/** The gateway's rules on amounts: a verification of 0 is not for this merchant. */
const AMOUNT_REFUSED = new Set(["41", "43"]);
const REVERSED = /^((FNOR|NASH|FOMA) 76|AMEX 400)$/;

const RETREF = /^[0-9]{1,20}$/;
const PROFILE = /^[0-9]{1,20}$/;
const ACCOUNT = /^[0-9]{1,3}$/;

/** What an answer says; `partial` must be voided. */
export type State = Approved | Declined | Unknown | { outcome: "partial"; retref: string };

/** Values come with blanks at either end. */
const field = (body: kit.JsonObject | null, name: string): string | undefined => kit.scalarAt(body, name)?.trim();
const idOf = (body: kit.JsonObject, form: RegExp, name: string) => kit.idAt({ id: field(body, name) ?? "" }, form, "id");

/** Whether a value is there and is another; a blank is none. */
function isOther(body: kit.JsonObject, name: string, expected: string): boolean {
  const told = field(body, name) ?? body[name] ?? "";
  return told !== "" && told !== expected;
}

function codeIn(body: kit.JsonObject): DeclineCode | undefined {
  const table = CODES(field(body, "respproc"));
  return table === undefined ? ofWords(field(body, "resptext")) : table(field(body, "respcode"));
}

/** A result, an error's number, or the gateway's own word for a wrong path. */
const isVendors = (body: kit.JsonObject): boolean =>
  ["respstat", "errorcode"].some((name) => field(body, name) !== undefined) || field(body, "path")?.startsWith("/cardconnect/") === true;

const approves = (body: kit.JsonObject): boolean => field(body, "respstat") === "A";

/** The answer to a sale. Business results alike come with status 200: `respstat` decides. */
export function readSale(answer: GatewayAnswer, subject: Subject): State {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors, approves });
  if ("outcome" in read) return read;
  return read.status === 200 ? stateOf(read.body, subject, isUndecided(read.body)) : ofStatus(read.status);
}

const ofStatus = (status: number): Declined | Unknown => {
  const code = kit.codeOfStatus(status);
  return code === undefined ? kit.unknown(`status ${status} with a body that says nothing`) : kit.declined(code);
};

const isUndecided = (body: kit.JsonObject) =>
  (field(body, "respproc") === "PPS" && NOT_KNOWN.has(field(body, "respcode") ?? "")) || TIMED_OUT.test(field(body, "resptext") ?? "");

/** `undecided`: somebody behind the gateway did not answer in time, so that only a look-up tells. */
function stateOf(body: kit.JsonObject, subject: Subject, undecided: boolean): State {
  if (isOther(body, "orderId", orderId(subject))) return kit.unknown("a payment of another order id");
  if (undecided) return kit.unknown("the gateway had no answer from the processor, or that none from the issuer");
  const result = field(body, "respstat");
  if (result === "A") return paid(body, subject);
  return result === "B" || result === "C" ? refusal(body) : kit.unknown("an answer without a result");
}

const CONTRADICTION = "approved with the code of a refusal";

function paid(body: kit.JsonObject, subject: Subject): State {
  const retref = idOf(body, RETREF, "retref");
  if (retref === undefined) return kit.unknown("approved without a retref");
  if (REVERSED.test(`${field(body, "respproc")} ${field(body, "respcode")}`)) return kit.unknown("approved and reversed");
  // A sale's own answer has none.
  if (isOther(body, "currency", subject.currency)) return kit.unknown("another currency than asked for");
  const minor = kit.minorOfDecimal(field(body, "amount"), subject.currency);
  if (minor === subject.amountMinor)
    return codeIn(body) === undefined ? kit.approved({ cardconnect_retref: retref }) : kit.unknown(CONTRADICTION);
  return minor !== null && minor > 0 && minor < subject.amountMinor
    ? { outcome: "partial", retref }
    : kit.unknown("another amount than asked for");
}

/** A decline, a refusal of the gateway, or a failure that took nothing (`B`). */
function refusal(body: kit.JsonObject): Declined {
  const words = field(body, "resptext");
  const isFailure = field(body, "respstat") === "B";
  const checked = kit.codeOfChecks({ avs: field(body, "avsresp"), cvv: field(body, "cvvresp") });
  // Words say nothing of what did not reach the issuer.
  const isWord = CODES(field(body, "respproc")) === undefined;
  const code = isFailure && isWord ? undefined : codeIn(body);
  return kit.declined(code ?? (isFailure ? "processing_error" : (checked ?? "card_declined")), {
    message: words,
    processor: { cardconnect_retref: idOf(body, RETREF, "retref") },
  });
}

/** The answer to a card's verification or storing, which moves nothing: what is unclear may be asked again. */
export function readStored(answer: GatewayAnswer): Approved | Declined | Unknown {
  const read = kit.triage(answer, { effect: "money", read: kit.readJson, isVendors, approves });
  if ("outcome" in read) return read;
  return read.status === 200 ? storedIn(read.body, isUndecided(read.body)) : ofStatus(read.status);
}

function storedIn(body: kit.JsonObject, undecided: boolean): Approved | Declined | Unknown {
  const [result, profile, account] = [field(body, "respstat"), idOf(body, PROFILE, "profileid"), idOf(body, ACCOUNT, "acctid")];
  if (undecided || !["A", "B", "C"].includes(result ?? "")) return kit.unknown("an answer without a result");
  if (result !== "A") {
    const isAmount = field(body, "respproc") === "PPS" && AMOUNT_REFUSED.has(field(body, "respcode") ?? "");
    return { ...refusal(body), ...(isAmount && { reason: "the merchant cannot verify cards: set the option verify to false" }) };
  }
  if (codeIn(body) !== undefined) return kit.unknown(CONTRADICTION);
  if (profile === undefined || account === undefined) return kit.unknown("approved without a profile");
  return kit.approved({ cardconnect_profile_id: `${profile}/${account}` });
}

/** What an inquiry found, one or several of the same order id. Null when the vendor did not say. */
export function readInquiry(answer: GatewayAnswer, subject: Subject): (State | typeof kit.absent)[] | null {
  const found = kit.lookUpBody(answer, (bytes) => kit.readJsonList(bytes) ?? one(kit.readJson(bytes)));
  // Where nothing is found a code says so.
  return found?.length ? found.map((body) => readFound(body, subject)) : null;
}

const one = (body: kit.JsonObject | null) => body && [body];

/** What a settlement says of the payment. */
const [STANDING, REFUSED] = [/^(authorized|queued for capture|accepted|processed)$/i, /^(declined|rejected)$/i];

/** A payment that is found always says how it is settled; what the gateway says without that is of the inquiry itself. */
function readFound(body: kit.JsonObject, subject: Subject): State | typeof kit.absent {
  const [processor, settlement] = [field(body, "respproc"), field(body, "setlstat")];
  if (processor === "PPS" && field(body, "respcode") === NOT_FOUND) return kit.absent;
  if (isOther(body, "orderId", orderId(subject))) return kit.unknown("a payment of another order id");
  const isRefused = field(body, "respstat") !== "A";
  // A second delivery that was refused for the first one's sake: it says nothing of the first, which may not show yet.
  if (isRefused && codeIn(body) === "duplicate_transaction" && !STANDING.test(settlement ?? "")) return kit.absent;
  if (processor === "PPS" && !settlement) return kit.unknown("the inquiry was refused, or does not say what became of the payment");
  if ((isRefused ? STANDING : REFUSED).test(settlement ?? "")) return kit.unknown("the result and the settlement contradict each other");
  if (/^voided$/i.test(settlement ?? "")) return kit.takenBack();
  // What the processor did not answer in time the gateway has taken back by now, and says declined.
  const undecided = isUndecided(body) && !/^declined$/i.test(settlement ?? "");
  return subject.mode === "tokenize" ? storedIn(body, undecided) : stateOf(body, subject, undecided);
}

/**
 * What became of the refund of the whole by its own order id. Answers may leave that out; without it another retref than the payment's
 * tells the refund.
 */
export function readRefund(answer: GatewayAnswer, subject: Subject, paid: string): "done" | "absent" | "unclear" {
  const body = kit.lookUpBody(answer, kit.readJson);
  if (field(body, "respproc") === "PPS" && field(body, "respcode") === NOT_FOUND) return "absent";
  if (body === null || isOther(body, "orderId", refundId(subject)) || isOther(body, "currency", subject.currency)) return "unclear";
  if (!field(body, "orderId") && [undefined, paid].includes(idOf(body, RETREF, "retref"))) return "unclear";
  const isWhole = kit.minorOfDecimal(field(body, "amount")?.replace(/^-/, ""), subject.currency) === subject.amountMinor;
  return isWhole && field(body, "respstat") === "A" && STANDING.test(field(body, "setlstat") ?? "") ? "done" : "unclear";
}

/** The gateway's "Txn Settled", which it lists as an approval. */
const TOO_LATE = "PPS 26";

/** A void is refused once the batch is closed. A duplicate, or one that the processor did not answer, may have been made. */
export function readReversal({ status, body }: kit.Answered): kit.ReversalStep {
  const read = status === 200 ? kit.readJson(body) : null;
  const result = field(read, "respstat");
  if (`${field(read, "respproc")} ${field(read, "respcode")}` === TOO_LATE) return "settled already";
  if (result === "A") return "done";
  const isOpen = read === null || isUndecided(read) || codeIn(read) === "duplicate_transaction";
  return result === "C" && !isOpen ? "settled already" : "unclear";
}
