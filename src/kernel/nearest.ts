/** The word that `word` was most likely meant to be: at most one letter in so many wrong, missing, too many or exchanged; null when none is. */
export function nearest(word: string, words: readonly string[], lettersAFault = 3): string | null {
  const [best] = words.map((known) => ({ known, faults: distance(word, known) })).toSorted((a, b) => a.faults - b.faults);
  return best && best.faults <= Math.max(1, Math.floor(word.length / lettersAFault)) ? best.known : null;
}

/** Damerau-Levenshtein distance (optimal string alignment), in any case. */
function distance(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : Infinity;
      row.push(Math.min(replaced, exchanged, rows[i - 1]![j]! + 1, row[j - 1]! + 1));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
