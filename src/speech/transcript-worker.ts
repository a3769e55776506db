import { workerData } from "node:worker_threads";
import { type ListenerData, serveCall, tell, tellResult } from "./listening.ts";
import { RecogniserFault, type SpeechEngine, type StreamingRecogniser } from "./streaming-recogniser.ts";
import { TranscriptRecogniser } from "./transcript-recogniser.ts";

/**
 * The thread of one call whose speech a recogniser of the operator's own transcribes. Its transcripts are strings here and nowhere else, and
 * the thread is ended with the call, as that of the embedded recogniser.
 */
type Engine = Exclude<SpeechEngine, { kind: "embedded" }>;
const { engine } = workerData as ListenerData<Engine>;

/** Each is loaded only where it is used. */
async function open(): Promise<StreamingRecogniser> {
  if (engine.kind === "websocket") return (await import("./websocket-recogniser.ts")).createWebSocketRecogniser(engine);
  return await (await import("./sherpa-recogniser.ts")).createSherpaRecogniser(engine.files);
}

/** A fault of another kind ends the thread: what its text says could be what was spoken. */
function onFault(error: unknown): void {
  tell({ fault: error instanceof RecogniserFault ? error.message : "the recogniser failed" });
}

try {
  const recogniser = await open();
  serveCall(() => new TranscriptRecogniser({ recogniser, onResult: tellResult, onFault }));
} catch (error) {
  onFault(error);
}
