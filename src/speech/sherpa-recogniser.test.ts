import assert from "node:assert/strict";
import { test } from "node:test";
import { tryEngine } from "./recogniser.ts";
import { createSherpaRecogniser } from "./sherpa-recogniser.ts";

const FILES = { encoder: "e.onnx", decoder: "d.onnx", joiner: "j.onnx", tokens: "t.txt" };

type Library = NonNullable<Parameters<typeof createSherpaRecogniser>[1]>;

/** A library of the same interface that hears a word for each 800 samples, once it has decoded them. */
function library(onConfig: (config: object) => void): Library {
  class OnlineRecognizer {
    constructor(config: object) {
      onConfig(config);
    }
    createStream() {
      return {
        waiting: 0,
        heard: 0,
        acceptWaveform({ samples, sampleRate }: { samples: Float32Array; sampleRate: number }) {
          assert.equal(sampleRate, 8_000);
          this.waiting += samples.length;
        },
        inputFinished() {
          this.waiting += 800;
        },
      };
    }
    isReady({ waiting }: { waiting: number }) {
      return waiting >= 800;
    }
    decode(stream: { waiting: number; heard: number }) {
      stream.waiting -= 800;
      stream.heard++;
    }
    getResult({ heard }: { heard: number }) {
      return { text: " FOUR".repeat(heard) };
    }
  }
  return (() => Promise.resolve({ default: { OnlineRecognizer } })) as unknown as Library;
}

test("sherpa has its four files, hears while it is spoken to, and the silence behind an utterance", async () => {
  const configs: object[] = [];
  const recogniser = await createSherpaRecogniser(
    FILES,
    library((config) => configs.push(config)),
  );
  const { modelConfig } = configs[0] as { modelConfig: object };
  assert.deepEqual(modelConfig, {
    transducer: { encoder: "e.onnx", decoder: "d.onnx", joiner: "j.onnx" },
    tokens: "t.txt",
    numThreads: 1,
    provider: "cpu",
    debug: 0,
  });
  const utterance = recogniser.begin();
  utterance.feed(new Float32Array(1_600));
  assert.deepEqual(utterance.peek(), [
    { word: "four", confidence: null },
    { word: "four", confidence: null },
  ]);
  assert.equal((await utterance.finish()).length, 2 + 5 + 1);
  assert.deepEqual(recogniser.begin().peek(), []);
});

test("a package that is not there and a model that it does not take are told in words that are known", async () => {
  const missing = () => Promise.reject(new Error("Cannot find package"));
  await assert.rejects(createSherpaRecogniser(FILES, missing), { message: "sherpa-onnx-node cannot be loaded" });
  const refusing = library(() => {
    throw new Error("Please check your config!");
  });
  await assert.rejects(createSherpaRecogniser(FILES, refusing), { message: "sherpa-onnx-node does not take the model" });
});

test("a worker that cannot load the package says so instead of serving", async () => {
  assert.equal(await tryEngine({ kind: "sherpa", files: FILES }), "sherpa-onnx-node cannot be loaded");
});
