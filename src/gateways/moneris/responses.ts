import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, GatewayAnswer, LookUpResult, Outcome, Subject, Unknown, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";

/** `ResponseCode` from 50 on in our words, compared as a number. */
const codeOf = kit.codeTable(
  {
    card_declined: "50 55 74 88 100 101 102 408 416 421 422 423 426 431 434 436 437 438 440 477 481 483 485 909",
    do_not_honor: "58 89 93 111 906",
    insufficient_funds: "76",
    expired_card: "51 430 482 484 901",
    invalid_expiry: "208 475",
    incorrect_number: "70 71 73 75 97 200 206 429",
    incorrect_cvc: "486 487 489 490",
    lost_or_stolen: "52 57 72 478 479 480 902 903",
    limit_exceeded: "65 77 82 86 94 95 106 107 110 112 204 905 907 908",
    card_not_supported: "56 59 60 105 252",
    duplicate_transaction: "78 84",
    processing_error: "441 476",
    gateway_misconfigured: "150 427 960 961 963 964 965",
    gateway_unavailable: "115 121 212 435 439 800-899",
  },
  "processing_error",
);
/** The issuer's own code (`ISO`), where the group that stands in `ResponseCode` says less. */
const ofIssuer = kit.codeTable({
  insufficient_funds: "51",
  expired_card: "54",
  lost_or_stolen: "04 07 41 43",
  incorrect_number: "14 15",
  incorrect_cvc: "82",
  card_not_supported: "57 62",
  limit_exceeded: "61 65",
  gateway_misconfigured: "03",
});
/** What a `ResponseCode` says where the issuer's own code may say more. */
const GROUPS = new Set<DeclineCode>(["card_declined", "processing_error"]);
/** Time-outs between Moneris and the issuer, who may have said yes. */
const NOT_KNOWN = new Set(["113", "810"]);
/** Refused before the host was asked: only the words say why. */
const ofMessage = kit.textTable<DeclineCode>([
  [/duplicate order/i, "duplicate_transaction"],
  [/token mismatch|(invalid|unknown) store|store[ _]?id/i, "gateway_credentials_invalid"],
  [/expdate|expir/i, "invalid_expiry"],
  [/\bcvd/i, "incorrect_cvc"],
  [/\bavs|zip/i, "incorrect_zip"],
  [/\bpan\b|card number/i, "incorrect_number"],
]);

const ID = /^[A-Za-z0-9_-]{1,64}$/;
const APPROVED_BELOW = 50;

/** The vendor's word on one transaction: its fields by name, without those that are the text `null`. */
type Receipt = ReadonlyMap<string, string>;

function readReceipt(body: Uint8Array): Receipt | null {
  const root = kit.readXml(body);
  const [receipt, ...others] = root?.name === "response" ? kit.childrenOf(root, "receipt") : [];
  if (receipt === undefined || others.length > 0) return null;
  const fields = new Map(receipt.children.map(({ name, text }) => [name, text]));
  // A name that stands there twice is neither of the two.
  if (fields.size < receipt.children.length) return null;
  return new Map([...fields].filter(([, text]) => text !== "" && text !== "null"));
}

/** A code as a number; undefined where it is none. */
function numberAt(receipt: Receipt, name: string): number | undefined {
  const text = receipt.get(name);
  return text !== undefined && /^[0-9]{1,4}$/.test(text) ? Number(text) : undefined;
}

const idAt = (receipt: Receipt, name: string): string | undefined => {
  const id = receipt.get(name);
  return id !== undefined && ID.test(id) ? id : undefined;
};

/** The receipt of an answer; a payment without one is unknown. */
const receiptOf = (answer: GatewayAnswer) =>
  kit.triage(answer, {
    effect: "money",
    read: readReceipt,
    readable: (status) => status === 200,
    flood: "unclear",
    approves: (receipt) => (numberAt(receipt, "ResponseCode") ?? APPROVED_BELOW) < APPROVED_BELOW,
  });

/** Words without their filling: `DECLINED           *                    =`. */
const said = (receipt: Receipt) => receipt.get("Message")?.replace(/[\s*=]+$/, "");

/** What a receipt says of its transaction: approved below 50, refused from there on, refused unasked, or not known. */
function resultOf(receipt: Receipt): "approved" | Declined | Unknown {
  const [complete, timedOut, code] = [receipt.get("Complete"), receipt.get("TimedOut"), numberAt(receipt, "ResponseCode")];
  if (timedOut !== "false") return kit.unknown("the host did not answer Moneris in time");
  if (complete === "false" && !receipt.has("ResponseCode")) return refusedUnasked(said(receipt));
  if (complete !== "true" || code === undefined) return kit.unknown("a receipt that Moneris does not document");
  if (code < APPROVED_BELOW) return "approved";
  if (NOT_KNOWN.has(String(code))) return kit.unknown("the issuer did not answer Moneris in time");
  const known = codeOf(String(code));
  const ours = GROUPS.has(known) ? (ofIssuer(receipt.get("ISO")) ?? known) : known;
  return kit.declined(ours, { message: said(receipt), processor: { moneris_txn_id: idAt(receipt, "TransID") } });
}

function refusedUnasked(message: string | undefined): Declined | Unknown {
  // The words that the vendor's libraries make up for an empty answer; a time-out is none of a refusal.
  if (message === undefined || /global error receipt|timed?[ -]?out/i.test(message)) return kit.unknown("refused without a word why");
  return kit.declined(ofMessage(message) ?? "gateway_misconfigured", { message });
}

/** What a receipt means for the kind of transaction that it is of. */
export type Meaning = (receipt: Receipt) => Outcome;

/** The answer to a transaction. */
export function readAnswer(answer: GatewayAnswer, meaning: Meaning): Outcome {
  const read = receiptOf(answer);
  return "outcome" in read ? read : meaning(read.body);
}

/** What a status check says of the transaction that it repeats. `not found`: it has never been processed. */
export function readStatus(answer: GatewayAnswer, meaning: Meaning): Outcome | "not found" {
  const read = receiptOf(answer);
  if ("outcome" in read) return kit.unknown("the status check was not answered");
  if (numberAt(read.body, "StatusCode") === undefined) return kit.unknown("the status check says nothing");
  return isFound(read.body) ? meaning(read.body) : "not found";
}

/** From 50 on it is not there, or it failed: then the words say that it was found, and the receipt how it ended. */
const isFound = (receipt: Receipt): boolean =>
  (numberAt(receipt, "StatusCode") ?? APPROVED_BELOW) < APPROVED_BELOW || /^found$/i.test(receipt.get("StatusMessage") ?? "");

const ANOTHERS = kit.unknown("the answer is another payment's");

export const ofPurchase =
  (subject: Subject): Meaning =>
  (receipt) => {
    const [result, told] = [resultOf(receipt), receipt.get("ReceiptId")];
    if (result === "approved") return paid(receipt, subject);
    // A refusal before the host was asked may have no name, or that of an error.
    return told !== undefined && receipt.has("ResponseCode") && told !== subject.reference ? ANOTHERS : result;
  };

/** The verification's word on the card: the id to store it with, where the issuer gave one. */
export const ofVerification: Meaning = (receipt) => {
  const result = resultOf(receipt);
  return result === "approved" ? kit.approved({}, { webhook: { issuer_id: idAt(receipt, "IssuerId") } }) : result;
};

/** The vault's word, which says nothing of an issuer. */
export const ofStored: Meaning = (receipt) => {
  const result = resultOf(receipt);
  if (result !== "approved") return result;
  const key = idAt(receipt, "DataKey");
  const isStored = receipt.get("ResSuccess") === "true" && key !== undefined;
  return isStored ? kit.approved({ moneris_data_key: key }) : kit.unknown("stored without a data key");
};

function paid(receipt: Receipt, subject: Subject): Approved | Unknown {
  const id = idAt(receipt, "TransID");
  if (id === undefined) return kit.unknown("approved without the transaction's id");
  if (receipt.get("ReceiptId") !== subject.reference) return ANOTHERS;
  const isAsked = kit.minorOfDecimal(receipt.get("TransAmount"), subject.currency) === subject.amountMinor;
  if (!isAsked) return kit.unknown("another amount than asked for");
  const webhook = {
    auth_code: receipt.get("AuthCode"),
    reference_num: receipt.get("ReferenceNum"),
    avs_result_code: AVS(receipt.get("AvsResultCode")) ?? "U",
    cvv_result_code: CVD(receipt.get("CvdResultCode")?.at(-1)) ?? "U",
  };
  return kit.approved({ moneris_txn_id: id }, { webhook });
}

const AVS = kit.meanings({ Y: "Y X D F M", A: "A B", Z: "Z P W", N: "N" });
/** The last letter; the digit before it is the indicator that was sent. */
const CVD = kit.meanings({ M: "M Y", N: "N D", P: "P R", S: "S" });

/** Of the payment itself; a refusal by the issuer or of our request says something else. */
const NONE_LEFT = /^cancelled\b|already/i;

/** A correction is refused once the batch is closed. */
export function readReversal(answer: kit.Answered): kit.ReversalStep {
  const read = receiptOf(answer);
  if ("outcome" in read) return "unclear";
  const result = resultOf(read.body);
  if (result === "approved") return "done";
  // A duplicate may have been made before.
  if (result.outcome !== "declined" || result.code === "gateway_credentials_invalid" || kit.isDuplicate(result)) return "unclear";
  return NONE_LEFT.test(said(read.body) ?? "") ? "none left" : "settled already";
}

const CORRECTION = "11";

/** What the status check of a refused correction says of the payment: taken back where it shows one that was made, else it stands. */
export function readCorrection(answer: GatewayAnswer, { reference }: Subject): LookUpResult {
  const read = receiptOf(answer);
  if ("outcome" in read) return kit.unknown("the status check was not answered");
  const { body } = read;
  if (!isFound(body) || body.get("TransType") !== CORRECTION || body.get("ReceiptId") !== reference) return kit.approved({});
  const result = resultOf(body);
  if (result === "approved") return kit.takenBack();
  return result.outcome === "declined" ? kit.approved({}) : result;
}

/** Whether a stored card was taken out; absent: the store's vault has no such data key. */
export function readRemoval(answer: GatewayAnswer): VoidResult {
  const read = receiptOf(answer);
  if ("outcome" in read) return kit.unknown("the stored card could not be removed");
  const result = resultOf(read.body);
  if (result === "approved" && read.body.get("ResSuccess") === "true") return { outcome: "voided" };
  const isRefused = result !== "approved" && result.outcome === "declined";
  return isRefused && /data[ _]?key/i.test(said(read.body) ?? "") ? kit.absent : kit.unknown("the stored card could not be removed");
}
