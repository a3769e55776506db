import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListenTask, RecognitionResult } from "./recognition-result.ts";
import type { HeardWord, Transcription } from "./streaming-recogniser.ts";
import { framesOf, onLine, tones, utteranceOf } from "./testing.ts";
import { wordsOf } from "./transcript.ts";
import { TranscriptRecogniser } from "./transcript-recogniser.ts";

/** A recogniser whose transcripts come when the test says so. */
function started(what: ListenTask["what"], text = "") {
  const begun: { samples: number; isCancelled: boolean; isFinished: boolean; transcript: PromiseWithResolvers<readonly HeardWord[]> }[] =
    [];
  const results: RecognitionResult[] = [];
  const faults: unknown[] = [];
  const recogniser = new TranscriptRecogniser({
    recogniser: {
      begin(): Transcription {
        const one = { samples: 0, isCancelled: false, isFinished: false, transcript: Promise.withResolvers<readonly HeardWord[]>() };
        begun.push(one);
        return {
          feed: ({ length }) => void (one.samples += length),
          peek: () => wordsOf(text),
          finish: () => ((one.isFinished = true), one.transcript.promise),
          cancel: () => void (one.isCancelled = true),
        };
      },
    },
    onResult: (result) => results.push(result),
    onFault: (error) => faults.push(error),
  });
  const ask = (task: Partial<ListenTask>) => recogniser.listenFor({ id: 1, what, have: 0, lengths: null, testWord: false, ...task });
  const hear = (sound: Int16Array, ms = Infinity) => {
    for (const frame of framesOf(sound).slice(0, ms / 20)) recogniser.push(frame);
  };
  /** Milliseconds of silence until the utterance is taken for over. */
  const patience = () => {
    const silence = framesOf(onLine([], { beforeMs: 0, afterMs: 3_000 })).map(({ frame }) => ({ frame, speech: false }));
    const at = silence.findIndex((frame) => (recogniser.push(frame), begun.at(-1)?.isFinished));
    return (at + 1) * 20;
  };
  const transcribe = async (at: number, words: string) => {
    begun[at]?.transcript.resolve(wordsOf(words));
    await new Promise(setImmediate);
  };
  return { recogniser, begun, results, faults, ask, hear, patience, transcribe };
}

const WORD = utteranceOf("seven", { afterMs: 0 });

test("what is said to no question is given to no recogniser", () => {
  const { recogniser, begun, ask, hear } = started("zip");
  hear(WORD);
  ask({});
  recogniser.listenFor(null);
  hear(WORD);
  assert.deepEqual(begun, []);
});

test("an utterance is over sooner when what was heard is whole, and later while digits are missing", () => {
  const [whole = 0, other = 0, part = 0] = ["one two three", "what", "one"].map((text) => {
    const { ask, hear, patience } = started("cvv", text);
    ask({});
    hear(WORD);
    return patience();
  });
  assert.deepEqual([other - whole, part - whole], [400, 1_500]);
});

test("a transcript that comes after another question was asked is no answer: a late yes confirms nothing (R-441)", async () => {
  const { begun, results, ask, hear, patience, transcribe } = started("yes_no");
  ask({});
  hear(utteranceOf("yes that's right", { afterMs: 0 }));
  patience();
  ask({ what: "number" });
  ask({});
  await transcribe(0, "yes that's right");
  assert.deepEqual(results, []);
  assert.equal(begun[0]?.isCancelled, false);
});

test("speech under way when another question comes is forgotten", () => {
  const { begun, ask, hear } = started("zip");
  ask({});
  hear(WORD, 900);
  ask({ have: 1 });
  assert.equal(begun[0]?.isCancelled, true);
});

test("transcripts that overtake one another answer in the order in which they were said", async () => {
  const { results, ask, hear, patience, transcribe } = started("zip", "one two three four five");
  ask({ lengths: [5] });
  hear(WORD);
  patience();
  hear(WORD);
  patience();
  await transcribe(1, "one oh five");
  assert.deepEqual(results, []);
  await transcribe(0, "nine four");
  const [first, second] = results;
  assert.deepEqual(first, { kind: "digits", digits: Uint8Array.of(9, 4), final: false, certain: true });
  assert.deepEqual(second, { kind: "digits", digits: Uint8Array.of(1, 0, 5), final: true, certain: true });
});

test("a tone is no voice, and confirms nothing whatever it is transcribed as (R-441)", async () => {
  const { results, ask, hear, patience, transcribe } = started("yes_no", "yes that's right");
  ask({});
  hear(onLine(tones([{ hertz: [440], onMs: 800 }]), { afterMs: 0 }));
  patience();
  await transcribe(0, "yes that's right");
  assert.deepEqual(results, [{ kind: "nothing" }]);
});

test("a recogniser that fails is told once to whoever answers for it", async () => {
  const { begun, results, faults, ask, hear, patience } = started("cvv");
  ask({});
  hear(WORD);
  patience();
  const fault = new Error("broken");
  begun[0]?.transcript.reject(fault);
  await new Promise(setImmediate);
  assert.deepEqual([results, faults], [[], [fault]]);
});
