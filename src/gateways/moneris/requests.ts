import type { AttemptTrace, GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://mpg1t.moneris.io", live: "https://mpg1.moneris.io" },
  credentials: {
    store_id: kit.plainText("store id, such as monca12345", {
      form: [/^[A-Za-z0-9]{1,20}$/, "a store id: letters and digits, at most 20"],
    }),
    api_token: kit.secret("API token of that store, Admin > Store Settings", {
      form: [/^[A-Za-z0-9]{1,64}$/, "an API token: it has letters and digits only"],
    }),
    currency: kit.plainText("the one currency that the store settles in, CAD or USD: requests do not name it", {
      form: [/^(CAD|USD)$/, "CAD or USD"],
    }),
    base_url: kit.BASE_URL,
  },
  options: {
    avs_enabled: kit.flag(true, "the store has address verification: the postal code is sent"),
    cvd_enabled: kit.flag(true, "the store has card validation digits: the security code is sent"),
    moto: kit.flag(true, "telephone payments go as crypt_type 1, mail or telephone order; off: 7, as those of the widget"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** The vendor's own libraries wait 35 s for the whole call. */
const TIMEOUT_MS = 40_000;
const LONGEST_NOTE = 30;

/** The store's own currency, and no amount beyond seven places: else the sum that would be charged is another. */
export const amountOf = (subject: Pick<Subject, "amountMinor" | "currency">, { credentials }: Settings): string | null =>
  subject.currency === credentials.currency.reveal() && subject.amountMinor <= 999_999_999 ? kit.decimalAmount(subject, 2) : null;

/** Elements in the order that the vendor's own libraries write them. */
const elements = (texts: Readonly<Record<string, kit.Scalar | null | undefined>>): kit.XmlNode[] => Object.entries(texts);

/** One transaction; `isCheck` asks what became of the same one, and does nothing else. */
function request({ endpoint, credentials }: Settings, transaction: kit.XmlNode, isCheck = false): GatewayRequest {
  const root: kit.XmlNode = [
    "request",
    [["store_id", credentials.store_id], ["api_token", credentials.api_token], isCheck ? ["status_check", "true"] : null, transaction],
  ];
  return kit.postXml(`${endpoint}/gateway2/servlet/MpgRequest`, root, {}, TIMEOUT_MS);
}

/** Text without the characters that the vendor asks to keep out of customer ids: what it does with them in other texts it does not say. */
const plainText = (text: string, limit: number) => kit.asciiText(kit.asciiText(text, Infinity).replace(/[<>$%=?^{}[\]\\]+/g, " "), limit);

const customer = ({ sessionId }: Pick<Subject, "sessionId">): string => sessionId.replaceAll("-", "");

/** The expiry is YYMM here. Type 1 is a single mail or telephone order, 7 e-commerce over TLS. */
const card = (order: Order, settings: Settings) => ({
  pan: order.card.number,
  expdate: kit.expiry(order.card, "YYMM"),
  crypt_type: kit.isMoto(order, settings) ? 1 : 7,
});

/** A postal code alone, with an empty street. */
function address({ card: { postalCode } }: Order, { options }: Settings): kit.XmlNode | null {
  const zip = postalCode?.replace(/[^A-Za-z0-9]/g, "").slice(0, 9);
  if (!options.avs_enabled || !zip) return null;
  return ["avs_info", elements({ avs_street_number: "", avs_street_name: "", avs_zipcode: zip })];
}

function code({ card: cells }: Order, { options }: Settings): kit.XmlNode | null {
  const cvd_value = kit.securityCode(cells);
  return options.cvd_enabled && cvd_value ? ["cvd_info", elements({ cvd_indicator: 1, cvd_value })] : null;
}

/** Takes the money at once, or asks what became of the same request. An order id is taken once in a store's life. */
export function purchase(order: Order, settings: Settings, amount: string, isCheck: boolean): GatewayRequest {
  const fields = elements({
    order_id: order.reference,
    cust_id: customer(order),
    amount,
    ...card(order, settings),
    dynamic_descriptor: kit.optionalText(plainText, order.description, 20),
  });
  return request(settings, ["purchase", [...fields, address(order, settings), code(order, settings)]], isCheck);
}

/** Has the issuer verify the card for no money, as the first use of one that is to be stored. */
export function verify(order: Order, settings: Settings, isCheck: boolean): GatewayRequest {
  const fields = elements({ order_id: order.reference, cust_id: customer(order), ...card(order, settings) });
  const first: kit.XmlNode = ["cof_info", elements({ issuer_id: "", payment_indicator: "C", payment_information: 0 })];
  return request(settings, ["card_verification", [...fields, address(order, settings), code(order, settings), first]], isCheck);
}

/** Puts the card into the vault, with the id that its verification gave. The security code is never stored. */
export function store(order: Order, settings: Settings, issuer_id: string | undefined): GatewayRequest {
  const note = plainText(order.description ?? "", LONGEST_NOTE);
  const fields = elements({ cust_id: customer(order), phone: "", email: "", note, ...card(order, settings) });
  const first: kit.XmlNode | null = issuer_id === undefined ? null : ["cof_info", elements({ issuer_id })];
  return request(settings, ["res_add_cc", [...fields, address(order, settings), first]]);
}

/** Takes a purchase back before its batch closes, or asks what became of the same request. */
export const correct = ({ reference }: AttemptTrace, settings: Settings, txn_number: string, isCheck = false): GatewayRequest =>
  request(settings, ["purchasecorrection", elements({ order_id: reference, txn_number, crypt_type: 7 })], isCheck);

/** Gives it back afterwards. */
export const refund = (attempt: AttemptTrace, settings: Settings, txn_number: string): GatewayRequest =>
  request(settings, ["refund", elements({ order_id: attempt.reference, amount: amountOf(attempt, settings), txn_number, crypt_type: 7 })]);

/** Takes a stored card out of the vault. */
export const remove = (settings: Settings, data_key: string): GatewayRequest => request(settings, ["res_delete", elements({ data_key })]);
