import { issuer, table } from "../kit/index.ts";

/** What the gateway and the First Data North emulator say: their codes, the cards that they know, checks of address and code. */

/** The gateway's own refusals (`respproc` PPS). */
export const PPS = table(`
  11 Invalid card, 13 Bad card check digit, 14 Non-numeric CVV, 15 Non-numeric expiry, 16 Card expired, 17 Invalid zip, 21 Invalid merchant
  26 Txn settled, 28 Txn not settled, 29 Txn not found, 31 Invalid currency, 32 Wrong currency for merch, 33 Unknown card type
  34 Invalid field, 38 CVV is required, 39 Txn too old to void, 43 Invalid amount, 96 Profile not found, 98 Invalid token
`);

/** What the issuer or the processor answers: code, words, `respstat`, and who says it. */
export type No = readonly [code: string, words: string, stat: string, by: string];
export const no = (code = "", words = "", stat = "C", by = "FNOR"): No => [code, words, stat, by];
export const PARTIAL = "4387750101010101";
/** By card, and by the code itself, which some amounts bring about. */
export const ISSUER = issuer(
  `
    01/4387751111111020/5442981111111023/6011000995511122 01|Refer to issuer, 03 03|Invalid merchant
    05/4387751111111038/5442981111111031/6011000995511130 05|Do not honor, 10 10|Partial Approval|A, 12 12|Invalid transaction
    13 13|Invalid amount, 14 14|Invalid card number, 28 28|Please retry|B, card_declined/51 51|Declined
    expired_card/54/4387751111111046/5442981111111049/6011000995511148 54|Wrong expiration, 57 57|Service not allowed
    lost_or_stolen/60 60|Pick up card, 61 61|Exceeds limit, 62/4999006200620062/5111006200620062/6465006200620062 62|Timed out|B|PPS
    63 63|Restricted card, 89 89|Invalid terminal, processing_error/91 91|Issuer unavailable|B, 94 94|Duplicate transaction
    insufficient_funds/4387751111111053/5442981111111056/6011000995511155 NU|Insufficient funds, incorrect_cvc C2|CVV decline
  `,
  no,
);
/** Cards that the emulator knows, by their leading digits and length. */
export const KNOWN = /^(4\d{15}|5[1-5]\d{14}|3[47]\d{13}|(6011|622\d|64[4-9]\d|65\d\d)\d{12}|36\d{12}|35\d{14})$/;
const byLast = (rows: string): ReadonlyMap<string, string> =>
  new Map(
    rows.split(", ").flatMap((row) =>
      row
        .split(" ")
        .slice(1)
        .map((key) => [key, row.slice(0, 1)] as const),
    ),
  );
export const AVS = byLast(
  "X 224, Y 225 406, A 111 201, W 223, Z 113 226, N 112 214, U 221, G 207, R 218, E 205, S 219, Q 228, D 204 227, B 202, C 203, P 216, I 209, M 213",
);
export const CVV = byLast("M 112, N 111, P 222, U 333");
