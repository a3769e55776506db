import { workerData } from "node:worker_threads";
import { loadDecoders } from "./decoder.ts";
import { prepare } from "./fields.ts";
import { serveCall, tell, tellResult } from "./listening.ts";
import { UtteranceRecogniser } from "./utterance-recogniser.ts";
import { type EmbeddedListenerData, verifyingBy } from "./verifier-thread.ts";

/**
 * The thread of one call's embedded recogniser: audio comes on a port of its own, results go to the main thread. Spoken digits are
 * JavaScript strings in speech workers and nowhere else; the thread is ended with the call, which gives its memory back (docs/security.md, Memory).
 */
const { verifier } = workerData as EmbeddedListenerData;
const decoders = await loadDecoders(verifier && verifyingBy(verifier));
prepare(decoders);

serveCall(
  (framesAhead) => new UtteranceRecogniser({ ...decoders, framesAhead, onSpeech: () => tell({ speech: true }), onResult: tellResult }),
);
