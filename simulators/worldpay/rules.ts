import type { Fields, Rule, Rules } from "../kit/index.ts";
import { anything, country2, currency, digits, email, matching, oneOf, required, requiredWith } from "../kit/rules.ts";
import { text, texts, trueOrFalse, under, whole } from "../kit/rules.ts";

/** Every field that the vendor documents, for a payment, its followers and the queries. */

export const LARGEST = 2_147_483_647;

export const INSTRUMENT = "instruction.paymentInstrument";
export const isSent = (fields: Fields, path: string): boolean =>
  [...fields.keys()].some((name) => name === path || name.startsWith(`${path}.`));
const isPlain = (fields: Fields): boolean => fields.get(`${INSTRUMENT}.type`) === "plain";
const hasTokenId = (fields: Fields): boolean => fields.has(`${INSTRUMENT}.tokenId`);
const isZero = (fields: Fields): boolean => fields.get("instruction.value.amount") === 0;
const needed = (rule: Rule, need: (fields: Fields) => "required" | "optional" | "forbidden"): Rule => ({ ...rule, need });
const ofPlain = (rule: Rule): Rule => needed(rule, (fields) => (isPlain(fields) ? "required" : "forbidden"));
const unlessZero = (rule: Rule): Rule => needed(rule, (fields) => (isZero(fields) ? "forbidden" : "optional"));

const REFERENCE = "-A-Za-z0-9_!@#$%()*=.:;?[\\]{}~/+";
const NAMESPACE = matching(/^[^_ &<][^ &<]{0,63}$/, "1 to 64 characters without blank, & and <, not beginning with _");
const STATEMENT = matching(/^[A-Za-z0-9 ,./-]{1,24}$/, "1 to 24 letters, digits, blanks and , . / -");
const ENABLED = unlessZero(oneOf("enabled", "disabled"));
const CARD: Rules = {
  type: required(oneOf("plain", "token")),
  cardNumber: ofPlain(digits(12, 19)),
  "expiryDate.month": ofPlain(whole(1, 12)),
  "expiryDate.year": ofPlain(whole(1000, 9999)),
  cardHolderName: needed(text(255), (fields) =>
    !isPlain(fields) ? "forbidden" : isSent(fields, "instruction.tokenCreation") ? "required" : "optional",
  ),
  cvc: digits(3, 4),
  ...texts("billingAddress.address2 80, billingAddress.address3 80, billingAddress.state 30"),
  "billingAddress.address1": requiredWith("billingAddress", text(80)),
  "billingAddress.city": requiredWith("billingAddress", text(50)),
  "billingAddress.countryCode": requiredWith("billingAddress", country2),
  "billingAddress.postalCode": {
    ...requiredWith("billingAddress", text(15)),
    need: (fields) => (fields.get(`${INSTRUMENT}.billingAddress.countryCode`) === "IE" ? "optional" : "required"),
  },
  href: needed(text(2048), (fields) => (isPlain(fields) || hasTokenId(fields) ? "forbidden" : "required")),
  tokenId: needed(matching(/^[0-9A-HJ-NP-Z]{15,21}$/, "15 to 21 digits and capitals but I and O"), (fields) =>
    isPlain(fields) ? "forbidden" : "optional",
  ),
  namespace: needed(NAMESPACE, (fields) => (hasTokenId(fields) ? "required" : "forbidden")),
};
export const PAYMENT: Rules = {
  transactionReference: required(matching(new RegExp(`^[${REFERENCE}\`]{1,64}$`), "1 to 64 characters without blanks")),
  orderReference: matching(new RegExp(`^[${REFERENCE}]{1,64}$`), "1 to 64 characters without blanks"),
  "merchant.entity": required(matching(/^[A-Za-z0-9][A-Za-z0-9 ]{0,31}$/, "1 to 32 letters, digits and blanks")),
  channel: needed(oneOf("ecom", "moto"), (fields) =>
    fields.get("channel") === "moto" && isSent(fields, "instruction.threeDS") ? "forbidden" : "optional",
  ),
  ...under("instruction", {
    method: required(oneOf("card")),
    ...under("paymentInstrument", CARD),
    "narrative.line1": required(STATEMENT),
    "narrative.line2": STATEMENT,
    "value.amount": required(whole(0, LARGEST)),
    "value.currency": required(currency()),
    "settlement.auto": unlessZero(trueOrFalse),
    "settlement.cancelOn.cvcNotMatched": ENABLED,
    "settlement.cancelOn.avsNotMatched": ENABLED,
    "customer.email": email(128),
    "customer.phone": digits(4, 20),
    "customer.ipAddress": matching(/^[0-9a-fA-F:.]{3,45}$/, "an IP address"),
    ...texts("customer.firstName 22, customer.lastName 22"),
    "customerAgreement.type": requiredWith("customerAgreement", oneOf("cardOnFile", "subscription", "installment")),
    "customerAgreement.storedCardUsage": oneOf("first", "subsequent"),
    "tokenCreation.type": needed(oneOf("worldpay"), (fields) =>
      !isSent(fields, "instruction.tokenCreation") ? "optional" : isPlain(fields) ? "required" : "forbidden",
    ),
    "tokenCreation.namespace": NAMESPACE,
    "threeDS.*": anything,
  }),
};
const DAY = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, "a time such as 2026-11-22T00:00:00Z");
/** With any other parameter beside the reference the two dates are mandatory. */
const isDated = (fields: Fields) => (fields.size === 1 && fields.has("transactionReference") ? "optional" : "required");
export const PART: Rules = {
  reference: text(64),
  "value.amount": required(whole(1, LARGEST)),
  "value.currency": required(currency()),
};

export const QUERY: Rules = {
  transactionReference: text(64),
  startDate: needed(DAY, isDated),
  endDate: needed(DAY, isDated),
  pageSize: matching(/^([1-9]\d?|[12]\d\d|300)$/, "1 to 300"),
  currency: currency(),
};
export const EVENTS: Rules = { transactionRef: required(text(64)), entity: required(text(32)) };
