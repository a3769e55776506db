import { cards } from "../kit/index.ts";
import type { Issuer } from "../kit/index.ts";

/** What the gateway and the First Data North emulator say: their codes, the cards that they know, checks of address and code. */

/** The gateway's own refusals (`respproc` PPS). */
export const PPS: Readonly<Record<string, string>> = {
  "11": "Invalid card",
  "13": "Bad card check digit",
  "14": "Non-numeric CVV",
  "15": "Non-numeric expiry",
  "16": "Card expired",
  "17": "Invalid zip",
  "21": "Invalid merchant",
  "26": "Txn settled",
  "28": "Txn not settled",
  "29": "Txn not found",
  "31": "Invalid currency",
  "32": "Wrong currency for merch",
  "33": "Unknown card type",
  "34": "Invalid field",
  "38": "CVV is required",
  "39": "Txn too old to void",
  "43": "Invalid amount",
  "96": "Profile not found",
  "98": "Invalid token",
};

/** What the issuer or the processor answers: code, words, `respstat`, and who says it. */
export type No = readonly [code: string, words: string, stat: "B" | "C" | "A", by: "FNOR" | "PPS"];
export const no = (code: string, words: string, stat: No[2] = "C", by: No[3] = "FNOR"): No => [code, words, stat, by];
export const BY_CODE: Readonly<Record<string, No>> = {
  "01": no("01", "Refer to issuer"),
  "03": no("03", "Invalid merchant"),
  "05": no("05", "Do not honor"),
  "10": no("10", "Partial Approval", "A"),
  "12": no("12", "Invalid transaction"),
  "13": no("13", "Invalid amount"),
  "14": no("14", "Invalid card number"),
  "28": no("28", "Please retry", "B"),
  "51": no("51", "Declined"),
  "54": no("54", "Wrong expiration"),
  "57": no("57", "Service not allowed"),
  "60": no("60", "Pick up card"),
  "61": no("61", "Exceeds limit"),
  "62": no("62", "Timed out", "B", "PPS"),
  "63": no("63", "Restricted card"),
  "89": no("89", "Invalid terminal"),
  "91": no("91", "Issuer unavailable", "B"),
  "94": no("94", "Duplicate transaction"),
  NU: no("NU", "Insufficient funds"),
  C2: no("C2", "CVV decline"),
};
export const said = (code: string): No => BY_CODE[code] ?? no(code, "Declined");
export const PARTIAL = "4387750101010101";
export const ISSUER: Issuer<No> = {
  declines: {
    card_declined: said("51"),
    insufficient_funds: said("NU"),
    expired_card: said("54"),
    incorrect_cvc: said("C2"),
    processing_error: said("91"),
    lost_or_stolen: said("60"),
  },
  vendorCards: {
    ...cards("4387751111111020 5442981111111023 6011000995511122", said("01")),
    ...cards("4387751111111038 5442981111111031 6011000995511130", said("05")),
    ...cards("4387751111111046 5442981111111049 6011000995511148", said("54")),
    ...cards("4387751111111053 5442981111111056 6011000995511155", said("NU")),
    ...cards("4999006200620062 5111006200620062 6465006200620062", said("62")),
  },
};
/** Cards that the emulator knows, by their leading digits and length. */
export const KNOWN = /^(4\d{15}|5[1-5]\d{14}|3[47]\d{13}|(6011|622\d|64[4-9]\d|65\d\d)\d{12}|36\d{12}|35\d{14})$/;
const table = (rows: string): ReadonlyMap<string, string> =>
  new Map(
    rows.split(", ").flatMap((row) =>
      row
        .split(" ")
        .slice(1)
        .map((key) => [key, row.slice(0, 1)] as const),
    ),
  );
export const AVS = table(
  "X 224, Y 225 406, A 111 201, W 223, Z 113 226, N 112 214, U 221, G 207, R 218, E 205, S 219, Q 228, D 204 227, B 202, C 203, P 216, I 209, M 213",
);
export const CVV = table("M 112, N 111, P 222, U 333");
