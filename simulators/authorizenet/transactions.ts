import { mask } from "../kit/cards.ts";
import { OK, batchOf, newLetters, shownNumber } from "./account.ts";
import type { Call, PaymentProfile, Reply, Transaction } from "./account.ts";
import { REASONS, accountTypeOf, verdictOn } from "./issuer.ts";
import type { Address, Card, Verdict } from "./issuer.ts";

/** createTransactionRequest: take, hold, capture, void. */

export interface Requested {
  transactionType: string;
  amount?: string;
  currencyCode?: string;
  payment?: { creditCard: Card };
  profile?: { customerProfileId: string; paymentProfile: { paymentProfileId: string } };
  refTransId?: string;
  order?: { invoiceNumber?: string; description?: string };
  billTo?: Address;
  retail?: { marketType?: string };
  transactionSettings?: { setting?: Setting | Setting[] };
}
type Setting = { settingName: string; settingValue: string };
type Refusal = readonly [responseCode: string, reason: string, text: string];

const CURRENCIES = ["USD", "CAD", "GBP", "EUR", "AUD", "NZD", "CHF", "DKK", "NOK", "PLN", "SEK"];
const LARGEST_MINOR = 9_999_999;
const DUPLICATE_SECONDS = 120;
const UNSUCCESSFUL = { code: "E00027", text: "The transaction was unsuccessful." };

export function createTransaction(call: Call): Reply | "reset" {
  const wanted = call.request["transactionRequest"] as Requested;
  switch (wanted.transactionType) {
    case "authCaptureTransaction":
    case "authOnlyTransaction":
      return pay(call, wanted, wanted.transactionType);
    case "priorAuthCaptureTransaction":
      return capture(call, wanted);
    case "voidTransaction":
      return undo(call, wanted);
    case "refundTransaction":
      return failed(call, REASONS.credit, wanted);
    default:
      return { code: "E00003", text: "The value of transactionType is invalid according to its datatype." };
  }
}

/** Minor units of a decimal in major units; NaN when it has more than two decimals. */
function minorOf(amount = ""): number {
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d{1,2})0*)?$/.exec(amount) ?? [];
  return whole === "" ? Number.NaN : Number(whole + fraction.padEnd(2, "0"));
}

function settingOf({ transactionSettings }: Requested, name: string): string | undefined {
  return [transactionSettings?.setting ?? []].flat().find(({ settingName }) => settingName === name)?.settingValue;
}

function pay(call: Call, wanted: Requested, type: Transaction["type"]): Reply | "reset" {
  if (wanted.profile && wanted.billTo) return { code: "E00093", text: "PaymentProfile cannot be sent with billing data." };
  const source = wanted.profile
    ? storedCard(call, wanted.profile)
    : wanted.payment && { card: wanted.payment.creditCard, billTo: wanted.billTo ?? {} };
  if (source === null) return { code: "E00040", text: "Customer Profile ID or Customer Payment Profile ID not found." };
  if (source === undefined) return failed(call, REASONS.noCard, wanted);
  const amountMinor = minorOf(wanted.amount);
  const fault = faultOf(wanted, amountMinor);
  if (fault !== null) return failed(call, fault, wanted, source.card);

  const { tools, account } = call;
  const content = JSON.stringify([source.card.cardNumber, amountMinor, wanted.order?.invoiceNumber, type, source.billTo]);
  const window = Number(settingOf(wanted, "duplicateWindow") ?? DUPLICATE_SECONDS) * 1000;
  const earlier = account.taken.get(content);
  if (earlier !== undefined && tools.now() - earlier < window) return failed(call, REASONS.duplicate, wanted, source.card);

  const partial = settingOf(wanted, "allowPartialAuth") === "true";
  const verdict = verdictOn(source.card, source.billTo, amountMinor, partial, new Date(tools.now()));
  if (verdict === null) return "reset";
  if (verdict.responseCode === "3") return failed(call, ["3", verdict.reason, verdict.text], wanted, source.card);
  const transaction: Transaction = {
    transId: tools.digits(11),
    type,
    status: statusOf(verdict, type),
    submittedMs: tools.now(),
    invoiceNumber: wanted.order?.invoiceNumber ?? "",
    amountMinor: verdict.partMinor ?? amountMinor,
    ...source,
    verdict,
    authCode: verdict.responseCode === "2" ? "" : newLetters(tools, 6),
    cavv: verdict.responseCode === "1" && accountTypeOf(source.card) === "Visa" && wanted.retail === undefined ? "2" : "",
    networkTransId: verdict.responseCode === "2" ? "" : newLetters(tools, 15),
    marketType: wanted.retail?.marketType ?? "0",
  };
  account.transactions.set(transaction.transId, transaction);
  if (verdict.responseCode !== "2") account.taken.set(content, tools.now());
  record(call, transaction, wanted);
  return paid(transaction, amountMinor);
}

function storedCard({ account }: Call, wanted: NonNullable<Requested["profile"]>): PaymentProfile | null {
  const profiles = account.profiles.get(wanted.customerProfileId)?.paymentProfiles ?? [];
  return profiles.find(({ customerPaymentProfileId }) => customerPaymentProfileId === wanted.paymentProfile.paymentProfileId) ?? null;
}

function faultOf({ currencyCode = "USD", retail, transactionSettings }: Requested, amountMinor: number): Refusal | null {
  if (!(amountMinor > 0 && amountMinor <= LARGEST_MINOR)) return REASONS.amount;
  if (!CURRENCIES.includes(currencyCode)) return REASONS.currency;
  const { marketType = "0" } = retail ?? {};
  if (!["0", "1", "2"].includes(marketType)) return REASONS.marketType;
  // The account is boarded for card-not-present payments.
  if (marketType === "2") return REASONS.product;
  const seconds = [transactionSettings?.setting ?? []].flat().find(({ settingName }) => settingName === "duplicateWindow")?.settingValue;
  return seconds !== undefined && !(/^\d{1,5}$/.test(seconds) && Number(seconds) <= 28_800)
    ? ["3", "33", "duplicateWindow is invalid."]
    : null;
}

function statusOf({ responseCode }: Verdict, type: Transaction["type"]): string {
  if (responseCode === "2") return "declined";
  if (responseCode === "4") return "FDSAuthorizedPendingReview";
  return type === "authOnlyTransaction" ? "authorizedPendingCapture" : "capturedPendingSettlement";
}

function record(
  { tools }: Call,
  { transId, type, verdict, card, amountMinor, billTo, marketType, invoiceNumber }: Transaction,
  wanted: Requested,
) {
  tools.record({
    kind: type === "authOnlyTransaction" ? "authorization" : "charge",
    id: transId,
    reference: invoiceNumber || null,
    outcome: verdict.responseCode === "1" ? "approved" : verdict.responseCode === "2" ? "declined" : null,
    amountMinor,
    currency: wanted.currencyCode ?? "USD",
    card: mask(card.cardNumber),
    details: {
      response_code: verdict.responseCode,
      reason: verdict.reason,
      market_type: marketType,
      customer_profile_id: wanted.profile?.customerProfileId ?? null,
      ...namesOf(billTo),
    },
  });
}

/** Who and where the vendor thinks the card holder is. */
export function namesOf({ firstName, lastName, address, zip, country }: Address): Record<string, string | null> {
  return {
    first_name: firstName ?? null,
    last_name: lastName ?? null,
    street: address ?? null,
    zip: zip ?? null,
    country: country ?? null,
  };
}

const FIXED = { refTransID: "", transHash: "", testRequest: "0", transHashSha2: "", SupplementalDataQualificationIndicator: 0 };

/** The answer about a payment. A plain decline is Ok as a whole, one by a filter an Error: both are on record. */
function paid(transaction: Transaction, requestedMinor: number): Reply {
  const { verdict, card } = transaction;
  const { responseCode, reason, text, raw, partMinor } = verdict;
  const refused = responseCode === "2";
  const transactionResponse = {
    responseCode,
    ...(raw !== undefined && { rawResponseCode: raw }),
    authCode: transaction.authCode,
    avsResultCode: verdict.avs,
    cvvResultCode: verdict.cvv,
    cavvResultCode: transaction.cavv,
    transId: transaction.transId,
    ...FIXED,
    accountNumber: shownNumber(card),
    accountType: accountTypeOf(card),
    ...(partMinor !== undefined && {
      prePaidCard: {
        requestedAmount: (requestedMinor / 100).toFixed(2),
        approvedAmount: (partMinor / 100).toFixed(2),
        balanceOnCard: "0.00",
      },
    }),
    ...(refused ? { errors: [{ errorCode: reason, errorText: text }] } : { messages: [{ code: reason, description: text }] }),
    networkTransId: transaction.networkTransId,
  };
  const whole = refused && reason !== "2" ? UNSUCCESSFUL : OK;
  return { ...whole, members: { transactionResponse }, lost: verdict.lost === true };
}

/** Response code 3: nothing was processed, there is no transaction. */
function failed({ tools }: Call, [responseCode, reason, text]: Refusal, wanted: Requested, card?: Card): Reply {
  const reference = wanted.order?.invoiceNumber ?? null;
  tools.record({ kind: "refused", id: null, reference, outcome: null, details: { reason } });
  const transactionResponse = {
    responseCode,
    authCode: "",
    avsResultCode: "P",
    cvvResultCode: "",
    cavvResultCode: "",
    transId: "0",
    ...FIXED,
    accountNumber: card ? shownNumber(card) : "",
    accountType: card ? accountTypeOf(card) : "",
    errors: [{ errorCode: reason, errorText: text }],
  };
  return { ...UNSUCCESSFUL, members: { transactionResponse } };
}

function done(transaction: Transaction, code: string, description: string): Reply {
  const { transId, authCode, card } = transaction;
  const transactionResponse = {
    responseCode: "1",
    authCode,
    avsResultCode: "P",
    cvvResultCode: "",
    cavvResultCode: "",
    transId,
    ...FIXED,
    refTransID: transId,
    accountNumber: shownNumber(card),
    accountType: accountTypeOf(card),
    messages: [{ code, description }],
  };
  return { ...OK, members: { transactionResponse } };
}

/** The merchant's later capture of a held payment: at most the amount that is held. */
function capture(call: Call, wanted: Requested): Reply {
  const held = call.account.transactions.get(wanted.refTransId ?? "");
  if (held?.status === "capturedPendingSettlement") return done(held, "311", "This transaction has already been captured.");
  if (held?.status !== "authorizedPendingCapture") return failed(call, REASONS.notFound, wanted);
  const amountMinor = wanted.amount === undefined ? held.amountMinor : minorOf(wanted.amount);
  if (!(amountMinor > 0 && amountMinor <= held.amountMinor)) return failed(call, REASONS.amount, wanted);
  Object.assign(held, { status: "capturedPendingSettlement", amountMinor });
  call.tools.record({ kind: "capture", id: held.transId, reference: held.invoiceNumber, outcome: "approved", amountMinor });
  return done(held, "1", "This transaction has been approved.");
}

function undo(call: Call, wanted: Requested): Reply {
  const standing = call.account.transactions.get(wanted.refTransId ?? "");
  if (standing?.status === "voided") return done(standing, "310", "This transaction has already been voided.");
  if (!standing || standing.status === "declined" || batchOf(standing, call.tools.now())) return failed(call, REASONS.notFound, wanted);
  standing.status = "voided";
  call.tools.record({ kind: "void", id: standing.transId, reference: standing.invoiceNumber, outcome: "approved" });
  return done(standing, "1", "This transaction has been approved.");
}
