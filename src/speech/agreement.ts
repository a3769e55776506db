/** When independent decodings of one utterance are enough alike to believe them. */

/** Digits in which two decodings of one card number may differ (docs/decisions/0012). */
const PLAIN_TOLERANCE = 1;
/** Insertions, omissions and confusions that the free decoding, which knows no length, may have on top. */
const FREE_TOLERANCE = 2;

export function isSame(a: readonly number[] | null, b: readonly number[] | null, tolerance = 0): boolean {
  if (!a || !b || a.length !== b.length) return false;
  return a.filter((digit, at) => digit !== b[at]).length <= tolerance;
}

/**
 * A valid number that only the decoding in another speaker's voice has is also found by chance, from a caller who misread a digit. It is
 * believed when the plain decoding confirms it but for one digit, and the free one does not side with the plain one there: two that agree
 * on an invalid number have heard what was said.
 */
export function isConfirmed(card: readonly number[], plain: readonly number[] | null, free: readonly number[]): boolean {
  // The free decoding inserts digits, it seldom loses one: where two are missing, they were not said.
  if (!plain || !isSame(card, plain, PLAIN_TOLERANCE) || free.length < card.length - 1) return false;
  const distance = editDistance(card, free);
  return distance <= FREE_TOLERANCE && distance <= editDistance(plain, free);
}

/** Levenshtein distance. */
export function editDistance(a: readonly number[], b: readonly number[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [done, digit] of a.entries()) {
    const next = [done + 1];
    for (const [at, other] of b.entries()) {
      const replaced = (row[at] ?? 0) + (digit === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
