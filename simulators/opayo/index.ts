import { brandOf, byState, cardFaults, defineSimulator, element, hash, htmlNotFound, isAccepted, isSame, issuer } from "../kit/index.ts";
import { majorOf, matching, minorOf, pairs, parseXml, plain, Refusal, rules, state2, textOf, uuidOf, wordsBy } from "../kit/index.ts";
import type { Answer, Call, Card, Fields, Incoming, Rule, Rules, Transaction } from "../kit/index.ts";

/**
 * Opayo Direct, protocol 4.00: form in, `Name=Value` lines out, always status 200; and the Reporting API's getTransactionDetail.
 * Where the vendor's sheet names no code for a field, what is missing is 3002 and what is wrong 3003.
 */

/** The reporting user of every vendor here: that of the sheet's worked example. */
const REPORTING = { user: "apiuser", password: "s3cretPw1" };
/** AUTHORISEs may take so much more than was registered. */
const AUTHORISE_SHARE = 1.15;

interface Details {
  /** PAYMENT, DEFERRED, AUTHENTICATE, AUTHORISE or REPEAT. */
  type: string;
  securityKey: string;
  authNo: string;
  accountType: string;
  expiry: string;
  /** Lines about the checks, as the answer has them. */
  checks: Record<string, string>;
  status: string;
  /** Authorised so far, of an AUTHENTICATE. */
  authorisedMinor: number;
}

interface State {
  /** Every VendorTxCode that was used, for ever. */
  codes: Set<string>;
  /** As a report shows them, by their VendorTxCode. */
  refunds: Map<string, Record<string, string>>;
}

type OpayoCall = Call<State, Details>;
type Transact = Transaction<Details>;

/** Status, code and bank code of a refusal. */
type No = readonly [status: string, detail: string, declineCode: string];
const DECLINED = "NOTAUTHED|2000 : The Authorisation was Declined by the bank.";
const WRONG_CODE: No = ["REJECTED", "2001 : The Authorisation was Rejected by the vendor rule-base.", ""];
const ISSUER = issuer<No>(`
  card_declined ${DECLINED}|12, insufficient_funds ${DECLINED}|51, expired_card ${DECLINED}|54, lost_or_stolen ${DECLINED}|41
  4929602110085639/5403814948608092 ${DECLINED}|05, incorrect_cvc ${WRONG_CODE.join("|")}
  processing_error ERROR|5003 : Internal Server Error.|
`);

const is =
  (...values: string[]) =>
  (fields: Fields) =>
    values.includes(textOf(fields, "AccountType") || "E");
const isScripted = (fields: Fields) => is("E")(fields) && fields.get("BrowserJavascriptEnabled") === "1";
const isPlain = (fields: Fields) => !fields.has("Token");
const isEcommerce = is("E");
const WITHOUT_POSTCODES = ["IE", "HK", "AE", "QA"];
const AMOUNT = matching(/^(100000(\.00?)?|[0-9]{1,5}(\.[0-9]{1,2})?)$/, "an amount of 0.00 to 100000.00");
const CODE = "[A-Za-z0-9._{}-] 1-40";
const ID = String.raw`/\{?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?/`;
/** Billing and delivery alike, with the vendor's codes of their compulsory fields. */
type Codes = readonly [surname: string, names: string, line: string, city: string, postcode: string, country: string];
const address = (side: string, [surname, names, line, city, postcode, country]: Codes): Rules => {
  const hasPostcodes = (fields: Fields) => !WITHOUT_POSTCODES.includes(textOf(fields, `${side}Country`));
  const isAmerican = (fields: Fields) => textOf(fields, `${side}Country`) === "US";
  const state: Rule = {
    check: (value) => (value === "" ? null : state2.check(value)),
    need: (fields) => (isAmerican(fields) ? "required" : textOf(fields, `${side}State`) === "" ? "optional" : "forbidden"),
  };
  return rules`
    ${side}Surname! 20 @${surname}, ${side}Firstnames! 20 @${names}, ${side}Address1! 50 @${line}, ${side}Address2/${side}Address3 50
    ${side}City! 40 @${city}, ${side}PostCode!${hasPostcodes} 10 @${postcode}, ${side}Country! country2 @${country}, ${side}State ${state}
    ${side}Phone [0-9+()\x20-] 1-20
  `;
};
const COMMON = rules`VPSProtocol! is 4.00, Vendor! 15`;
const CURRENCY = rules`Currency! currency @4008`;
const DESCRIPTION = rules`Description! 100 @3013`;
const REGISTER = rules`
  ${COMMON}, TxType! is PAYMENT|DEFERRED|AUTHENTICATE, VendorTxCode! ${CODE}, Amount! ${AMOUNT}, ${CURRENCY}, ${DESCRIPTION}
  CardHolder!${isPlain} /[A-Za-z][A-Za-z0-9\x20.\x2c'&\/\\\-]*/ 1-45
  CardNumber!${isPlain} digits 1-20 @5011, ExpiryDate!${isPlain} mmyy @5014, CV2 digits 3-4 @5017
  CardType!${isPlain} is VISA|MC|MCDEBIT|DELTA|MAESTRO|UKE|AMEX|DC|JCB, Token 38, StoreToken/CreateToken is 0|1
  ${address("Billing", ["3094", "3089", "3091", "3092", "3090", "3093"])}
  ${address("Delivery", ["3111", "3112", "3113", "3114", "3115", "3116"])}
  CustomerEMail email 80, ClientIPAddress!${isEcommerce} ipv4, AccountType is E|M|C @3099, Apply3DSecure/ApplyAVSCV2 is 0|1|2|3
  COFUsage is FIRST|SUBSEQUENT, InitiatedType is CIT|MIT, SchemeTraceID 56
  MITType is UNSCHEDULED|RECURRING|INSTALMENT|REAUTHORISATION|RESUBMISSION|DELAYED|INCREMENTAL|NOSHOW
  ThreeDSNotificationURL!${isEcommerce} 256 @3227, BrowserJavascriptEnabled!${isEcommerce} is 0|1 @3227
  BrowserAcceptHeader/BrowserUserAgent!${isEcommerce} 2048 @3227, BrowserLanguage!${isEcommerce} /[a-z]{2,3}(-[A-Za-z]{2,4})?/ @3227
  ChallengeWindowSize!${isEcommerce} is 01|02|03|04|05 @3227, BrowserJavaEnabled!${isScripted} is 0|1 @3227
  BrowserColorDepth/BrowserScreenHeight/BrowserScreenWidth!${isScripted} digits 1-6 @3227, BrowserTZ!${isScripted} /[+-]?[0-9]{1,4}/ @3227
`;
const UNPAID = rules`${COMMON}, VendorTxCode! ${CODE}, VPSTxId! ${ID}, SecurityKey! 10`;
const ORIGINAL = rules`${UNPAID}, TxAuthNo! 50`;
const RELATED = rules`
  ${COMMON}, VendorTxCode! ${CODE}, Amount! ${AMOUNT}, ${DESCRIPTION}, RelatedVPSTxId! ${ID}, RelatedVendorTxCode! ${CODE}
  RelatedSecurityKey! 10, ApplyAVSCV2 is 0|1|2|3
`;
const PATH = "/gateway/service/";
const service = (name: string, inner: Rules, run: (call: OpayoCall) => Answer) =>
  [`POST ${PATH}${name.toLowerCase()}.vsp`, { rules: rules`${inner}, TxType! is ${name}`, run }] as const;

export const simulator = defineSimulator<State, Details>({
  body: "form",
  state: () => ({ codes: new Set(), refunds: new Map() }),
  authenticate({ fields }) {
    const vendor = textOf(fields, "Vendor");
    if (vendor === "") throw refusal("MALFORMED", "3034", "The Vendor or VendorName value is required.");
    if (!isAccepted(vendor, /^[a-z0-9]{1,15}$/))
      throw refusal("INVALID", "4000", "The VendorName is invalid or the account is not active.");
    return vendor;
  },
  reference: "VendorTxCode",
  recorded: ["AccountType", "TxType"],
  endpoints: {
    [`POST ${PATH}vspdirect-register.vsp`]: { rules: REGISTER, run: register },
    ...Object.fromEntries([
      service("RELEASE", rules`${ORIGINAL}, ReleaseAmount! ${AMOUNT}`, release),
      service("ABORT", ORIGINAL, (call) => end(call, ["authorized"], "2006 : The Abort was Successful.")),
      service("VOID", ORIGINAL, (call) => end(call, ["captured"], "2005 : The Void was Successful.")),
      service("CANCEL", UNPAID, (call) => end(call, ["verified"], "2006 : The Cancel was Successful.")),
      service("REFUND", rules`${RELATED}, ${CURRENCY}, RelatedTxAuthNo! 50`, refund),
      service("AUTHORISE", RELATED, authorise),
      service("REPEAT", rules`${RELATED}, ${CURRENCY}, RelatedTxAuthNo! 50, CV2 digits 3-4`, repeat),
      service("REMOVETOKEN", rules`${COMMON}, Token! 38`, removeToken),
    ]),
    "POST /access/access.htm": { rules: rules`XML! 20000`, authenticate: reportingVendor, run: report },
  },
  refuse: {
    malformed: () => refusal("MALFORMED", "3000", "The request cannot be read."),
    path: () => htmlNotFound(false),
    field: ({ kind, field, code }) =>
      refusal(
        kind === "missing" ? "MALFORMED" : "INVALID",
        code ?? (kind === "missing" ? "3002" : "3003"),
        `The ${field} field is ${kind === "missing" ? "required" : "invalid"}.`,
      ),
  },
});

function lines(values: Record<string, string | undefined>): Answer {
  return plain(200, `${pairs({ VPSProtocol: "4.00", ...values }, { separator: "\r\n" })}\r\n`, "text/plain");
}

function refusal(status: string, code: string, words: string): Refusal {
  return new Refusal(lines({ Status: status, StatusDetail: `${code} : ${words}` }), code);
}

function refuse(code: string, words: string): never {
  throw refusal("INVALID", code, words);
}

function newGuid(call: OpayoCall): string {
  return `{${uuidOf(call.tools.id("")).toUpperCase()}}`;
}

/** Every VendorTxCode is good once, whatever became of it. */
function takeCode(call: OpayoCall): void {
  const code = call.text("VendorTxCode");
  if (call.state.codes.has(code))
    refuse("4042", "The VendorTxCode has been used before for another transaction.  All VendorTxCodes must be unique.");
  call.state.codes.add(code);
}

function minorIn(call: OpayoCall, field: string, unit: string): number {
  const minor = minorOf(call.text(field), unit);
  return minorOf(majorOf(minor, unit), unit) === minor && Math.abs(Number(call.text(field)) - Number(majorOf(minor, unit))) < 1e-9
    ? minor
    : refuse("3003", `The ${field} field is invalid.`);
}

function checksOf(call: OpayoCall, no: No | null): Record<string, string> {
  const applied = call.maybe("ApplyAVSCV2") ?? "0";
  const check = (field: string, matched: string) =>
    applied === "2" ? "NOTCHECKED" : !call.has(field) ? "NOTPROVIDED" : call.text(field) === matched ? "MATCHED" : "NOTMATCHED";
  const [line, postcode, code] = [
    check("BillingAddress1", "88"),
    check("BillingPostCode", "412"),
    no?.[0] === "REJECTED" ? "NOTMATCHED" : check("CV2", "123"),
  ];
  const isAddress = line === "MATCHED" && postcode === "MATCHED";
  const isCode = code === "MATCHED";
  const matches = isAddress && isCode ? "ALL MATCH" : isCode ? "SECURITY CODE MATCH ONLY" : "ADDRESS MATCH ONLY";
  const summary = applied === "2" ? "DATA NOT CHECKED" : isAddress || isCode ? matches : "NO DATA MATCHES";
  return { AVSCV2: summary, AddressResult: line, PostCodeResult: postcode, CV2Result: code };
}

const typesOf = wordsBy<readonly string[]>(
  "visa VISA|DELTA|UKE, mastercard MC|MCDEBIT, amex AMEX, diners/discover DC, jcb JCB, maestro MAESTRO",
);

const faultOf = cardFaults<readonly [code: string, words: string]>(`
  number 5011|Your card number has failed our validity checks and appears to be incorrect. Please check and re-enter.
  expiry 5013|The card has expired., code 5018|The CV2 number is the wrong length.
`);

/** The card of the request or of a token, checked before the bank is asked. */
function cardIn(call: OpayoCall): Card {
  if (call.has("Token")) return call.vault.get(call.text("Token")) ?? refuse("4050", "The Token does not exist.");
  const places = { number: "CardNumber", expiry: "ExpiryDate", code: "CV2" };
  const card = call.card(places, (fault) => refusal("INVALID", ...faultOf(fault)));
  if (!typesOf(brandOf(card.number))?.includes(call.text("CardType")))
    refuse("4022", "The card type selected does not match the card number.");
  return card;
}

function register(call: OpayoCall): Answer {
  const unit = call.text("Currency");
  const [amountMinor, card] = [minorIn(call, "Amount", unit), cardIn(call)];
  const isAsked = (call.maybe("AccountType") ?? "E") === "E" && call.text("Apply3DSecure") === "1";
  if (!isAsked || call.text("CardHolder").toUpperCase() === "SUCCESSFUL")
    return take(call, card, { amountMinor, unit, secure: isAsked ? "OK" : "NOTCHECKED" });
  // The card holder would be sent to his bank; what comes after is no part of this stand-in.
  takeCode(call);
  return lines({
    Status: "3DAUTH",
    StatusDetail: "2007 : Please redirect your customer to the ACSURL to complete the 3D Transaction.",
    VPSTxId: newGuid(call),
    "3DSecureStatus": "OK",
    ACSURL: "https://acs.example/challenge",
    CReq: call.tools.id("", 40),
  });
}

function take(
  call: OpayoCall,
  card: Card,
  { amountMinor, unit, secure = "NOTCHECKED" }: { amountMinor: number; unit: string; secure?: string },
): Answer {
  const { tools } = call;
  const [id, type] = [newGuid(call), call.text("TxType")];
  const { number, month, year } = card;
  const expiry = month + year;
  const no = call.decide(ISSUER, number);
  if (no?.[0] === "ERROR") throw new Refusal(lines({ Status: "ERROR", StatusDetail: no[1] }), no[1].slice(0, 4));
  takeCode(call);
  const checks = checksOf(call, no);
  const rejected = no ?? (call.text("ApplyAVSCV2") === "1" && checks["AVSCV2"] === "NO DATA MATCHES" ? WRONG_CODE : null);
  const [status, detail, declineCode] =
    rejected ??
    (type === "AUTHENTICATE"
      ? ([secure === "OK" ? "AUTHENTICATED" : "REGISTERED", "0000 : The card details have been registered.", ""] as const)
      : (["OK", "0000 : The Authorisation was Successful.", "00"] as const));
  const isPaid = status === "OK";
  const details = {
    type,
    securityKey: tools.id("", 10).toUpperCase(),
    authNo: isPaid ? tools.digits(7) : "",
    accountType: call.maybe("AccountType") ?? "E",
    expiry,
    checks,
    status,
    authorisedMinor: 0,
  };
  const kind = type === "AUTHENTICATE" ? "token" : type === "DEFERRED" ? "authorization" : "charge";
  call.take({ id, kind, no: rejected, amountMinor, currency: unit, card: number, details });
  const token = rejected === null && call.text("CreateToken") === "1" ? newGuid(call) : undefined;
  if (token !== undefined) call.vault.keep(token, card);
  return lines({
    Status: status,
    StatusDetail: detail,
    VPSTxId: id,
    SecurityKey: details.securityKey,
    ...(isPaid && { TxAuthNo: details.authNo }),
    ...(type !== "AUTHENTICATE" && checks),
    "3DSecureStatus": secure,
    ...(type !== "AUTHENTICATE" && { DeclineCode: declineCode, ExpiryDate: expiry, BankAuthCode: isPaid ? "999777" : "" }),
    Token: token,
    ...(rejected === null && call.has("COFUsage") && { SchemeTraceID: tools.id("", 15) }),
  });
}

/** The transaction that a request names with its keys; all of them must fit. */
function original(call: OpayoCall, prefix = ""): Transact {
  const found = call.transactions.get(call.text(`${prefix}VPSTxId`));
  if (found === undefined || found.reference !== call.text(`${prefix}VendorTxCode`))
    return refuse("4041", "The transaction does not exist for this vendor.");
  if (found.details.securityKey !== call.text(`${prefix}SecurityKey`)) refuse("4041", "The SecurityKey does not match.");
  if (call.has(`${prefix}TxAuthNo`) && found.details.authNo !== call.text(`${prefix}TxAuthNo`))
    refuse("4041", "The TxAuthNo does not match.");
  return found;
}

const cardOf = ({ card: number, details: { expiry } }: Transact): Card => ({ number, month: expiry.slice(0, 2), year: expiry.slice(2) });
const done = (StatusDetail: string): Answer => lines({ Status: "OK", StatusDetail });

function release(call: OpayoCall): Answer {
  const held = original(call);
  if (!call.transactions.capture(held, minorIn(call, "ReleaseAmount", held.currency)))
    refuse("5004", "The transaction cannot be released, or not for that amount.");
  return done("2004 : The Release was Successful.");
}

function end(call: OpayoCall, from: Transact["state"][], words: string): Answer {
  if (!call.transactions.void(original(call), from)) refuse("4037", "The transaction is in no state for this.");
  return done(words);
}

function refund(call: OpayoCall): Answer {
  const paid = original(call, "Related");
  if (call.text("Currency") !== paid.currency) refuse("4008", "The Currency is not that of the original transaction.");
  const amountMinor = minorIn(call, "Amount", paid.currency);
  takeCode(call);
  const id = newGuid(call);
  const against = call.transactions.refund(paid, { id, amountMinor, from: ["captured", "settled"] });
  if (against !== null) refuse("5025", "The refund amount exceeds what is left of the original, or it was never taken.");
  const [vendortxcode, authNo] = [call.text("VendorTxCode"), call.tools.digits(7)];
  const [amount, currency] = [majorOf(amountMinor, paid.currency), paid.currency];
  const shown = { vpstxid: id, vendortxcode, transactiontype: "Refund", ...standing("captured"), amount, currency, vpsauthcode: authNo };
  call.state.refunds.set(vendortxcode, shown);
  return lines({ Status: "OK", StatusDetail: "0000 : The Authorisation was Successful.", VPSTxId: id, TxAuthNo: authNo });
}

/** Money on a registration: up to 115 % of it in all. */
function authorise(call: OpayoCall): Answer {
  const registered = original(call, "Related");
  if (registered.state !== "verified" || registered.details.type !== "AUTHENTICATE")
    refuse("4041", "The transaction is no registration that stands.");
  const amountMinor = minorIn(call, "Amount", registered.currency);
  if (registered.details.authorisedMinor + amountMinor > registered.amountMinor * AUTHORISE_SHARE)
    refuse("4044", "The Authorise amount exceeds what was registered.");
  registered.details.authorisedMinor += amountMinor;
  return take(call, cardOf(registered), { amountMinor, unit: registered.currency });
}

function repeat(call: OpayoCall): Answer {
  const paid = original(call, "Related");
  if (!["captured", "settled", "refunded"].includes(paid.state)) refuse("4041", "The transaction cannot be repeated.");
  const unit = call.text("Currency");
  const amountMinor = minorIn(call, "Amount", unit);
  return take(call, cardOf(paid), { amountMinor, unit });
}

function removeToken(call: OpayoCall): Answer {
  if (!call.vault.remove(call.text("Token"))) refuse("4050", "The Token does not exist.");
  return done("2017 : Token removed successfully.");
}

function vspaccess(code: string, members: Record<string, string> = {}): Answer {
  const told = Object.entries({ errorcode: code, ...members }).map(([name, value]) => element(name, value));
  return plain(200, `<?xml version="1.0" encoding="ISO-8859-1" ?>${element("vspaccess", told)}`, "text/xml");
}

const accessRefusal = (code: string, error: string): Refusal => new Refusal(vspaccess(code, { error }), code);

/** The vendor of a report request, whose signature is the MD5 of its members and the user's password. */
function reportingVendor({ fields }: Incoming): string {
  const root = parseXml(textOf(fields, "XML"));
  if (root === null || root.name !== "vspaccess") throw accessRefusal("0001", "The XML is invalid.");
  const member = (name: string) => root.children.find((child) => child.name === name)?.text ?? "";
  const vendor = member("vendor");
  if (!isAccepted(vendor, /^[a-z0-9]{1,15}$/)) throw accessRefusal("0006", "Unknown vendor.");
  if (member("user") !== REPORTING.user) throw accessRefusal("0008", "Unknown user.");
  const signed = root.children.filter(({ name }) => name !== "signature").map(({ name, text: value }) => element(name, value));
  const expected = hash("md5", signed.join("") + element("password", REPORTING.password));
  if (!isSame(member("signature").toLowerCase(), expected)) throw accessRefusal("0010", "The signature is invalid.");
  if (member("command") !== "getTransactionDetail") throw accessRefusal("0002", "Unknown command.");
  return vendor;
}

/** Id and words. */
const STATES = byState(`
  captured/settled/refunded 16 Successfully authorised transaction., declined 12 Transaction DECLINED by the bank (NOTAUTHED).
  voided 18 Transaction VOIDed by the Vendor.
  authorized 14 Successful DEFERRED transaction; awaiting RELEASE., verified 21 Successfully REGISTERED transaction; awaiting AUTHORISE.
`);
/** As a report shows where a transaction stands. */
const standing = (state: Transact["state"]) => ({ txstateid: STATES[state].slice(0, 2), status: STATES[state].slice(3).replace(";", ",") });

function report(call: OpayoCall): Answer {
  const root = parseXml(call.text("XML"));
  const member = (name: string) => root?.children.find((child) => child.name === name)?.text;
  const [code, id] = [member("vendortxcode"), member("vpstxid")];
  if (code === undefined && id === undefined) throw accessRefusal("0042", "Neither vendortxcode nor vpstxid was given.");
  const refunded = call.state.refunds.get(code ?? "");
  if (refunded !== undefined) return vspaccess("0000", refunded);
  const [found] = call.lookUp(code ?? null, (one) => (code ?? one.reference) === one.reference && (id ?? one.id) === one.id);
  if (found === undefined) throw accessRefusal("0043", "The transaction was not found.").unrecorded();
  const { details, currency: unit } = found;
  return vspaccess("0000", {
    vpstxid: found.id,
    vendortxcode: found.reference ?? "",
    transactiontype: `${details.type.slice(0, 1)}${details.type.slice(1).toLowerCase()}`,
    ...standing(found.state),
    amount: majorOf(found.amountMinor, unit),
    currency: unit,
    securitykey: details.securityKey,
    vpsauthcode: details.authNo,
    bankauthcode: details.authNo === "" ? "" : "999777",
    last4digits: found.card.slice(-4),
    accounttype: details.accountType,
    refunded: found.refundedMinor > 0 ? "YES" : "NO",
  });
}
