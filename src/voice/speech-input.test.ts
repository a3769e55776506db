import assert from "node:assert/strict";
import { MessageChannel } from "node:worker_threads";
import { test } from "node:test";
import type { ConversationEvent } from "#src/conversation/index.ts";
import type { Listener } from "#src/speech/index.ts";
import { SpeechInput } from "./speech-input.ts";

type Task = Parameters<Listener["listenFor"]>[0];

/** A speech input with a recogniser whose one listener is driven by the test. */
async function started(onListen: () => void = () => {}) {
  const { port1 } = new MessageChannel();
  port1.close();
  const fed: ConversationEvent[] = [];
  const tasks: Task[] = [];
  const heard: string[] = [];
  const listener: Listener = {
    port: port1,
    listenFor: (task) => void tasks.push(task),
    stopListening() {},
    onResult() {},
    onLost() {},
    stop: () => Promise.resolve(),
  };
  const input = new SpeechInput({
    audio: { watchVoice() {}, listen: () => (heard.push("listen"), onListen()), stopListening: () => void heard.push("stop") },
    recogniser: { acquire: () => Promise.resolve(listener), expectSpeech: async () => {} },
    testWord: false,
    feed: (event) => void fed.push(event),
  });
  const ask = (what: Task["what"], have = 0) => {
    input.listenFor({ what, have, lengths: null });
    return tasks.at(-1)?.id ?? 0;
  };
  input.listenFor({ what: "zip", have: 0, lengths: null });
  input.speechStarted();
  // The listener comes from the pool in a later turn of the event loop.
  await new Promise(setImmediate);
  const answers = () => fed.filter(({ type }) => type === "recognised");
  return { input, listener, fed, heard, ask, answers, first: tasks.at(-1)?.id ?? 0 };
}

test("an answer to the question asked is passed on, also when the question was asked once more meanwhile", async () => {
  const { listener, ask, answers, first } = await started();
  ask("zip");
  listener.onResult({ kind: "nothing" }, first);
  assert.deepEqual(answers(), [{ type: "recognised", result: { kind: "nothing" } }]);
});

test("what was said to a former question never answers this one: a late yes confirms nothing (R-441)", async () => {
  const { listener, ask, answers, first } = await started();
  const readBack = ask("yes_no");
  listener.onResult({ kind: "yes" }, first);
  ask("number");
  ask("yes_no");
  listener.onResult({ kind: "yes" }, readBack);
  assert.deepEqual(answers(), []);
});

test("digits that were spoken before another was keyed do not go behind it", async () => {
  const { listener, ask, answers, first } = await started();
  ask("zip", 1);
  listener.onResult({ kind: "digits", digits: Uint8Array.of(9, 4), final: false, certain: true }, first);
  assert.deepEqual(answers(), []);
});

test("a call whose speech worker died hears that its keypad is to be used, and its audio goes to nobody", async () => {
  const { listener, fed, heard } = await started();
  listener.onLost();
  assert.deepEqual(fed.at(-1), { type: "speech_unavailable" });
  assert.deepEqual(heard, ["listen", "stop"]);
});

test("so does a call whose speech worker dies before it has the audio", async () => {
  const { fed } = await started(() => {
    throw new Error("the port is closed");
  });
  assert.deepEqual(fed.at(-1), { type: "speech_unavailable" });
});

test("nothing is passed on while nothing is asked", async () => {
  const { input, listener, answers, first } = await started();
  input.stopListening();
  listener.onResult({ kind: "yes" }, first);
  assert.deepEqual(answers(), []);
});
