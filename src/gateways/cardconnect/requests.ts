import { holdsLuhn } from "#src/kernel/card.ts";
import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://{site}-uat.cardconnect.com", live: "https://{site}.cardconnect.com" },
  credentials: {
    merchant_id: kit.plainText("merchant id (MID), digits", {
      wholeNumber: true,
      form: [/^[0-9]{1,16}$/, "a number of at most 16 digits"],
    }),
    username: kit.plainText("API user that belongs to the MID", { form: [/^[^:\s]{1,128}$/, "a user name without blanks and colons"] }),
    password: kit.secret("that user's password"),
    site: kit.plainText("first part of the gateway's host name, given at onboarding (fts, isv, ...), without -uat", {
      form: [/^(?!.*-uat$)[a-z0-9-]{1,40}$/, "a site such as fts: lower-case letters, digits and dashes, without -uat"],
    }),
    country: kit.plainText("country of the payers' postal codes, two letters, where it is not US", {
      optional: true,
      form: [/^[A-Z]{2}$/, "a country of two capital letters"],
    }),
  },
  options: {
    verify: kit.flag(
      true,
      "store a card by a verification of 0 that its issuer sees; off for merchants that cannot verify: it is then stored unseen",
    ),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** The gateway gives the processor 31 s and says at 32 s that it timed out. */
const TIMEOUT_MS = 60_000;

/**
 * Our reference at the vendor, which masks an id that could hold a card number, and then finds it no more. How it looks for one is not
 * said: neither a run of digits and dashes nor all the digits together may be one. In such a case the reference becomes letters.
 */
export function orderId({ reference }: Pick<Subject, "reference">): string {
  const digits = reference.replace(/\D/g, "");
  const isLikeCard = /\d(-?\d){11}/.test(reference) || holdsLuhn(digits.length, (fromEnd) => Number(digits.at(-fromEnd)));
  return `ps-${isLikeCard ? kit.shortReference(reference, 32) : reference}`;
}

const rest = ({ endpoint }: Settings, path: string) => `${endpoint}/cardconnect/rest/${path}`;
const authorization = ({ credentials: { username, password } }: Settings) => ({ Authorization: kit.basicAuth(username, password) });

const post = (settings: Settings, path: string, body: { readonly [name: string]: kit.JsonBody | undefined }) =>
  kit.postJson(rest(settings, path), { merchid: settings.credentials.merchant_id, ...body }, authorization(settings), TIMEOUT_MS);

/** A ZIP code has no dash here, nor any other sign. */
const postal = (text: string, limit: number) => text.replace(/[^A-Za-z0-9]/g, "").slice(0, limit);

const ZIP = /^(\d{5}|\d{9})$/;
const CANADIAN = /^[A-Z]\d[A-Z]\d[A-Z]\d$/i;

/**
 * The postal code and its country. Without another country it is one of the United States, whose ZIP codes alone the vendor takes
 * then: a code from abroad goes with its own country where it tells that, and else not at all.
 */
function placeOf(order: Order, { credentials }: Settings) {
  const { zip } = kit.holderOf(order, postal, { zip: 16 });
  const country = credentials.country?.reveal();
  if (zip === undefined || (country ?? "US") !== "US" || ZIP.test(zip)) return { postal: zip?.slice(0, 9), country };
  return CANADIAN.test(zip) ? { postal: zip, country: "CA" } : { country };
}

function card(order: Order, settings: Settings) {
  const { name } = kit.holderOf(order, kit.asciiText, { name: 30 });
  return {
    account: order.card.number,
    expiry: kit.expiry(order.card, "MMYY"),
    cvv2: kit.securityCode(order.card),
    name,
    ...placeOf(order, settings),
  };
}

/** The amount has its point always: without one the vendor reads minor units. */
function authorize(order: Order, settings: Settings, amount: string, more: { readonly [name: string]: kit.JsonBody | undefined }) {
  const description = kit.optionalText(kit.asciiText, order.description, 255);
  return post(settings, "auth", {
    orderid: orderId(order),
    amount,
    currency: order.currency,
    ...card(order, settings),
    ecomind: kit.isMoto(order, { options: {} }) ? "T" : "E",
    ...more,
    tokenize: "N",
    receipt: "N",
    // The only free place: there is no description.
    userfields: description === undefined ? undefined : [{ udf0: description }],
  });
}

/** Takes the money at once. The vendor knows no repetition: a second one would charge again. */
export const sale = (order: Order, settings: Settings) => authorize(order, settings, kit.unrefused(kit.twoPlaces(order)), { capture: "Y" });

/** Has the issuer verify the card by an authorization of nothing, which makes its profile. */
export const verifyAndStore = (order: Order, settings: Settings) =>
  authorize(order, settings, "0", { profile: "Y", cof: "C", cofscheduled: "N", cofpermission: "Y" });

/** Makes the card's profile; no issuer is asked. */
export function store(order: Order, settings: Settings): GatewayRequest {
  const { cvv2: _code, ...rest } = card(order, settings);
  return post(settings, "profile", { ...rest, cofpermission: "Y", defaultacct: "Y" });
}

/** The refund's own, by which it is found when its answer was lost. */
export const refundId = (subject: Pick<Subject, "reference">) => `${orderId(subject)}-r`;

/** What became of an order id, at this merchant alone. */
export const inquire = (id: string, settings: Settings) =>
  kit.get(
    rest(settings, `inquireByOrderid/${encodeURIComponent(id)}/${settings.credentials.merchant_id.reveal()}/1`),
    authorization(settings),
    TIMEOUT_MS,
  );

/** Before settlement: the whole payment. */
export const voidSale = (settings: Settings, retref: string) => post(settings, "void", { retref });

/** After settlement: the whole payment. */
export const refund = (subject: Pick<Subject, "reference">, settings: Settings, retref: string) =>
  post(settings, "refund", { retref, orderid: refundId(subject) });
