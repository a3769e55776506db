import type { DeclineCode } from "#src/kernel/payment.ts";

/**
 * Tables from a vendor's words to ours. A vendor's word is never a key of an object: `constructor` would find something.
 */

/**
 * A vendor's words by what they mean, separated by blanks: single ones, `1401-1407` for every number between (padded as the first),
 * `PMT-2*` for all that begin so. An exact word comes before a beginning, the longest beginning first; undefined for every other word.
 */
export function meanings<M extends string>(rows: Readonly<Partial<Record<M, string>>>): (word: string | undefined) => M | undefined {
  const exact = new Map<string, M>();
  const beginnings = new Map<string, M>();
  for (const [ours, theirs] of Object.entries(rows) as [M, string][]) {
    for (const word of theirs.split(" ").flatMap(codesIn)) {
      const [table, key] = word.endsWith("*") ? [beginnings, word.slice(0, -1)] : [exact, word];
      if (table.has(key) || key === "") throw new Error(`code table: ${word} stands there twice, or is empty`);
      table.set(key, ours);
    }
  }
  const longestFirst = [...beginnings].toSorted(([one], [other]) => other.length - one.length);
  return (word) =>
    word === undefined ? undefined : (exact.get(word) ?? longestFirst.find(([beginning]) => word.startsWith(beginning))?.[1]);
}

/** A vendor's codes by the decline they mean, likewise. What the table does not know is `otherwise`. */
export function codeTable(rows: Readonly<Partial<Record<DeclineCode, string>>>): (code: string | undefined) => DeclineCode | undefined;
export function codeTable(
  rows: Readonly<Partial<Record<DeclineCode, string>>>,
  otherwise: DeclineCode,
): (code: string | undefined) => DeclineCode;
export function codeTable(rows: Readonly<Partial<Record<DeclineCode, string>>>, otherwise?: DeclineCode) {
  const known = meanings(rows);
  return (code: string | undefined) => known(code) ?? otherwise;
}

function codesIn(word: string): string[] {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(word) ?? [];
  if (first === undefined || last === undefined) return [word];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_none, index) => String(Number(first) + index).padStart(first.length, "0"));
}

/** A vendor's words (statuses, states, results) and what each means; undefined for every other word. */
export function wordTable<const T>(rows: Readonly<Record<string, T>>): (word: string | undefined) => T | undefined {
  const table = new Map(Object.entries(rows));
  return (word) => (word === undefined ? undefined : table.get(word));
}

/** Patterns of a vendor's texts, the first that fits counts: for codes that stand for a dozen things. */
export function textTable<const T>(rows: readonly (readonly [RegExp, T])[]): (text: string | undefined) => T | undefined {
  return (text) => (text === undefined ? undefined : rows.find(([pattern]) => pattern.test(text))?.[1]);
}

/** What HTTP itself says with a refusal whose body says nothing: 401 is about keys, other 4xx about our request, address or account. */
export function codeOfStatus(status: number): DeclineCode | undefined {
  if (status === 401) return "gateway_credentials_invalid";
  if (status === 429) return "gateway_unavailable";
  return status >= 400 && status < 500 ? "gateway_misconfigured" : undefined;
}

/**
 * What a decline without a reason means when the checks say why: the security code did not match (`N`), or the ZIP code did
 * not (AVS `N` nothing matched, `A` the street alone).
 */
export function codeOfChecks(checks: { avs?: string | undefined; cvv?: string | undefined }): DeclineCode | undefined {
  if (checks.cvv === "N") return "incorrect_cvc";
  return ["N", "A"].includes(checks.avs ?? "") ? "incorrect_zip" : undefined;
}

/** The issuer's own code (ISO 8583 field 39), which many vendors pass on; undefined for 00 and for what it does not name. */
export const codeOfIso = codeTable({
  card_declined: "34 63 93 R0 R1 R3",
  do_not_honor: "01 02 05 70 79",
  insufficient_funds: "51",
  limit_exceeded: "61 65 75",
  expired_card: "33 54",
  incorrect_number: "14 15 42 78",
  incorrect_cvc: "82 N7",
  card_not_supported: "57 58 62",
  lost_or_stolen: "04 07 41 43",
  fraud_suspected: "59",
  authentication_required: "1A",
  duplicate_transaction: "94",
  processing_error: "06 12 13 19 30 68 80 91 92 96",
  gateway_misconfigured: "03",
});
