import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConversationEvent, createConversation, type PaymentResult } from "#src/conversation/index.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { ConversationDriver } from "./conversation-driver.ts";
import { SpeechInput } from "./speech-input.ts";

const NUMBER = "4242424242424242";

/** A conversation whose clock the test moves; time passes without timers while the thread is held up. */
function rig() {
  const clock = new ManualClock(1_000);
  let lastId = "";
  const settled = Promise.withResolvers<PaymentResult>();
  let caughtUp = Promise.withResolvers<void>();
  caughtUp.resolve();
  const audio = { watchVoice() {}, listen() {}, stopListening() {} };
  const prompts: string[] = [];
  const played: string[][] = [];
  /** Parts that are no prompt's. */
  const tones: unknown[] = [];
  const silencesMs: number[] = [];
  /** The amount's sentence takes its time. */
  const rendered = Promise.withResolvers<void>();
  const events: ConversationEvent["type"][] = [];
  const machine = createConversation({
    language: "en-US",
    mode: "charge",
    amountMinor: 100,
    currency: "USD",
    collect: ["number", "expiry"],
    attempts: 3,
    tries: 3,
    merchant: null,
    acceptedBrands: [],
    wordings: [],
    readBack: true,
    timeouts: { firstDigitMs: 10_000, betweenDigitsMs: null },
    testWord: false,
    spokenNames: false,
    speech: false,
    transfersBack: false,
    country: "US",
    nowMs: Date.UTC(2026, 10, 22),
  });
  const driver = new ConversationDriver({
    machine: {
      feed(event) {
        events.push(event.type);
        return machine.feed(event);
      },
    },
    playback: {
      play(id, parts) {
        lastId = id;
        const clips = parts.flatMap((part) => ("clip" in part ? [part.clip] : []));
        if (clips.length > 0) played.push(clips);
        else tones.push(...parts);
        silencesMs.push(...parts.map((part) => ("silenceMs" in part ? part.silenceMs : 0)));
      },
      stopPlayback() {},
      caughtUp: () => caughtUp.promise,
    },
    speechInput: new SpeechInput({ audio, recogniser: null, testWord: false, feed() {} }),
    prompts: {
      clips(sentences) {
        const ids = sentences.map(({ id }) => id);
        return ids.includes("you_pay") ? rendered.promise.then(() => ids) : ids;
      },
      preload: async () => {},
      prepare: async () => {},
    },
    clock,
    settle: () => settled.promise,
    skip: () => Promise.resolve({ kind: "approved" }),
    onPrompt: (prompt) => prompts.push(prompt),
    onClosing() {},
    onFinish() {},
  });
  driver.feed({ type: "answered" });
  const key = (digits: string, at: number, everyMs = 200) => {
    for (const [index, digit] of digits.split("").entries()) driver.press(digit === "#" ? 11 : Number(digit), at + index * everyMs);
  };
  const hold = () => {
    caughtUp = Promise.withResolvers();
    return caughtUp;
  };
  const heardOut = () => driver.played(lastId);
  return { clock, prompts, played, silencesMs, tones, rendered, events, settled, key, heardOut, hold };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("the first word waits until those between us and the caller have opened his path, no other does", async () => {
  const { silencesMs, key } = rig();
  assert.deepEqual(silencesMs, [300, 0]);
  key(`${NUMBER}#`, 1_000);
  assert.deepEqual(silencesMs, [300, 0, 0]);
});

test("digits that were pressed in time are not cut off by a timer that comes to run before them (R-228)", async () => {
  const { clock, prompts, key, hold } = rig();
  key(NUMBER.slice(0, 14), 1_000);
  const { resolve } = hold();
  // Five seconds are over before the thread gets to look; the other digits wait in the media thread.
  clock.advance(20_000);
  await turn();
  assert.deepEqual(prompts, ["greeting"]);
  key(NUMBER.slice(14), 4_000);
  resolve();
  await turn();
  assert.deepEqual(prompts, ["greeting", "ask_expiry"]);
});

test("the pause between digits runs from when the last one was pressed, however late it was noticed (R-228)", async () => {
  const { clock, prompts, key } = rig();
  clock.advance(4_000);
  key("4242", 1_000);
  clock.advance(1_500);
  await turn();
  assert.deepEqual(prompts, ["greeting"]);
  // 5 s after the last digit, which was pressed at 1.6 s.
  clock.advance(200);
  await turn();
  assert.deepEqual(prompts, ["greeting", "number_length"]);
});

test("a pause that was over before the next digit ends the answer before it, although both are noticed together (R-228)", () => {
  const { clock, events, prompts, key } = rig();
  key("4242", 1_000);
  key("5", 1_600 + 5_001);
  assert.deepEqual(events.slice(-2), ["timer", "dtmf"]);
  assert.deepEqual(prompts, ["greeting", "number_length"]);
  clock.advance(10);
});

test("digits typed ahead of a refused answer are told from the next answer by when they were pressed (R-228)", () => {
  const { prompts, key } = rig();
  key("4242424242424241#", 1_000);
  assert.deepEqual(prompts, ["greeting", "number_invalid"]);
  // The rest of what was typed ahead, and after a pause of 600 ms the number again; all noticed at once.
  key("1230", 4_600);
  key(NUMBER, 5_900);
  assert.deepEqual(prompts, ["greeting", "number_invalid", "ask_expiry"]);
});

test("while an amount is being rendered the caller hears the first sentence, then the rest", async () => {
  const { played, rendered } = rig();
  assert.deepEqual(played, [["greeting"]]);
  rendered.resolve();
  await turn();
  assert.deepEqual(played, [["greeting"], ["you_pay", "ask_number_keypad"]]);
});

test("a caller whose payment takes its time hears a soft tone between the sentences that ask for patience, never three seconds of nothing", async () => {
  const { clock, prompts, tones, settled, key, heardOut } = rig();
  key(`${NUMBER}#1230#1`, 1_000);
  assert.equal(prompts.at(-1), "one_moment");
  assert.deepEqual(tones, []);
  heardOut();
  const silences = () => tones.flatMap((part) => (part as { silenceMs?: number }).silenceMs ?? []);
  const lengthMs = () => tones.reduce<number>((sum, part) => sum + ((part as { ulaw?: Uint8Array }).ulaw?.length ?? 0) / 8, 0);
  assert.ok(Math.max(...silences()) < 3_000);
  // Until the next sentence, at the latest.
  assert.ok(silences().reduce((sum, ms) => sum + ms, lengthMs()) >= 10_000);
  const once = tones.length;
  heardOut();
  assert.equal(tones.length, once, "its end is nothing");
  clock.advance(15_000);
  await turn();
  assert.equal(prompts.at(-1), "still_working");
  heardOut();
  assert.equal(tones.length, 2 * once);
  settled.resolve({ kind: "approved" });
  await turn();
  assert.equal(prompts.at(-1), "success");
  heardOut();
  assert.equal(tones.length, 2 * once);
});
