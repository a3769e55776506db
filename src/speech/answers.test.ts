import assert from "node:assert/strict";
import test from "node:test";
import { ANSWERS_SPOKEN, LINES, NO_ANSWERS, SOUNDS, SPEAKERS, sampleOf } from "../../test/answer-samples.ts";
import { MEANING } from "./answers.ts";
import { loadDecoders } from "./decoder.ts";
import type { RecognitionResult } from "./recognition-result.ts";
import { framesOf, onLine } from "./testing.ts";
import { UtteranceRecogniser } from "./utterance-recogniser.ts";

const decoders = await loadDecoders();
const lines = Object.values(LINES);

/** What one caller's recogniser hears in `samples` on line number `line`. */
function recognised(samples: Int16Array<ArrayBuffer>, line = 0): string {
  const results: RecognitionResult[] = [];
  const recogniser = new UtteranceRecogniser({ ...decoders, onResult: (result) => results.push(result) });
  recogniser.listenFor({ id: 1, what: "yes_no", have: 0, lengths: null, testWord: false });
  const flags = framesOf(samples).map(({ speech }) => speech);
  const onTheWay = framesOf(lines[line % lines.length]?.(samples) ?? samples);
  for (const [at, { frame }] of onTheWay.entries()) recogniser.push({ frame, speech: flags[at] ?? false });
  recogniser.listenFor(null);
  return results.map(({ kind }) => kind).find((kind) => kind !== "nothing") ?? "nothing";
}

test("every yes begins with yes or yeah and every no with no: what people say to others on the phone is neither", () => {
  for (const [phrase, { kind }] of MEANING) {
    assert.equal(kind === "yes", /^(yes|yeah)\b/.test(phrase), phrase);
    assert.equal(kind === "no", /^no\b/.test(phrase), phrase);
  }
  for (const phrase of ["okay", "sure", "right", "that's right", "that's correct", "correct"])
    assert.equal(MEANING.has(phrase), false, phrase);
});

for (const [kind, texts] of Object.entries(NO_ANSWERS)) {
  test(`${kind} neither confirm a payment nor refuse it (R-441; npm run bench -- consent has the rest)`, () => {
    for (const [at, text] of texts.entries()) if (at % 10 === 0) assert.equal(recognised(sampleOf(text, at), at), "nothing", text);
  });
}

test("noise, tones and music neither confirm a payment nor refuse it (R-441)", () => {
  for (const [name, sound] of SOUNDS) assert.equal(recognised(onLine(sound)), "nothing", name);
});

test("more than an answer is none, whatever is in it (R-441)", () => {
  const talk = "yes that's right i told you so yesterday and i will tell you again tomorrow morning";
  assert.equal(recognised(sampleOf(talk, 3)), "nothing");
});

test("the answers that the prompt asks for are heard from most speakers and never mistaken", () => {
  for (const [answer, [phrase]] of Object.entries(ANSWERS_SPOKEN)) {
    const all = Array.from(SPEAKERS, (_, speaker) => recognised(sampleOf(phrase, speaker)));
    assert.ok(
      all.every((kind) => kind === answer || kind === "nothing"),
      `${phrase}: ${all.join(" ")}`,
    );
    assert.ok(all.filter((kind) => kind === answer).length >= 7, `${phrase}: ${all.join(" ")}`);
  }
});

test('a lone "yes" confirms nothing: of "guess" a line that lost its first packet leaves the same (R-441)', () => {
  const lossy = Object.keys(LINES).indexOf("3 % loss");
  assert.equal(recognised(sampleOf("guess", 5), lossy), "nothing");
  assert.equal(recognised(sampleOf("yes", 6)), "nothing");
});
