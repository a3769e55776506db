import type { DeclineCode } from "#src/kernel/payment.ts";

/** The vendor's reason codes (numbers, inside a transaction) and error codes (E..., of the whole answer) in our words. */
const CODES: ReadonlyMap<string, DeclineCode> = new Map(
  (
    [
      ["card_declined", "2"],
      ["do_not_honor", "3"],
      ["fraud_suspected", "41 250 251 254 E00118"],
      ["lost_or_stolen", "4"],
      ["incorrect_number", "6 37 315 200"],
      ["invalid_expiry", "7 316 201"],
      ["expired_card", "8 317"],
      ["incorrect_cvc", "44 65 78 165"],
      ["incorrect_zip", "27 127"],
      ["card_not_supported", "17 28 155"],
      ["duplicate_transaction", "318 222"],
      ["limit_exceeded", "49"],
      ["gateway_unavailable", "901 E00049 E00053 E00104 E00062 E00063 E00133"],
      ["gateway_credentials_invalid", "13 E00005 E00006 E00007 E00008 E00010 E00059 E00123 E00124"],
      ["gateway_misconfigured", "24 29 30 31 32 34 35 38 39 43 56 66 84 85 87 123 128 130 205 206 207 208 289 2007 E00009 E00011 E00044"],
      ["held_for_review", "193 252 253"],
    ] as const satisfies readonly (readonly [DeclineCode, string])[]
  ).flatMap(([ours, theirs]) => theirs.split(" ").map((code) => [code, ours] as const)),
);

/**
 * Answers that do not say what became of the money. 11: a duplicate of our own invoice number, so an earlier request of this
 * attempt arrived; 36, 50, 52, 152: approved, then something failed; E00001: broke down; E00039: the profile exists already.
 */
const UNCLEAR: ReadonlySet<string> = new Set(["11", "36", "50", "52", "152", "E00001", "E00039"]);

/** The processor's own code, where it passes one on: ISO 8583 field 39. The gateway folds all of these into reason 2. */
const ISO_CODES: Readonly<Record<string, DeclineCode>> = {
  "05": "do_not_honor",
  "51": "insufficient_funds",
  "61": "limit_exceeded",
  "65": "limit_exceeded",
};

/** Field named in the words of a schema or field error, which share one code. */
const FIELDS: readonly (readonly [RegExp, DeclineCode])[] = [
  [/card ?number/i, "incorrect_number"],
  [/expiration ?date/i, "invalid_expiry"],
  [/card ?code/i, "incorrect_cvc"],
];
const FIELD_ERRORS: ReadonlySet<string> = new Set(["E00003", "E00013", "E00014", "E00015"]);

/** Words of a refused validation, which has no reason code of its own, and the reason that they belong to. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/card number is invalid/i, "6"],
  [/expiration date is invalid/i, "7"],
  [/card has expired/i, "8"],
  [/AVS mismatch/i, "27"],
  [/does not accept this type/i, "17"],
  [/card code is invalid/i, "78"],
];

export function isUnclear(code: string | undefined): boolean {
  return code !== undefined && UNCLEAR.has(code);
}

export function reasonOfText(text: string | undefined): string | undefined {
  return TEXTS.find(([pattern]) => pattern.test(text ?? ""))?.[1];
}

/** Code of an answer without a transaction: nothing was processed. */
export function codeOfAnswer(code: string, text: string | undefined): DeclineCode {
  const field = FIELD_ERRORS.has(code) ? FIELDS.find(([pattern]) => pattern.test(text ?? ""))?.[1] : undefined;
  return field ?? CODES.get(code) ?? "processing_error";
}

/** Code of a transaction that was not approved. 2 is the issuer's no, 3 an error, 4 held for review. */
export function codeOfReason(answer: {
  responseCode: string;
  reason: string | undefined;
  raw: string | undefined;
  avs: string | undefined;
  cvv: string | undefined;
}): DeclineCode {
  const { responseCode, reason = "", raw = "", avs, cvv } = answer;
  if (responseCode === "4") return "held_for_review";
  if (reason === "45" || reason === "145") return cvv === "N" ? "incorrect_cvc" : "incorrect_zip";
  if (reason === "2") return ISO_CODES[raw] ?? "card_declined";
  const named = CODES.get(reason);
  if (named !== undefined) return named;
  if (responseCode === "3") return "processing_error";
  if (reason !== "") return PROCESSING.has(reason) ? "processing_error" : "card_declined";
  return cvv === "N" ? "incorrect_cvc" : avs === "N" ? "incorrect_zip" : "card_declined";
}

/** Reasons with which the processor, not the issuer, says no; they come with either response code. */
const PROCESSING: ReadonlySet<string> = new Set(
  "5 19 20 21 22 23 25 26 33 42 57 58 59 60 61 62 63 120 121 122 170 171 172 173 180 181 192 209 214 220 223 224 261 290 325 326 328".split(
    " ",
  ),
);
