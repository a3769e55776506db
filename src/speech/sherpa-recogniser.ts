import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { RecogniserFault, type SherpaFiles, type StreamingRecogniser } from "./streaming-recogniser.ts";
import { wordsOf } from "./transcript.ts";

/** What its models are trained on; the library resamples. */
const MODEL_RATE_HZ = 16_000;
/** Silence behind an utterance: the encoder looks ahead. */
const TAIL = new Float32Array(SAMPLE_RATE_HZ / 2);

const load = () => import("sherpa-onnx-node");

/**
 * sherpa-onnx in this process, with the streaming transducer that the operator has put on the disk. Its package is the operator's to install:
 * `library` loads it. Rejects with a RecogniserFault. It says nothing of how sure it is.
 */
export async function createSherpaRecogniser(files: SherpaFiles, library: typeof load = load): Promise<StreamingRecogniser> {
  const { encoder, decoder, joiner, tokens } = files;
  const { OnlineRecognizer } = (await library().catch(() => fail("sherpa-onnx-node cannot be loaded"))).default;
  const open = () => {
    try {
      return new OnlineRecognizer({
        featConfig: { sampleRate: MODEL_RATE_HZ, featureDim: 80 },
        modelConfig: { transducer: { encoder, decoder, joiner }, tokens, numThreads: 1, provider: "cpu", debug: 0 },
        decodingMethod: "greedy_search",
        enableEndpoint: 0,
      });
    } catch {
      return fail("sherpa-onnx-node does not take the model");
    }
  };
  const recogniser = open();
  return {
    begin() {
      const stream = recogniser.createStream();
      const feed = (samples: Float32Array) => {
        stream.acceptWaveform({ sampleRate: SAMPLE_RATE_HZ, samples });
        while (recogniser.isReady(stream)) recogniser.decode(stream);
      };
      const words = () => wordsOf(recogniser.getResult(stream).text);
      return {
        feed,
        peek: words,
        finish() {
          feed(TAIL);
          stream.inputFinished();
          while (recogniser.isReady(stream)) recogniser.decode(stream);
          return Promise.resolve(words());
        },
        cancel() {},
      };
    },
  };
}

function fail(reason: string): never {
  throw new RecogniserFault(reason);
}
