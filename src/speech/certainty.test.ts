import assert from "node:assert/strict";
import { test } from "node:test";
import { type Acceptor, phraseAcceptor } from "./acceptor.ts";
import { ANYTHING, certainMeaning } from "./certainty.ts";
import type { Decoder } from "./decoder.ts";
import { LARGER_SPEAKER, SMALLER_SPEAKER } from "./warp.ts";

const DATES = phraseAcceptor(["august", "september"]);

/** Hears these words, one after the other, in the voices that it is asked about; any of them is as likely as any string of phones. */
function hearing(...heard: readonly (string | null)[]): Pick<Decoder, "use" | "score"> {
  const left = [...heard];
  let grammar: Acceptor | null = null;
  return {
    use: (next) => void (grammar = next),
    score() {
      if (grammar === ANYTHING) return { words: [], score: -1000, frames: 10 };
      const word = left.shift();
      return word ? { words: [word], score: -1000, frames: 10 } : null;
    },
  };
}

test("what is said is sure only when each other voice says the same", () => {
  const question = {
    grammar: DATES,
    meaningOf: ([word]: readonly string[]) => word ?? null,
    leastMargin: () => 0,
    voices: [SMALLER_SPEAKER, LARGER_SPEAKER],
    longestSeconds: 5,
  };
  for (const [heard, meaning] of [
    [["august", "august", "august"], "august"],
    [["august", "august", "september"], null],
    [["august", "september", "august"], null],
    [["august", "august", null], null],
    [[null, "august", "august"], null],
  ] as const)
    assert.equal(certainMeaning(hearing(...heard) as Decoder, new Float32Array(8_000), question), meaning, heard.join(" "));
});
