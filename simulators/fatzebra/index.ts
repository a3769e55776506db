import { basicUser, brandNames, coded, decimalsOf, defineSimulator, issuer, json, mask, matching, refused } from "../kit/index.ts";
import { refuseWith, rules, textOf, wordsBy } from "../kit/index.ts";
import type { Answer, Call, Card, Fields, Refusal, Transaction } from "../kit/index.ts";

/**
 * Fat Zebra's gateway API 1.0: JSON under HTTP Basic, and two flags `successful` in each answer, the outer for the request and the
 * inner for the bank. A decline is status 200. Storing a card asks no bank. Of the readings of a used reference both are here: the
 * same payment gets the existing transaction again, another one is refused.
 */

const BASE = "/v1.0";
/** The merchant's: every one that exists, but for the placeholders of ISO 4217. */
const PERMITTED = ["AUD", ...Intl.supportedValuesOf("currency").filter((name) => !["AUD", "XTS", "XXX"].includes(name))];

/** Response code and words of the bank. */
type No = readonly [code: string, message: string];
const ISSUER = issuer<No>(`
  card_declined 93|Declined, insufficient_funds 51|Insufficient Funds, expired_card 54|Expired Card, incorrect_cvc 82|Declined
  processing_error 96|Declined, lost_or_stolen 41|Declined, 4557012345678902 05|Declined
`);

type Stored = Card & { holder: string };
interface Details {
  no: No | null;
  card: Stored;
  cardToken: string;
  members: Record<string, unknown>;
  /** What another purchase under the same reference must repeat. */
  meant: string;
}
/** References of refunds, each good once. */
type State = { refunds: Set<string> };
type ZebraCall = Call<State, Details, Stored>;
type Purchase = Transaction<Details>;

/** The field as the vendor names it in its sentences; missing and wrong where they differ. */
const sentencesOf = wordsBy<readonly [missing: string, wrong: string]>(`
  amount Amount can't be blank|Amount is invalid, reference Reference can't be blank|Reference is invalid
  card_holder Card Holder is required|Card Holder is invalid, card_number Card Number is required|Card number is invalid
  card_expiry Expiry date can't be blank|Expiry date is invalid, cvv CVV is required|CVV is invalid
  customer_ip Customer ip can't be blank|Customer ip is invalid
  transaction_id Invalid credit card for unmatched refund|Transaction is invalid
`);
/** Fields whose refusal is status 422 and not 400. */
const OF_THE_CARD = new Set(["card_holder", "card_number", "card_expiry", "cvv", "card_token"]);

const isTyped = (fields: Fields): boolean => !fields.has("card_token");
/** The second figure of `ecm` is 2 for a recurring payment, which needs no security code. */
const needsCode = (fields: Fields): boolean => isTyped(fields) && !textOf(fields, "extra.ecm").endsWith("2");
const isNoBill = (fields: Fields): boolean => fields.get("is_billing") !== true;
const ECM = matching(/^[123][123]$/, "two figures");
const CUSTOMER = matching(/^[0-9]{3}-C-[A-Z0-9]+$/, "a customer's id");
const EXPIRY = String.raw`/(0?[1-9]|1[0-2])\/20[0-9]{2}/`;
const THREEDS = coded("Extra/threeds version is not valid", matching(/^[12]\.[0-9](\.[0-9])?$/, "a version"));
const PURCHASE = rules`
  amount! whole 1-, currency currency, reference! 255, card_holder!${isTyped} 255, card_number!${isTyped} digits 12-19
  card_expiry!${isTyped} ${EXPIRY}, cvv!${needsCode} digits 3-4, card_token 64, customer_ip! ipv4, capture/test bool
  billing_address: address 255, postcode 32, email email
  metadata.* 0-255, addendum_data.*/fraud.* any
  extra: ecm ${ECM}, card_on_file bool, stored_credential_indicator is I|S, sli digits 2, ver 8
  extra: auth_reason is cardholder_initiated|resubmission|delayed_charges|reauthorization|no_show|account_topup|unscheduled
  extra: authorization_tracking_id/name/location/xid/par/directory_server_txn_id/cavv 64
  extra: threeds_version ${THREEDS}
`;
const CARD = rules`
  card_holder! 255, card_number! digits 12-19, card_expiry! ${EXPIRY}, cvv!${isNoBill} digits 3-4, alias 64
  customer_id ${CUSTOMER}, make_default/is_billing bool
`;
const REFUND = rules`transaction_id! 64, amount! whole 1-, reference! 255`;

export const simulator = defineSimulator<State, Details, Stored>({
  body: "json",
  state: () => ({ refunds: new Set() }),
  authenticate: (request) => basicUser(request)?.toLowerCase() ?? refuseWith(refusal("Invalid Login", 401)),
  responseHeaders: () => ({ "x-sandbox": "true" }),
  reference: "reference",
  recorded: ["extra.ecm", "customer_ip"],
  endpoints: {
    [`POST ${BASE}/purchases`]: { rules: PURCHASE, run: purchase },
    [`GET ${BASE}/purchases/:id`]: { run: (call) => said(purchaseOf(call, call.param("id"), true)) },
    [`POST ${BASE}/purchases/void`]: { rules: rules`id 64`, run: voidPurchase },
    [`POST ${BASE}/purchases/:id/capture`]: { rules: rules`amount! whole 1-`, run: capture },
    [`POST ${BASE}/refunds`]: { rules: REFUND, run: refund },
    [`POST ${BASE}/credit_cards`]: { rules: CARD, run: store },
  },
  refuse: {
    malformed: () => refusal("The request body is not valid JSON", 400),
    path: (_request, isKnown) => refusal(isKnown ? "Method not allowed" : "Not Found", isKnown ? 405 : 404),
    field({ field, kind, code, words }, { fields }) {
      const [missing, wrong] = (kind !== "unknown" && sentencesOf(field)) || [`${field} ${words}`, `${field} ${words}`];
      if (field === "currency") return badCurrency(textOf(fields, field));
      return refusal(code ?? (kind === "missing" ? missing : wrong), OF_THE_CARD.has(field) ? 422 : 400);
    },
  },
});

const envelope = (successful: boolean, response: object, errors: string[] = []): object => ({ successful, response, errors, test: true });

/** Nothing was processed. */
const refusal = (error: string, status: number): Refusal => refused(error, status, envelope(false, {}, [error]));
const badCurrency = (given: string): Refusal =>
  refusal(`Currency ${given} is not valid for this merchant. Permitted currencies: ${PERMITTED.join(", ")}`, 400);
const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** What the gateway itself has against a card. */
function cardIn(call: ZebraCall): Stored {
  const sentences = { number: "Card number is invalid", expiry: "Expiry date has expired", code: "CVV is invalid" };
  const places = { number: "card_number", expiry: "card_expiry", code: "cvv" };
  const { number, month, year } = call.card(places, (fault) => refusal(sentences[fault], 422));
  return { number, month: month.padStart(2, "0"), year, holder: call.text("card_holder") };
}

const typeOf = brandNames("visa VISA, mastercard MasterCard, amex American Express, jcb JCB, diners Diners, unionpay UnionPay", "Unknown");
/** The expiry comes back as the last day of its month. */
const shownCard = ({ number, month, year, holder }: Stored): object => ({
  card_holder: holder,
  card_number: mask(number, "X", 6),
  card_expiry: isoDay(Date.UTC(Number(year), Number(month), 0)),
  card_type: typeOf(number),
  card_category: "Credit",
  card_subcategory: "Standard",
});

function store(call: ZebraCall): Answer {
  const card = cardIn(call);
  call.decide(ISSUER, card.number);
  const alias = call.maybe("alias") ?? null;
  const { id: token } = call.vault.store(call.tools.id("", 20), card, alias);
  const known = { authorized: true, transaction_count: 0, card_issuer: "A bank", card_country: "Australia" };
  return json(200, envelope(true, { token, ...shownCard(card), ...known, alias }));
}

function purchase(call: ZebraCall): Answer {
  const { tools, transactions } = call;
  const [reference, unit] = [call.text("reference"), call.maybe("currency") ?? "AUD"];
  if (!PERMITTED.includes(unit)) throw badCurrency(unit);
  if (call.text("extra.sli") === "05" && !call.has("extra.cavv")) throw refusal("Extra/cavv is required for SLI 05", 422);
  const given = call.maybe("card_token");
  const kept = given === undefined ? undefined : call.vault.get(given);
  if (given !== undefined && kept === undefined) throw refusal("Card token is invalid", 422);
  const card = kept ?? cardIn(call);
  const meant = `${call.text("amount")} ${unit} ${card.number}`;
  const before = transactions.find((one) => one.reference === reference);
  if (before !== undefined && before.details.meant !== meant) throw refusal("Reference has already been taken", 422);
  if (before !== undefined) return said(before);
  const no = call.decide(ISSUER, card.number);
  const cvvMatch = !call.has("cvv") ? "P" : no === null ? "M" : no[0] === "82" ? "N" : "U";
  const id = `071-P-${tools.id("", 8).toUpperCase()}`;
  const metadata = { authorization_tracking_id: "", original_transaction_reference: "", ...call.under("metadata.") };
  const authorization = no === null ? tools.digits(6) : "0";
  const fraud = Object.keys(call.under("fraud.")).length > 0 ? { fraud_result: "Accept", fraud_messages: [] } : {};
  const cardToken = given ?? tools.id("", 20);
  const members = { authorization, rrn: id.replaceAll("-", ""), cvv_match: cvvMatch, metadata, addendum_data: {}, ...fraud };
  const kind = call.text("capture") === "false" ? "authorization" : "charge";
  const details = { no, card, cardToken, members, meant };
  const made = call.take({ id, kind, no, amountMinor: call.number("amount"), currency: unit, card: card.number, details });
  // Every purchase has a token of its card; with this mark it is meant to be kept.
  const isOnFile = no === null && call.text("extra.card_on_file") === "true";
  if (given === undefined) call.vault[isOnFile ? "store" : "keep"](cardToken, card, reference);
  return said(made);
}

/** The bank's word on a purchase; `message` of a reversal replaces it. One that was voided is no success when it is read later. */
function said({ id, reference, state, at, amountMinor, capturedMinor, currency: unit, details }: Purchase, message?: string): Answer {
  const { no, card, cardToken, members } = details;
  const [isCaptured, isVoided] = [capturedMinor > 0, state === "voided"];
  const response = {
    id,
    ...shownCard(card),
    card_token: cardToken,
    amount: amountMinor,
    decimal_amount: amountMinor / 10 ** decimalsOf(unit),
    successful: no === null && (!isVoided || message !== undefined),
    message: message ?? (isVoided ? "Voided" : no === null ? "Approved" : no[1]),
    reference,
    currency: unit,
    transaction_id: id,
    settlement_date: no === null ? isoDay(at) : null,
    transaction_date: `${new Date(at + 36_000_000).toISOString().slice(0, 19)}+10:00`,
    response_code: no === null ? "00" : no[0],
    captured: isCaptured,
    captured_amount: isVoided ? 0 : isCaptured ? capturedMinor : null,
    ...members,
  };
  return json(200, envelope(true, response));
}

/** By its id; a look-up also by our reference. */
function purchaseOf(call: ZebraCall, id: string, isLookUp = false): Purchase {
  const found = isLookUp ? call.lookUp(id, (one) => one.id === id || one.reference === id)[0] : call.transactions.get(id);
  return found ?? refuseWith(refusal("Could not find Purchase", 404).unrecorded());
}

/** Status 422 with the outer flag set: the request was understood, the reversal did not happen. */
const notDone = (id: string, message: string): Refusal => refused(message, 422, envelope(true, { id, successful: false, message }));

/** The id stands in the query, or in the body. */
function voidPurchase(call: ZebraCall): Answer {
  const id = call.request.query.get("id") ?? call.text("id");
  const one = call.transactions.get(id) ?? refuseWith(refusal("Purchase Not Found", 404));
  if (!call.transactions.void(one)) throw notDone(id, "Not Voided");
  return said(one, "Voided");
}

function capture(call: ZebraCall): Answer {
  const one = purchaseOf(call, call.param("id"));
  if (!call.transactions.capture(one, call.number("amount"))) throw notDone(one.id, "Not Captured");
  return said(one);
}

function refund(call: ZebraCall): Answer {
  const one = purchaseOf(call, call.text("transaction_id"));
  const [id, amount, reference] = [`071-R-${call.tools.id("", 8).toUpperCase()}`, call.number("amount"), call.text("reference")];
  if (call.state.refunds.has(reference)) throw refusal("Reference has already been taken", 422);
  const against = call.transactions.refund(one, { id, amountMinor: amount, from: ["captured", "settled"] });
  if (against === "amount") throw refusal("Amount is invalid", 400);
  if (against === "state") throw notDone(one.id, "Not Refunded");
  call.state.refunds.add(reference);
  const approved = { successful: true, message: "Approved", response_code: "00", currency: one.currency };
  return json(200, envelope(true, { id, transaction_id: id, amount: -amount, reference, ...approved }));
}
