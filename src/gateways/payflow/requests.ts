import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const PLAIN = [/^[\x20-\x21\x23-\x7e]{1,64}$/, "1 to 64 printable ASCII characters without double quotes"] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://pilot-payflowpro.paypal.com", live: "https://payflowpro.paypal.com" },
  credentials: {
    vendor: kit.plainText("merchant login id, at most 64 characters, case-sensitive", { form: PLAIN }),
    user: kit.plainText("user that may use the API; the vendor again where no other user was made", { form: PLAIN }),
    partner: kit.plainText("PayPal, or the reseller's id (PayPalUK, VeriSign), case-sensitive", { form: PLAIN }),
    password: kit.secret("that user's password; he needs API transactions and reference transactions allowed in PayPal Manager", {
      form: PLAIN,
    }),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;
/** Fields in the order they are sent. */
type Fields = readonly (readonly [string, kit.Scalar | null | undefined])[];

/** Announced to the vendor; our own socket waits a little longer. */
const CLIENT_TIMEOUT_S = 45;
const TIMEOUT_MS = 50_000;

/** Steps of an attempt: a second request with a step's id is answered with the first one's result. */
type Step = "pay" | "upload" | `void${string}` | `credit${string}`;

/** The attempt's reference for inquiries: 12 characters. */
export const customerReference = ({ reference }: Pick<Subject, "reference">) => kit.shortReference(reference, 12);

const requestIdOf = ({ reference }: Subject, step: Step) => kit.shortReference(`${reference}/${step}`, 32);

/** Everything goes to one path; length tags keep what a caller says from becoming parameters. */
const post = ({ endpoint, credentials }: Settings, requestId: string, [trxType, ...fields]: [string, ...Fields]): GatewayRequest => ({
  method: "POST",
  url: `${endpoint}/`,
  headers: {
    "Content-Type": "text/namevalue",
    "X-VPS-REQUEST-ID": requestId,
    "X-VPS-CLIENT-TIMEOUT": String(CLIENT_TIMEOUT_S),
  },
  body: kit.taggedBody([
    ["TRXTYPE", trxType],
    ["TENDER", "C"],
    ["PARTNER", credentials.partner],
    ["VENDOR", credentials.vendor],
    ["USER", credentials.user],
    ["PWD", credentials.password],
    ...fields,
  ]),
  timeoutMs: TIMEOUT_MS,
});

/** ASCII, so that a length in characters is one in bytes; no double quotes, even behind a length tag. */
const plain = (text: string, limit: number) => kit.asciiText(text.replaceAll('"', "'"), limit);

function cardFields(order: Order): Fields {
  const holder = kit.holderOf(order, plain, { firstName: 30, lastName: 30 });
  const { zip } = kit.holderOf(
    order,
    (text, limit) =>
      plain(text, 20)
        .replace(/[^A-Za-z0-9]/g, "")
        .slice(0, limit),
    { zip: 9 },
  );
  return [
    ["ACCT", order.card.number],
    ["EXPDATE", kit.expiry(order.card, "MMYY")],
    ["CVV2", kit.securityCode(order.card)],
    ["BILLTOFIRSTNAME", holder.firstName],
    ["BILLTOLASTNAME", holder.lastName],
    ["BILLTOZIP", zip],
  ];
}

const references = (order: Order): Fields => [
  ["CUSTIP", kit.ipv4Of(order)],
  ["CUSTREF", customerReference(order)],
  ["COMMENT1", order.sessionId],
  ["COMMENT2", kit.optionalText(plain, order.description, 128)],
  ["VERBOSITY", "HIGH"],
];

/** Takes the money at once. */
export function sale(order: Order, settings: Settings): GatewayRequest {
  const sum: Fields = [
    ["AMT", kit.unrefused(kit.twoPlaces(order))],
    ["CURRENCY", order.currency],
  ];
  return post(settings, requestIdOf(order, "pay"), ["S", ...sum, ...cardFields(order), ...references(order)]);
}

/** Has the issuer verify the card; the answer's PNREF is the token. */
export function verify(order: Order, settings: Settings): GatewayRequest {
  const sum: Fields = [
    ["AMT", "0.00"],
    ["CURRENCY", order.currency],
    ["CARDONFILE", "CITI"],
  ];
  return post(settings, requestIdOf(order, "pay"), ["A", ...sum, ...cardFields(order), ...references(order)]);
}

/** Stores the card unseen by its issuer, for processors that verify nothing. An amount would be refused here. */
export const upload = (order: Order, settings: Settings): GatewayRequest =>
  post(settings, requestIdOf(order, "upload"), ["L", ...cardFields(order), ...references(order)]);

/** What became of the attempt, by its reference. */
export function inquire(subject: Subject, settings: Settings, requestId: string): GatewayRequest {
  const fields: Fields = [
    ["CUSTREF", customerReference(subject)],
    ["VERBOSITY", "HIGH"],
  ];
  return post(settings, requestId, ["I", ...fields]);
}

/** Takes a payment back before settlement. */
export const voidPayment = (subject: Subject, settings: Settings, pnref: string, keyEnd: string): GatewayRequest =>
  post(settings, requestIdOf(subject, `void${keyEnd}`), ["V", ["ORIGID", pnref]]);

/** Gives a settled payment back. Without an amount of its own: just what was taken, be it all or a part. */
export const credit = (subject: Subject, settings: Settings, pnref: string, keyEnd: string): GatewayRequest =>
  post(settings, requestIdOf(subject, `credit${keyEnd}`), ["C", ["ORIGID", pnref]]);
