import type { Cell } from "#src/kernel/card.ts";

/** What the keys 0 to 9 write, each press one further (ITU-T E.161). */
const LETTERS = [" ", "", "ABC", "DEF", "GHI", "JKL", "MNO", "PQRS", "TUV", "WXYZ"] as const;

/**
 * What these keys spell: a key pressed n times in a row is its nth letter, 0 is a space, and 1 stands between two letters of the same
 * key. Null when a key was pressed more often than it has letters. The keys never become a string: a card number may be among them.
 */
export function spelledText(keys: Cell): string | null {
  let text = "";
  let presses = 0;
  for (let at = 0; at < keys.length; at++) {
    const key = keys.digit(at);
    presses++;
    if (key > 1 && at + 1 < keys.length && keys.digit(at + 1) === key) continue;
    const letter = key === 1 ? "" : LETTERS[key]?.[presses - 1];
    if (letter === undefined) return null;
    text += letter;
    presses = 0;
  }
  return text;
}
