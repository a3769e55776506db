import { basicUser, brandOf, byState, defineSimulator, isAccepted, isCardNumber, issuer, json, mask, plain } from "../kit/index.ts";
import { READERS, Refusal, refuseWith, rule, rules, spacedTime, state2, table, textOf, wordsBy } from "../kit/index.ts";
import type { Answer, Call, Fields, Reader, Rules, Transaction } from "../kit/index.ts";

/**
 * Trust Payments' Webservices API (STPP, JSON version 1.00): one path, HTTP Basic and the same user as `alias`; whatever was processed has status
 * 200, the code stands in `errorcode`. Every value is a string. Nothing is replayed and no duplicate is refused. An `orderreference` of more than
 * the recommended 25 characters is refused, since an acquirer may cut it. Not simulated: several types or requests in one envelope, 3-D Secure.
 */

/** Sites named so take one account type alone. */
const ONLY = /_(moto|ecom)$/;
const REVERSAL_MS = 48 * 3600_000;

const MESSAGES = table(
  "0 Ok, 10103 Invalid payment type, 10205 Malformed JSON, " +
    "20005 Parent transaction has not been settled, 20013 Parent transaction has not been cancelled, 20025 Reversal is too late, " +
    "30000 Invalid field, 30001 Invalid site, 30004 Maestro must use 3-D Secure, 30008 Invalid user, " +
    "31007 Payment type does not match the card, 60010 Bank System Error, 60017 Transaction not updatable, 60018 Invalid requesttype, 60019 No filter, " +
    "60028 Account type is not enabled, 60040 Use requesttypedescriptions alone, 70000 Decline, 79001 Processing error",
);

/** Error code and the acquirer's own. */
type No = readonly [errorcode: string, acquirer?: string];
const ISSUER = issuer<No>(`
  card_declined 70000|12, insufficient_funds 70000|51, expired_card 70000|54, incorrect_cvc 70000|82, processing_error 79001
  lost_or_stolen 70000|41, 4000000000000812 70000|05
`);
const AMOUNTS: Readonly<Record<string, No>> = { "70000": ["70000", "05"], "60010": ["60010"] };
/** What an address, a postal code or a security code matches: 0 not given, 1 not checked, 2 matched, 4 not matched. */
const CHECKS: Readonly<Record<string, string>> = { "No 789": "2", "No 123": "4", "TR45 6ST": "2", 55555: "2", "TR12 3ST": "4", 12345: "4" };
const CODES = table("214 4, 2144 4, 333 1, 3333 1");
const BRANDS = ["visa", "mastercard", "amex", "discover", "diners", "jcb", "maestro"];
const typeOf = (number: string): string | undefined => BRANDS.find((brand) => brand === brandOf(number))?.toUpperCase();
/** Payment types that a merchant may name for a brand. */
const NAMES = "visa VISA|DELTA|ELECTRON|PURCHASING|VPAY, mastercard MASTERCARD|MASTERCARDDEBIT|PURCHASING";
const namesOf = wordsBy<readonly (string | undefined)[]>(NAMES);
const PAYMENT_TYPES = [...BRANDS.map((brand) => brand.toUpperCase()), ...table(NAMES).values()].join("|");

type Members = Readonly<Record<string, string>>;
interface Details {
  site: string;
  /** May be charged again by its reference. */
  isStored: boolean;
  /** As sent: 0 automatic, 1 manual override. */
  settlestatus: string;
  members: Members;
  /** As a query shows them. */
  refunds: Members[];
}
type TrustCall = Call<object, Details>;
type Payment = Transaction<Details>;

/** The one request of the envelope, whose members stand for themselves. */
const BODY: Reader = {
  types: READERS.json.types,
  read(bytes) {
    const fields = READERS.json.read(bytes);
    return fields && new Map([...fields].map(([name, value]) => [name.replace("request[0].", ""), value]));
  },
};
const hasParent = (fields: Fields): boolean => fields.has("parenttransactionreference");
const isTyped = (fields: Fields): boolean => !hasParent(fields);
const isUndated = (fields: Fields): boolean => !hasParent(fields) && !fields.has("expirymonth");
const hasMonth = (fields: Fields): boolean => fields.has("expirymonth");
const isRecurring = (fields: Fields): boolean => textOf(fields, "accounttypedescription") === "RECUR";
const isBadState = (fields: Fields): boolean =>
  textOf(fields, "billingcountryiso2a") === "US" && state2.check(textOf(fields, "billingcounty")) !== null;
const PAN = rule((value) => (typeof value === "string" && isCardNumber(value) ? null : ["value", "must be a card number"]));
const REFERENCE = String.raw`/\d+-\d+-\d+/ 0-25`;
const COMMON = rules`requesttypedescriptions[*] 32, sitereference! [A-Za-z0-9_] 1-50, requestreference 64`;
const FOLLOWING = rules`${COMMON}, parenttransactionreference! ${REFERENCE}`;
const PAYMENT = rules`
  ${COMMON}, accounttypedescription! is MOTO|ECOM|RECUR, currencyiso3a! currency, baseamount! digits 1-13, orderreference 25
  expirydate!${isUndated} /(0[1-9]|1[0-2])\/20\d{2}/, expirymonth~${hasParent} month, expiryyear!${hasMonth} year4
  paymenttypedescription is ${PAYMENT_TYPES} @10103, billingpostcode 25, billingcountryiso2a country2, billingemail email
  billingpremise/billingstreet/billingtown/billingfirstname/billinglastname 127, customerip ip, settlestatus is 0|1|2
  credentialsonfile!${hasParent} is 0|1|2, parenttransactionreference ${REFERENCE}, initiationreason [A-Z] 1
  subscriptiontype!${isRecurring} is RECURRING|INSTALLMENT, subscriptionnumber!${isRecurring} digits 1-5
  merchantname/customfield1/customfield2/customfield3/customfield4/customfield5 255, customerlastname 127
  customeraccountnumber/customeraccountnumbertype/customerdob 10, customerpostcode 25
  pan=${isTyped} ${PAN}, securitycode~${hasParent} digits 3-4, billingcounty~${isBadState} 127
`;
const FILTER = rules`
  requesttypedescriptions[*] 32, requestreference 64
  filter: sitereference[*].value/transactionreference[*].value 50
`;
const QUERY = rules`${FILTER}, filter.orderreference[*].value 50`;
const UPDATE = rules`${FILTER}, updates.settlestatus! is 0|1|2|3`;
const enveloped = (inner: Rules): Rules => rules`alias! 255, version! is 1.00, ${inner}`;

export const simulator = defineSimulator<object, Details>({
  body: BODY,
  operationOf: (fields) => textOf(fields, "requesttypedescriptions[0]") || undefined,
  authenticate(request) {
    const user = basicUser(request, { password: /^.{8}/ }) ?? refuseWith(page(401, "401 Unauthorized"));
    const alias = textOf(request.fields, "alias");
    if (alias !== "" && alias !== user) throw refusal("30008", "alias");
    if (request.fields.has("requesttypedescription")) throw refusal("60040", "requesttypedescription");
    const isSeveral = [...request.fields.keys()].some((name) => /^request\[1\]|\.requesttypedescriptions\[1\]$/.test(name));
    if (isSeveral) throw refusal("60018", "BADREQUEST");
    return user;
  },
  reference: "orderreference",
  recorded: ["sitereference", "accounttypedescription", "credentialsonfile"],
  endpoints: {
    "POST /json/ AUTH": { rules: enveloped(PAYMENT), run: (call) => pay(call, "AUTH") },
    "POST /json/ ACCOUNTCHECK": { rules: enveloped(PAYMENT), run: (call) => pay(call, "ACCOUNTCHECK") },
    "POST /json/ TRANSACTIONQUERY": { rules: enveloped(QUERY), run: query },
    "POST /json/ TRANSACTIONUPDATE": { rules: enveloped(UPDATE), run: update },
    "POST /json/ REFUND": { rules: enveloped(rules`${FOLLOWING}, baseamount digits 1-13, orderreference 25`), run: refund },
    "POST /json/ REVERSAL": { rules: enveloped(FOLLOWING), run: reverse },
  },
  refuse: {
    malformed: (_request, isOtherType) => (isOtherType ? page(400, "Bad Request") : refusal("10205")),
    path: (_request, isKnown) => (isKnown ? refusal("60018", "BADREQUEST") : page(404, "Not Found")),
    field: ({ field, code = "30000" }) => refusal(code, field),
  },
});

const page = (status: number, words: string): Refusal =>
  new Refusal(plain(status, `<html><body><h1>${words}</h1></body></html>`, "text/html"), String(status));

/** Refused before the acquirer was asked: no reference is given. */
function refusal(errorcode: string, field?: string): Refusal {
  const error = { errorcode, errormessage: MESSAGES.get(errorcode), ...(field && { errordata: [field] }) };
  const told = { requesttypedescription: "ERROR", transactionstartedtimestamp: spacedTime(Date.now()) };
  return new Refusal(envelope({ ...error, ...told }), errorcode);
}

function envelope(response: object): Answer {
  return json(200, { requestreference: "W42-afw1kgbu", version: "1.00", response: [response], secrand: "T" });
}

/** Of the same site, or refused. */
function parentOf(call: TrustCall, name: string, reference: string, site: string): Payment {
  const one = call.transactions.get(reference);
  if (one === undefined || one.details.site !== site) throw refusal("30000", name);
  return one;
}

/** The card as sent, or that of an earlier payment which stored it. */
function cardIn(call: TrustCall, site: string): string {
  const parent = call.text("parenttransactionreference");
  if (parent !== "") {
    const one = parentOf(call, "parenttransactionreference", parent, site);
    if (!one.details.isStored) throw refusal("30000", "parenttransactionreference");
    if (call.text("credentialsonfile") !== "2") throw refusal("30000", "credentialsonfile");
    return one.card;
  }
  const expiry = call.has("expirydate") ? { expiry: "expirydate" } : { month: "expirymonth", year: "expiryyear" };
  const fieldOf = { number: "pan", expiry: "expirydate", code: "securitycode" };
  const places = { number: "pan", ...expiry, code: "securitycode" };
  const { number } = call.card(places, (fault) => refusal("30000", fieldOf[fault]));
  const type = call.text("paymenttypedescription");
  if (type !== "" && !(namesOf(brandOf(number)) ?? [typeOf(number)]).includes(type)) throw refusal("31007", "paymenttypedescription");
  return number;
}

/** What every answer about a payment says alike. */
const FIXED = Object.fromEntries(
  table(
    "issuer SecureTrading Test Issuer1, dccenabled 0, tid 27882788, merchantnumber 00000000, merchantname Test Merchant, merchantcountryiso2a GB",
  ),
);

function pay(call: TrustCall, type: "AUTH" | "ACCOUNTCHECK"): Answer {
  const { tools } = call;
  const [site, account, baseamount] = [call.text("sitereference"), call.text("accounttypedescription"), call.text("baseamount")];
  if (!isAccepted(site)) throw refusal("30001", "sitereference");
  if ((ONLY.exec(site)?.[1]?.toUpperCase() ?? account) !== account) throw refusal("60028", "accounttypedescription");
  if (type === "AUTH" && Number(baseamount) === 0) throw refusal("30000", "baseamount");
  const number = cardIn(call, site);
  if (brandOf(number) === "maestro" && account === "ECOM") throw refusal("30004");
  // Test data is declined on a live site.
  const no = call.decide(ISSUER, number) ?? AMOUNTS[baseamount] ?? (site.startsWith("test_") ? null : (["70000", "05"] as const));
  const [errorcode, acquirer] = no ?? ["0", "00"];
  const isCodeWrong = acquirer === "82";
  const code = call.text("securitycode");
  const checks = {
    securityresponsesecuritycode: isCodeWrong ? "4" : code === "" ? "0" : (CODES.get(code) ?? "2"),
    securityresponseaddress: checkOf(call.text("billingpremise")),
    securityresponsepostcode: checkOf(call.text("billingpostcode")),
  };
  // The issuer has approved the account itself where its code alone is wrong.
  const isCheckOfCode = type === "ACCOUNTCHECK" && isCodeWrong;
  const isDoubted = checks.securityresponsesecuritycode === "4" || checks.securityresponsepostcode === "4";
  const settlestatus = no !== null && !isCheckOfCode ? "3" : type === "AUTH" && isDoubted ? "2" : call.text("settlestatus") || "0";
  const reference = `57-9-${tools.digits(6)}`;
  const members: Members = {
    transactionstartedtimestamp: spacedTime(tools.now()),
    livestatus: site.startsWith("test_") ? "0" : "1",
    settleduedate: spacedTime(tools.now()).slice(0, 10),
    errorcode: isCheckOfCode ? "0" : errorcode,
    errormessage: MESSAGES.get(isCheckOfCode ? "0" : errorcode) ?? "",
    ...FIXED,
    transactionreference: reference,
    paymenttypedescription: typeOf(number) ?? "VISA",
    ...call.given("orderreference", "baseamount", "currencyiso3a", "accounttypedescription"),
    ...(acquirer !== undefined && { acquirerresponsecode: isCheckOfCode ? "00" : acquirer }),
    requesttypedescription: type,
    authcode: no === null || isCheckOfCode ? `TEST${tools.digits(2)}` : "DECLINED",
    operatorname: call.accountName,
    maskedpan: mask(number, "#", 6),
    settlestatus,
    ...checks,
  };
  const isApproved = no === null && !(type === "ACCOUNTCHECK" && checks.securityresponsesecuritycode === "4");
  const kind = type === "ACCOUNTCHECK" ? "token" : settlestatus === "2" ? "authorization" : "charge";
  const amount = type === "AUTH" ? { amountMinor: Number(baseamount), currency: call.text("currencyiso3a") } : {};
  const isStored = isApproved && call.text("credentialsonfile") === "1";
  call.take({ id: reference, kind, isApproved, ...amount, card: number, details: { site, isStored, settlestatus, members, refunds: [] } });
  return envelope(members);
}

const checkOf = (value: string): string => (value === "" ? "0" : (CHECKS[value] ?? "1"));

/** A payment that waits for its settlement has the status that it was given. */
const STATUS = byState("declined/voided 3, authorized 2, settled/refunded 100, captured/verified given");

const shown = ({ state, details: { members, settlestatus } }: Payment): object => {
  const isGiven = STATUS[state] === "given" || (state === "declined" && members["errorcode"] === "0");
  return { ...members, settlestatus: isGiven ? settlestatus : STATUS[state], interface: "PASS-JSON-JSON" };
};

/** All values of one member of the filter; none where it is not filtered by. */
const filtered = (call: TrustCall, name: string): string[] => Object.values(call.under(`filter.${name}[`, "].value"));

function query(call: TrustCall): Answer {
  const [sites, orders, references] = ["sitereference", "orderreference", "transactionreference"].map((name) => filtered(call, name));
  if (!sites?.length || (!orders?.length && !references?.length)) throw refusal("60019");
  const isMeant = ({ id, reference, details }: Payment) =>
    sites.includes(details.site) &&
    (!orders?.length || orders.includes(reference ?? "")) &&
    (!references?.length || references.includes(id));
  // A refund is shown under its own order.
  const isOrdered = ({ orderreference = "" }: Members) => orders?.includes(orderreference);
  const records = call.lookUp(orders?.[0] ?? null, isMeant).flatMap((one) => [shown(one), ...one.details.refunds.filter(isOrdered)]);
  return envelope({ ...done("TRANSACTIONQUERY", call), found: String(records.length), records });
}

const done = (requesttypedescription: string, { tools }: TrustCall): Members => {
  const transactionstartedtimestamp = spacedTime(tools.now());
  return { requesttypedescription, errorcode: "0", errormessage: "Ok", transactionstartedtimestamp };
};

/** Suspends, lets settle, or cancels a payment that is not settled yet. */
function update(call: TrustCall): Answer {
  const [[site = ""], [reference = ""]] = [filtered(call, "sitereference"), filtered(call, "transactionreference")];
  if (site === "" || reference === "") throw refusal("60019");
  const one = parentOf(call, "transactionreference", reference, site);
  const wanted = call.text("updates.settlestatus");
  const isDone =
    wanted === "3"
      ? call.transactions.void(one)
      : wanted === "2"
        ? one.state === "authorized"
        : one.state === "captured" || call.transactions.capture(one);
  if (!isDone) throw refusal("60017", "settlestatus");
  if (wanted !== "3") one.details.settlestatus = wanted;
  return envelope(done("TRANSACTIONUPDATE", call));
}

/** Every payment here is due on its own day, so that one which is not settled yet can be refunded too. */
function refund(call: TrustCall): Answer {
  const one = parentOf(call, "parenttransactionreference", call.text("parenttransactionreference"), call.text("sitereference"));
  const id = `57-9-${call.tools.digits(6)}`;
  const amountMinor = call.maybeNumber("baseamount");
  const against = call.transactions.refund(one, { id, from: ["captured", "settled"], amountMinor });
  if (against !== null) throw against === "state" ? refusal("20005") : refusal("30000", "baseamount");
  const members = { ...done("REFUND", call), transactionreference: id, parenttransactionreference: one.id, settlestatus: "0" };
  const sum = { baseamount: String(amountMinor ?? one.amountMinor), orderreference: call.text("orderreference") };
  one.details.refunds.push({ ...members, ...sum });
  return envelope(members);
}

/** Tells the issuer that a cancelled payment will not come. */
function reverse(call: TrustCall): Answer {
  const one = parentOf(call, "parenttransactionreference", call.text("parenttransactionreference"), call.text("sitereference"));
  if (one.state !== "voided") throw refusal("20013");
  if (call.tools.now() - one.at > REVERSAL_MS) throw refusal("20025");
  return envelope({ ...done("REVERSAL", call), parenttransactionreference: one.id });
}
