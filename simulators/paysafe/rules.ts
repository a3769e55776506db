import { digits, matching, READERS, rules, state2, text, textOf, whole } from "../kit/index.ts";
import type { Fields, Reader, Rule } from "../kit/index.ts";

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
export const stateOf = (path: string): Rule => ({ ...text(40), need: (fields) => (isNamed(fields, path) ? "optional" : "forbidden") });
/** A state of the United States or a province of Canada has two letters. */
export const isNamed = (fields: Fields, path: string): boolean =>
  !/^(US|CA)$/.test(textOf(fields, `${path}.country`)) || state2.check(textOf(fields, `${path}.state`)) === null;

export const REFERENCE = rules`merchantRefNum! 255, dupCheck bool`;
export const AMOUNT = whole(1, 99_999_999_999);
export const EXPIRY = rules`month whole 1-12, year whole 1000-9999`;
export const NAMES = rules`firstName/lastName 80, email email 255`;
export const CARD_NUMBER = digits(8, 20);
const isLinked = (fields: Fields): boolean => /^(RECURRING|TOPUP)$/.test(textOf(fields, "storedCredential.type")) && !isInitial(fields);
export const PAYMENT = rules`
  ${REFERENCE}, card.cardNum=${isTyped} ${CARD_NUMBER}, card.cvv!${isInitial} digits 3-4, card.paymentToken 80
  card.cardExpiry: month=${isTyped} whole 1-12, year=${isTyped} whole 1000-9999
  profile: ${NAMES}
  billingDetails: street/street2 50, city/phone 40, zip 10, country country2, state ${stateOf("billingDetails")}
  customerIp ip, description 255
  storedCredential: type is ADHOC|RECURRING|TOPUP, occurrence is INITIAL|SUBSEQUENT, initialTransactionId!${isLinked} 36
`;
const isLabelled = (fields: Fields): boolean => fields.has("storedCredential.type");
export const AUTH = rules`
  ${PAYMENT}, amount! ${AMOUNT}, settleWithAuth bool, keywords[*] 255, entryMode is MOTO|CARD_PRESENT, recurring~${isLabelled} is INITIAL|RECURRING
  merchantDescriptor: dynamicDescriptor 20, phone 13
  authentication.* any
`;
export const VAULT_CARD = rules`
  cardNum! ${CARD_NUMBER}, cardExpiry.month! whole 1-12, cardExpiry.year! whole 1000-9999, holderName! 160, accountId 40
  billingAddress?: street/street2 50, city/state 40, zip! 10, country! country2
`;
const LIMIT = matching(/^([1-9]|[1-4]\d|50)$/, "1 to 50");
const OFFSET = matching(/^\d{1,9}$/, "a number");
const TIME = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, "a date and time");
export const FIND = rules`merchantRefNum! 255, limit ${LIMIT}, offset ${OFFSET}, startDate/endDate ${TIME}`;
