import { currencyNumber } from "#src/kernel/money.ts";
import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://api-test.qualpay.com", live: "https://api.qualpay.com" },
  credentials: {
    merchant_id: kit.plainText("merchant id, a number of up to 12 digits", {
      wholeNumber: true,
      form: [/^[1-9][0-9]{0,11}$/, "a whole number of up to 12 digits"],
    }),
    security_key: kit.secret("API security key, with the permissions Payment Gateway and Reporting", {
      form: [/^[A-Za-z0-9_-]{8,128}$/, "a security key of letters and digits"],
    }),
    loc_id: kit.plainText("location, up to 4 digits", { optional: true, form: [/^[0-9]{1,4}$/, "up to 4 digits"] }),
    profile_id: kit.plainText("payment profile, 20 digits, where the merchant has several", {
      optional: true,
      form: [/^[0-9]{20}$/, "20 digits"],
    }),
  },
  options: {
    verify: kit.flag(true, "have the issuer asked before a card is stored; off where the processor profile has no verification"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** The gateway itself gives up on an issuer before that. */
const TIMEOUT_MS = 65_000;
const REPORT_TIMEOUT_MS = 20_000;
/** Within these a sale on the same card is refused, whatever window the merchant's portal has. */
const DUPLICATE_SECONDS = 300;
/** Rows of a report's page, the most that the vendor gives. */
export const PAGE = 100;

/** Major units with two decimals, twelve digits in all; null when the amount has no room in that. */
export function qualpayAmount(subject: Pick<Subject, "amountMinor" | "currency">): string | null {
  const amount = kit.decimalAmount(subject, 2);
  return amount === null || amount.length > 13 ? null : amount;
}

const authorization = ({ credentials }: Settings) => ({ Authorization: kit.basicAuth(credentials.security_key) });
const merchantId = ({ credentials }: Settings) => kit.jsonNumber(credentials.merchant_id.reveal());
const post = (settings: Settings, path: string, body: Readonly<Record<string, kit.JsonBody | undefined>>): GatewayRequest =>
  kit.postJson(`${settings.endpoint}/pg/${path}`, { merchant_id: merchantId(settings), ...body }, authorization(settings), TIMEOUT_MS);

/** Our reference, which the report is searched for, and the description behind a blank. */
export const merchRefNum = ({ reference, description }: Pick<Order, "reference" | "description">): string =>
  kit.asciiText(`${reference} ${description ?? ""}`, 128);

/** The card in the members that each call knows; the vendor takes letters and digits of a ZIP code alone. */
const card = ({ card }: Order) => ({
  card_number: card.number,
  exp_date: kit.expiry(card, "MMYY"),
  cvv2: kit.securityCode(card),
  cardholder_name: kit.optionalText(kit.asciiText, card.cardholderName, 64),
  avs_zip: card.postalCode?.replace(/[^A-Za-z0-9]+/g, "").slice(0, 9) || undefined,
});

/** Where a card is stored, the vendor takes digits of a ZIP code alone. */
function storedCard(order: Order) {
  const { avs_zip, ...rest } = card(order);
  return { ...rest, avs_zip: avs_zip && /^\d+$/.test(avs_zip) ? avs_zip : undefined };
}

const placeOf = ({ credentials: { loc_id, profile_id } }: Settings) => ({ loc_id: loc_id?.reveal(), profile_id: profile_id?.reveal() });

/** One-time telephone order, or e-commerce. */
const channelOf = ({ channel }: Order) => ({ moto_ecomm_ind: channel === "voice" ? "1" : "7" });

/** Takes the money at once. */
export const sale = (order: Order, settings: Settings, amount: string): GatewayRequest =>
  post(settings, "sale", {
    developer_id: "Voicetill",
    amt_tran: kit.jsonNumber(amount),
    // As a JSON number it has no leading zeros.
    tran_currency: Number(currencyNumber(order.currency)),
    ...card(order),
    ...channelOf(order),
    purchase_id: kit.shortReference(order.reference, 25),
    merch_ref_num: merchRefNum(order),
    client_ip: kit.ipv4Of(order),
    duplicate_seconds: DUPLICATE_SECONDS,
    ...placeOf(settings),
  });

/** Has the issuer verify the card by an amount of nothing, and stores it when he says yes. */
export const verify = (order: Order, settings: Settings): GatewayRequest =>
  post(settings, "verify", {
    ...storedCard(order),
    ...channelOf(order),
    tokenize: true,
    merch_ref_num: merchRefNum(order),
    ...placeOf(settings),
  });

/** Stores the card; its form is checked, and no issuer is asked. */
export const store = (order: Order, settings: Settings): GatewayRequest =>
  post(settings, "tokenize", { ...storedCard(order), ...placeOf(settings) });

/** Until the batch closes. */
export const voidSale = (settings: Settings, pgId: string): GatewayRequest => post(settings, `void/${pgId}`, placeOf(settings));

/** Afterwards. */
export const refund = (settings: Settings, pgId: string, amount: string): GatewayRequest =>
  post(settings, `refund/${pgId}`, { amt_tran: kit.jsonNumber(amount), ...placeOf(settings) });

/** A page of the newest requests: filters are not documented well enough to rely on one. */
export const report = (settings: Settings, page: number): GatewayRequest =>
  kit.listed(
    kit.get(
      `${settings.endpoint}/platform/reporting/transaction-requests?count=${PAGE}&order_on=tran_time&order_by=desc&page=${page}`,
      authorization(settings),
      REPORT_TIMEOUT_MS,
    ),
  );
