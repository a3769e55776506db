import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type AudioFrame, SAMPLES_PER_PACKET, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { loadDecoders } from "./decoder.ts";
import { UtteranceRecogniser } from "./utterance-recogniser.ts";
import { prepare, prepareCards } from "./fields.ts";
import type { FromListener, ToListener } from "./recognition-result.ts";

/**
 * The thread of one call's recogniser: audio comes on a port of its own, results go to the main thread. Spoken digits are JavaScript
 * strings here and nowhere else; the thread is ended with the call, which gives its memory back (docs/security.md, Memory).
 */
const main = parentPort as MessagePort;
const { port } = workerData as { port: MessagePort };

/** A stream that stands still this long is silent, and so is one whose port was closed. */
const STILL_MS = 100;
const SILENCE: AudioFrame = { frame: new Uint8Array(SAMPLES_PER_PACKET).fill(ULAW_SILENCE), speech: false };
const SILENT_FRAMES = STILL_MS / 20;

const decoders = await loadDecoders();
prepare(decoders);

const recogniser = new UtteranceRecogniser({
  ...decoders,
  onResult: (result, task) => {
    const message: FromListener = { result, task };
    main.postMessage(message, result.kind === "digits" ? [result.digits.buffer] : []);
  },
});

let still: NodeJS.Timeout | null = null;
function watchStream(): void {
  if (still) clearTimeout(still);
  still = recogniser.isWaiting ? setTimeout(onStill, STILL_MS) : null;
}
function onStill(): void {
  for (let frame = 0; frame < SILENT_FRAMES; frame++) recogniser.push(SILENCE);
  watchStream();
}

port.on("message", (frames: AudioFrame[]) => {
  for (const frame of frames) {
    recogniser.push(frame);
    frame.frame.fill(0);
  }
  watchStream();
});
main.on("message", ({ listen }: ToListener) => {
  recogniser.listenFor(listen);
  if (listen?.what === "number") prepareCards();
});
main.postMessage("ready");
