import { isIP } from "node:net";
import { READERS, textOf } from "../kit/index.ts";
import type { Fields, Reader, Rule, Rules } from "../kit/index.ts";
import { anything, country2, digits, email, forbiddenIf, matching, oneOf, required, requiredIf } from "../kit/rules.ts";
import { requiredWith, rule, state2, text, texts, trueOrFalse, under, whole } from "../kit/rules.ts";

/** Bodies and fields. */

/** JSON without the characters that the platform refuses in any value but the statement's text. */
export const BODY: Reader = {
  types: READERS.json.types,
  read(bytes) {
    const fields = READERS.json.read(bytes);
    const isBad = ([name, value]: [string, unknown]) =>
      typeof value === "string" && !name.startsWith("merchantDescriptor.") && /[";^*</[\]\\]/.test(value);
    return fields === null || [...fields].some(isBad) ? null : fields;
  },
};

export const isInitial = (fields: Fields): boolean =>
  (fields.has("card.paymentToken") || [...fields.keys()].some((name) => name.startsWith("storedCredential."))) &&
  textOf(fields, "storedCredential.occurrence") !== "SUBSEQUENT";
export const isTyped = (fields: Fields): boolean => !fields.has("card.paymentToken");
export const typed = (inner: Rule): Rule => ({ ...inner, need: (fields) => (isTyped(fields) ? "required" : "forbidden") });
export const stateOf = (path: string): Rule => ({ ...text(40), need: (fields) => (isNamed(fields, path) ? "optional" : "forbidden") });
/** A state of the United States or a province of Canada has two letters. */
export const isNamed = (fields: Fields, path: string): boolean =>
  !/^(US|CA)$/.test(textOf(fields, `${path}.country`)) || state2.check(textOf(fields, `${path}.state`)) === null;

export const REFERENCE: Rules = { merchantRefNum: required(text(255)), dupCheck: trueOrFalse };
export const AMOUNT = whole(1, 99_999_999_999);
export const EXPIRY: Rules = { month: whole(1, 12), year: whole(1000, 9999) };
export const NAMES: Rules = { ...texts("firstName 80, lastName 80"), email: email(255) };
export const CARD_NUMBER = digits(8, 20);
export const PAYMENT: Rules = {
  ...REFERENCE,
  "card.cardNum": typed(CARD_NUMBER),
  ...Object.fromEntries(Object.entries(EXPIRY).map(([name, inner]) => [`card.cardExpiry.${name}`, typed(inner)])),
  "card.cvv": requiredIf(digits(3, 4), isInitial),
  "card.paymentToken": text(80),
  ...under("profile", NAMES),
  ...under("billingDetails", { ...texts("street 50, street2 50, city 40, zip 10, phone 40"), country: country2 }),
  "billingDetails.state": stateOf("billingDetails"),
  customerIp: rule((value) => (typeof value === "string" && isIP(value) > 0 ? null : ["value", "must be an IP address"])),
  description: text(255),
  "storedCredential.type": oneOf("ADHOC", "RECURRING", "TOPUP"),
  "storedCredential.occurrence": oneOf("INITIAL", "SUBSEQUENT"),
  "storedCredential.initialTransactionId": requiredIf(
    text(36),
    (fields) => /^(RECURRING|TOPUP)$/.test(textOf(fields, "storedCredential.type")) && !isInitial(fields),
  ),
};
export const AUTH: Rules = {
  ...PAYMENT,
  amount: required(AMOUNT),
  settleWithAuth: trueOrFalse,
  "keywords[*]": text(255),
  ...under("merchantDescriptor", texts("dynamicDescriptor 20, phone 13")),
  entryMode: oneOf("MOTO", "CARD_PRESENT"),
  recurring: forbiddenIf(oneOf("INITIAL", "RECURRING"), (fields) => fields.has("storedCredential.type")),
  "authentication.*": anything,
};
export const VAULT_CARD: Rules = {
  cardNum: required(CARD_NUMBER),
  "cardExpiry.month": required(whole(1, 12)),
  "cardExpiry.year": required(whole(1000, 9999)),
  holderName: required(text(160)),
  accountId: text(40),
  ...under("billingAddress", texts("street 50, street2 50, city 40")),
  "billingAddress.zip": requiredWith("billingAddress", text(10)),
  "billingAddress.country": requiredWith("billingAddress", country2),
  "billingAddress.state": text(40),
};
export const isWithCard = (fields: Fields): boolean => [...fields.keys()].some((name) => name.startsWith("card."));
export const FIND: Rules = {
  merchantRefNum: required(text(255)),
  limit: matching(/^([1-9]|[1-4]\d|50)$/, "1 to 50"),
  offset: matching(/^\d{1,9}$/, "a number"),
  ...Object.fromEntries(["startDate", "endDate"].map((name) => [name, matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, "a date and time")])),
};
