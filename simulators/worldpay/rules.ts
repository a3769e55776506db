import { matching, oneOf, rules, text, trueOrFalse } from "../kit/index.ts";
import type { Fields, Rule } from "../kit/index.ts";

/** Every field that the vendor documents, for a payment, its followers and the queries. */

export const LARGEST = 2_147_483_647;

export const INSTRUMENT = "instruction.paymentInstrument";
const AGREEMENT = "instruction.customerAgreement";
export const isSent = (fields: Fields, path: string): boolean =>
  [...fields.keys()].some((name) => name === path || name.startsWith(`${path}.`));
const isPlain = (fields: Fields): boolean => fields.get(`${INSTRUMENT}.type`) === "plain";
const hasTokenId = (fields: Fields): boolean => fields.has(`${INSTRUMENT}.tokenId`);
const isNew = (fields: Fields): boolean => isPlain(fields) && isSent(fields, "instruction.tokenCreation");
const hasPostcodes = (fields: Fields): boolean => fields.get(`${INSTRUMENT}.billingAddress.countryCode`) !== "IE";
const needed = (rule: Rule, need: (fields: Fields) => "required" | "optional" | "forbidden"): Rule => ({ ...rule, need });
const isNothing = (fields: Fields): boolean => fields.get("instruction.value.amount") === 0;

/** Settlement by itself, which nothing settles where there is nothing; its conditions need it. */
const AUTO = needed(trueOrFalse, (fields) => {
  if (fields.get("instruction.value.amount") === 0) return "forbidden";
  return isSent(fields, "instruction.settlement.cancelOn") ? "required" : "optional";
});
const isOnFile = (fields: Fields): boolean => ["cardOnFile", "subscription"].includes(String(fields.get(`${AGREEMENT}.type`)));
const USAGE = needed(oneOf("first", "subsequent"), (fields) => (isOnFile(fields) ? "required" : "optional"));

const LETTERS = "-A-Za-z0-9_!@#$%()*=.:;?[\\]{}~/+";
const REFERENCE = matching(new RegExp(`^[${LETTERS}\`]{1,64}$`), "1 to 64 characters without blanks");
const ORDER = matching(new RegExp(`^[${LETTERS}]{1,64}$`), "1 to 64 characters without blanks");
const STATEMENT = String.raw`[A-Za-z0-9\x20\x2c./-] 1-24`;
const NAMESPACE = matching(/^[^_ &<][^ &<]{0,63}$/, "1 to 64 characters without blank, & and <, not beginning with _");
const TOKEN_ID = "[0-9A-HJ-NP-Z] 15-21";
const HOLDER = needed(text(255), (fields) => (isNew(fields) ? "required" : isPlain(fields) ? "optional" : "forbidden"));
const hasLink = (fields: Fields): boolean => !isPlain(fields) && !hasTokenId(fields);
/** A payment by telephone has no 3-D Secure. */
const isSecureMoto = (fields: Fields): boolean => fields.get("channel") === "moto" && isSent(fields, "instruction.threeDS");
const TOKEN_TYPE = needed(oneOf("worldpay"), (fields) =>
  !isSent(fields, "instruction.tokenCreation") ? "optional" : isPlain(fields) ? "required" : "forbidden",
);
const POSTAL_CODE: Rule = {
  ...text(15),
  parent: `${INSTRUMENT}.billingAddress`,
  need: (fields) => (hasPostcodes(fields) ? "required" : "optional"),
};
export const PAYMENT = rules`
  transactionReference! ${REFERENCE}, orderReference ${ORDER}, merchant.entity! /[A-Za-z0-9][A-Za-z0-9\x20]{0,31}/
  channel~${isSecureMoto} is ecom|moto
  instruction: method! is card, narrative.line1! ${STATEMENT}, narrative.line2 ${STATEMENT}, threeDS.* any
  ${INSTRUMENT}: type! is plain|token, cardNumber=${isPlain} digits 12-19, cardHolderName ${HOLDER}, cvc digits 3-4
  ${INSTRUMENT}: expiryDate.month=${isPlain} whole 1-12, expiryDate.year=${isPlain} whole 1000-9999
  ${INSTRUMENT}: href=${hasLink} 2048, tokenId~${isPlain} ${TOKEN_ID}, namespace=${hasTokenId} ${NAMESPACE}
  ${INSTRUMENT}.billingAddress?: address1! 80, address2/address3 80, state 30, city! 50, countryCode! country2
  ${INSTRUMENT}.billingAddress.postalCode ${POSTAL_CODE}
  instruction.value: amount! whole 0-${LARGEST}, currency! currency
  instruction.settlement: auto ${AUTO}
  instruction.settlement.cancelOn: cvcNotMatched/avsNotMatched~${isNothing} is enabled|disabled
  instruction.customer: email email 128, phone digits 4-20, ipAddress [0-9a-fA-F:.] 3-45, firstName/lastName 22
  ${AGREEMENT}?: type! is cardOnFile|subscription|installment, storedCardUsage ${USAGE}
  instruction.tokenCreation: type ${TOKEN_TYPE}, namespace ${NAMESPACE}
`;
export const PART = rules`reference 64, value.amount! whole 1-${LARGEST}, value.currency! currency`;

/** With any other parameter beside the reference the two dates are mandatory. */
const isDated = (fields: Fields): boolean => fields.size !== 1 || !fields.has("transactionReference");
export const QUERY = rules`
  transactionReference 64, startDate/endDate!${isDated} /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, pageSize countText 1-300, currency currency
`;
export const EVENTS = rules`transactionRef! 64, entity! 32`;
