import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test, type TestContext } from "node:test";
import { type ServerOptions, startRecogniserServer } from "../../test/recogniser-server.ts";
import { type Listener, createRecogniser, tryEngine } from "./recogniser.ts";
import type { ListenTask, RecognitionResult } from "./recognition-result.ts";
import { framesOf, utteranceOf } from "./testing.ts";

const known = ["four two four two four two four two four two four two four two four two", "one two three", "nine four", "one oh five"]
  .concat("yes that's right", "yes that's right i think")
  .map((text) => ({ text, samples: utteranceOf(text) }));

/** A call's listener at a server that knows these utterances. `say` speaks and answers what came of it. */
async function started(context: TestContext, options: Partial<ServerOptions> = {}, key: string | null = null) {
  const server = await startRecogniserServer({ known, ...options });
  context.after(() => server.close());
  const faults: (string | null)[] = [];
  const recogniser = createRecogniser({
    engine: { kind: "websocket", url: server.url, key },
    ready: 0,
    max: 1,
    onDied: (fault) => faults.push(fault),
  });
  context.after(() => recogniser.stop());
  const listener = await recogniser.acquire();
  assert.ok(listener);
  const results = new EventEmitter();
  listener.onResult = (result, task) => results.emit("result", result, task);
  const lost = new Promise<void>((resolve) => (listener.onLost = resolve));
  const say = async (text: string) => {
    const heard = once(results, "result");
    speak(listener, text);
    return (await heard) as [RecognitionResult, number];
  };
  return { server, recogniser, listener, faults, lost, say };
}

/** Sends an utterance the way the media engine does. */
function speak({ port }: Listener, text: string): void {
  const frames = framesOf(utteranceOf(text));
  while (frames.length > 0) port.postMessage(frames.splice(0, 3));
}

const task = (what: ListenTask["what"], changes: Partial<ListenTask> = {}): ListenTask => ({
  id: 1,
  what,
  have: 0,
  lengths: null,
  testWord: false,
  ...changes,
});

const digits = (text: string, final = true): RecognitionResult => ({
  kind: "digits",
  digits: Uint8Array.from(text, Number),
  final,
  certain: true,
});

test("each utterance is sent as PCM of 8 kHz over a connection of its own, and its transcript answers", async (context) => {
  const { server, listener, say } = await started(context);
  listener.listenFor(task("number"));
  assert.deepEqual(await say(known[0]?.text ?? ""), [digits("4242424242424242"), 1]);
  listener.listenFor(task("cvv", { id: 2 }));
  assert.deepEqual(await say("one two three"), [digits("123"), 2]);
  listener.listenFor(task("yes_no", { id: 3 }));
  assert.deepEqual(await say("yes that's right"), [{ kind: "yes" }, 3]);
  assert.equal(server.connections.length, 3);
  for (const { config, authorization } of server.connections) {
    assert.deepEqual(config, { sample_rate: 8_000, words: true, max_alternatives: 0 });
    assert.equal(authorization, undefined);
  }
});

test("digits read group by group are put behind one another", async (context) => {
  const { listener, say } = await started(context);
  listener.listenFor(task("zip", { lengths: [5] }));
  assert.deepEqual(await say("nine four"), [digits("94", false), 1]);
  assert.deepEqual(await say("one oh five"), [digits("105"), 1]);
});

test("a server may leave the connection open after its last result, say nothing of confidence, and ask for a key", async (context) => {
  const { server, listener, say } = await started(context, { staysOpen: true, confidence: null }, "geheim");
  listener.listenFor(task("yes_no"));
  assert.deepEqual(await say("yes that's right"), [{ kind: "yes" }, 1]);
  assert.equal(server.connections[0]?.authorization, "Bearer geheim");
});

test("more than a yes, and a yes that the server doubts, confirm nothing (R-441)", async (context) => {
  const sure = await started(context);
  sure.listener.listenFor(task("yes_no"));
  assert.deepEqual(await sure.say("yes that's right i think"), [{ kind: "nothing" }, 1]);
  const doubtful = await started(context, { confidence: 0.6 });
  doubtful.listener.listenFor(task("yes_no"));
  assert.deepEqual(await doubtful.say("yes that's right"), [{ kind: "nothing" }, 1]);
});

for (const [what, reason, options] of [
  ["breaks the connection", /^the recogniser (broke|closed) the connection$/, { breaks: () => true }],
  ["answers in another protocol", /^the recogniser answered in another protocol$/, { answer: "four two" }],
] as const) {
  test(`a call whose recogniser ${what} is told that it is lost, without a word of what was said`, async (context) => {
    const { recogniser, listener, faults, lost } = await started(context, options);
    listener.listenFor(task("cvv"));
    speak(listener, "one two three");
    await lost;
    assert.match(faults[0] ?? "", reason);
    assert.equal(faults.length, 1);
    assert.equal(recogniser.counts.running, 0);
  });
}

test("so is one whose recogniser is not there", async (context) => {
  const { server, listener, faults, lost } = await started(context);
  await server.close();
  listener.listenFor(task("cvv"));
  speak(listener, "one two three");
  await lost;
  assert.deepEqual(faults, ["the recogniser cannot be reached"]);
});

test("a server is asked without audio whether it is there", async () => {
  const server = await startRecogniserServer({ known: [] });
  const engine = { kind: "websocket", url: server.url, key: null } as const;
  assert.equal(await tryEngine(engine), null);
  assert.equal(server.connections[0]?.samples, 0);
  await server.close();
  assert.equal(await tryEngine(engine), "the recogniser cannot be reached");
});
