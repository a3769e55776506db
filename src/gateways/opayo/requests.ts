import type { CardBrand } from "#src/kernel/card.ts";
import { decimalsOf } from "#src/kernel/money.ts";
import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const ascii = (limit: number) => [new RegExp(`^[\\x20-\\x7e]{1,${limit}}$`), `1 to ${limit} plain ASCII characters`] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://sandbox.opayo.eu.elavon.com", live: "https://live.opayo.eu.elavon.com" },
  credentials: {
    vendor: kit.plainText("vendor name, at most 15 letters and digits; this installation's addresses must be allowed in MyOpayo", {
      form: [/^[A-Za-z0-9]{1,15}$/, "a vendor name of at most 15 letters and digits"],
    }),
    reporting_user: kit.plainText(
      "MyOpayo user with permission to report: without one a lost answer can neither be looked up nor sent back",
      { optional: true, form: [/^[^<>&\s]{1,50}$/, "a user name: it has a blank or one of < > &"] },
    ),
    reporting_password: kit.secret("that user's password", { optional: true }),
    address1: kit.plainText("address line sent for callers, who give a ZIP alone; NA when left out", { optional: true, form: ascii(50) }),
    city: kit.plainText("city sent for them; NA when left out", { optional: true, form: ascii(40) }),
    country: kit.plainText("country sent for them, two letters; GB when left out", {
      optional: true,
      form: [/^[A-Z]{2}$/, "a country of two letters"],
    }),
    state: kit.plainText("state sent for them, two letters: compulsory with the country US, left out with any other", {
      optional: true,
      form: [/^[A-Z]{2}$/, "a state of two letters"],
    }),
    post_code: kit.plainText("postal code sent for a caller who gave none; 000 when left out", { optional: true, form: ascii(10) }),
    token_ceiling: kit.plainText(
      "amount that a stored card is registered for when the session has none; later charges may come to 115 % of it. 100.00 when left out",
      { optional: true, form: [/^[0-9]{1,5}(\.[0-9]{2})?$/, "an amount such as 100.00"] },
    ),
    three_ds_notification_url: kit.plainText(
      "ThreeDSNotificationURL of widget payments: compulsory, unused as long as no challenge can be shown",
      { optional: true, form: [/^https:\/\/[\x21-\x7e]{1,248}$/, "an https address of at most 256 characters"] },
    ),
  },
  options: {
    moto: kit.flag(true, "AccountType M for telephone payments; needs a mail and telephone order merchant number (else 3099), off: E"),
    avs_cv2_rules: kit.flag(
      false,
      "let the account's AVS/CV2 rules refuse (ApplyAVSCV2 0); off they are checked and reported only (3): most of the address is a stand-in",
    ),
    three_d_secure: kit.oneOf(
      ["off", "account"],
      "3-D Secure of widget payments: off (Apply3DSecure 2), or the account's rules (0); a challenge is refused as authentication_required",
    ),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;
/** Fields in the order they are sent. */
type Fields = readonly (readonly [string, kit.Scalar | null | undefined])[];

const PROTOCOL = "4.00";
/** The bank's leg may take long: 5996 is the vendor's own word for that. */
const TIMEOUT_MS = 60_000;

/** What a void, refund or cancellation must repeat of the registration. */
export interface Registered {
  vpsTxId: string;
  securityKey: string;
  txAuthNo: string;
}

const CARD_TYPES: Readonly<Partial<Record<CardBrand, string>>> = {
  visa: "VISA",
  mastercard: "MC",
  amex: "AMEX",
  diners: "DC",
  discover: "DC",
  jcb: "JCB",
  maestro: "MAESTRO",
};

/** In whole units. */
export const LARGEST = 100_000;

/** Two places at most, none for currencies without; null when the third place is in use. */
export const opayoAmount = (subject: Pick<Subject, "amountMinor" | "currency">): string | null =>
  kit.decimalAmount(subject, Math.min(decimalsOf(subject.currency), 2));

/** What a card is registered for: the session's sum, or the project's ceiling in whole units of the session's currency. */
export function ceilingAmount(order: Pick<Order, "amountMinor" | "currency">, { credentials }: Settings): string | null {
  const { amountMinor, currency } = order;
  const ceiling = kit.minorOfDecimal(credentials.token_ceiling?.reveal() ?? "100.00", currency);
  if (amountMinor > 0) return opayoAmount(order);
  return ceiling === null ? null : opayoAmount({ amountMinor: ceiling, currency });
}

/** The vendor's name for the card's brand; undefined for brands that it does not take. */
export const cardType = (order: Order) => kit.brandName(order.card, CARD_TYPES);

const post = ({ endpoint }: Settings, path: string, fields: Fields) => kit.postForm(`${endpoint}${path}`, fields, {}, TIMEOUT_MS);

const head = (settings: Settings, txType: string, vendorTxCode: string): Fields => [
  ["VPSProtocol", PROTOCOL],
  ["TxType", txType],
  ["Vendor", settings.credentials.vendor],
  ["VendorTxCode", vendorTxCode],
];

const description = ({ description: text }: Order) => kit.optionalText(kit.asciiText, text, 100) ?? "Payment";

/** Latin letters as the vendor has them in names. */
const lettersOf = (text: string, limit: number) =>
  kit
    .asciiText(text, 255)
    .replace(/[^A-Za-z &'./\\-]/g, "")
    .trim()
    .slice(0, limit)
    .trim();

/** Two letters at least. */
function cardHolder({ card }: Order): string {
  const name = lettersOf(card.cardholderName ?? "", 45);
  return name.length < 2 ? "Card Holder" : name;
}

/** Name and address are compulsory here, of the payer and of the delivery alike; what is not known has the project's stand-ins. */
function addresses(order: Order, { credentials }: Settings): Fields {
  const holder = kit.holderOf(order, lettersOf, { firstName: 20, lastName: 20 });
  const { zip } = kit.holderOf(order, kit.asciiText, { zip: 10 });
  const fields = [
    ["Surname", holder.lastName ?? "Holder"],
    ["Firstnames", holder.firstName ?? "Card"],
    ["Address1", credentials.address1 ?? "NA"],
    ["City", credentials.city ?? "NA"],
    ["PostCode", zip ?? credentials.post_code ?? "000"],
    ["Country", credentials.country ?? "GB"],
    ["State", credentials.country?.reveal() === "US" ? credentials.state : undefined],
  ] as const;
  return ["Billing", "Delivery"].flatMap((kind) => fields.map(([name, value]) => [`${kind}${name}`, value] as const));
}

/** AccountType M. */
export const isTelephoneOrder = (order: Order, { options }: Settings): boolean => order.channel === "voice" && options.moto;

/** Telephone orders are outside 3-D Secure; the widget must name a browser even when none is asked to do anything. */
function channel(order: Order, settings: Settings, egressIp: string | null): Fields {
  const { avs_cv2_rules: rules, three_d_secure: secure } = settings.options;
  const checks: Fields = [["ApplyAVSCV2", rules ? 0 : 3]];
  if (isTelephoneOrder(order, settings)) return [["AccountType", "M"], ["Apply3DSecure", 2], ...checks];
  return [
    ["AccountType", "E"],
    ["Apply3DSecure", secure === "account" ? 0 : 2],
    ...checks,
    // Compulsory here and IPv4 alone: a shopper on IPv6, or a caller, goes by this installation's address where that is known.
    ["ClientIPAddress", kit.ipv4Of(order) ?? kit.ipv4Of({ ...order, customerIp: egressIp })],
    ["ThreeDSNotificationURL", settings.credentials.three_ds_notification_url ?? "https://unused.invalid/3ds"],
    ["BrowserJavascriptEnabled", 0],
    ["BrowserAcceptHeader", "*/*"],
    ["BrowserLanguage", "en-GB"],
    ["BrowserUserAgent", "Mozilla/5.0"],
    ["ChallengeWindowSize", "05"],
  ];
}

/** Takes the money at once (PAYMENT), or registers the card for later AUTHORISEs without asking the bank (AUTHENTICATE). */
export function register(
  order: Order,
  settings: Settings,
  { amount, type, egressIp }: { amount: string; type: string; egressIp: string | null },
): GatewayRequest {
  const { card } = order;
  const isStored = order.mode === "tokenize";
  return post(settings, "/gateway/service/vspdirect-register.vsp", [
    ...head(settings, isStored ? "AUTHENTICATE" : "PAYMENT", order.reference),
    ["Amount", amount],
    ["Currency", order.currency],
    ["Description", description(order)],
    ["CardHolder", cardHolder(order)],
    ["CardNumber", card.number],
    ["ExpiryDate", kit.expiry(card, "MMYY")],
    ["CV2", kit.securityCode(card)],
    ["CardType", type],
    ...addresses(order, settings),
    ...channel(order, settings, egressIp),
    ...(isStored
      ? ([
          ["COFUsage", "FIRST"],
          ["InitiatedType", "CIT"],
          ["MITType", "UNSCHEDULED"],
        ] as const)
      : []),
  ]);
}

/** Reporting API: what became of a VendorTxCode of ours. Signed with MD5, as the vendor asks. Null without a reporting user. */
export function transactionDetail(vendorTxCode: string, settings: Settings): GatewayRequest | null {
  const { vendor, reporting_user: user, reporting_password: password } = settings.credentials;
  if (!user || !password) return null;
  const asked =
    `<command>getTransactionDetail</command><vendor>${vendor.reveal()}</vendor><user>${user.reveal()}</user>` +
    `<vendortxcode>${vendorTxCode}</vendortxcode>`;
  const signature = kit.hash("md5", [asked, "<password>", password, "</password>"], "hex");
  return post(settings, "/access/access.htm", [["XML", `<vspaccess>${asked}<signature>${signature}</signature></vspaccess>`]]);
}

/** Takes a payment back on its day, or a registration before it was used. */
export function takeBack(subject: Subject, settings: Settings, { vpsTxId, securityKey, txAuthNo }: Registered): GatewayRequest {
  const txType = subject.mode === "charge" ? "VOID" : "CANCEL";
  return post(settings, `/gateway/service/${txType.toLowerCase()}.vsp`, [
    ...head(settings, txType, subject.reference),
    ["VPSTxId", vpsTxId],
    ["SecurityKey", securityKey],
    ["TxAuthNo", subject.mode === "charge" ? txAuthNo : undefined],
  ]);
}

/**
 * The refund's own, the same until it is seen refused: a second refund is refused, and the first is found by it when its answer was
 * lost.
 */
export const refundCode = ({ reference, notes }: kit.Noted<Pick<Subject, "reference">>) =>
  `refund-${kit.shortReference(reference + kit.keyEnd(notes), 24)}`;

/** Gives a settled payment back. */
export const refund = (subject: kit.Noted<Subject>, settings: Settings, { vpsTxId, securityKey, txAuthNo }: Registered): GatewayRequest =>
  post(settings, "/gateway/service/refund.vsp", [
    ...head(settings, "REFUND", refundCode(subject)),
    ["Amount", opayoAmount(subject)],
    ["Currency", subject.currency],
    ["Description", "Reversal"],
    ["RelatedVPSTxId", vpsTxId],
    ["RelatedVendorTxCode", subject.reference],
    ["RelatedSecurityKey", securityKey],
    ["RelatedTxAuthNo", txAuthNo],
  ]);

/** What is wrong with the settings beyond their forms, or null. */
export function settingsFault({ credentials }: Settings): string | null {
  const { reporting_user: user, reporting_password: password, country, state } = credentials;
  if ((user === undefined) !== (password === undefined)) return "reporting_user and reporting_password go together";
  return country?.reveal() === "US" && state === undefined ? "state is missing: Opayo wants one with the country US" : null;
}
