import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { type AudioFrame, SAMPLES_PER_PACKET, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { type FromListener, type ListenTask, READY, type RecognitionResult, type ToListener } from "./recognition-result.ts";

/** What a speech worker has of the main thread. */
export interface ListenerData<Engine> {
  /** The call's audio. */
  port: MessagePort;
  engine: Engine;
}

interface CallRecogniser {
  push(frame: AudioFrame): void;
  listenFor(task: ListenTask | null): void;
  /** An utterance is under way. */
  readonly isWaiting: boolean;
}

/** The frames that came while one was being worked on, as many of them as asked for if there are so many: those that are pushed next. */
export type FramesAhead = (count: number) => readonly AudioFrame[];

/** A stream that stands still this long is silent, and so is one whose port was closed. */
const STILL_MS = 100;
const SILENCE: AudioFrame = { frame: new Uint8Array(SAMPLES_PER_PACKET).fill(ULAW_SILENCE), speech: false };
const SILENT_FRAMES = STILL_MS / 20;

/** In a speech worker: sends a message to the main thread. */
export function tell(message: FromListener | typeof READY): void {
  (parentPort as MessagePort).postMessage(message);
}

export function tellResult(result: RecognitionResult, task: number): void {
  const message: FromListener = { result, task };
  (parentPort as MessagePort).postMessage(message, result.kind === "digits" ? [result.digits.buffer] : []);
}

/** In a speech worker: serves the call whose audio comes on the worker's port. */
export function serveCall(recogniserOf: (framesAhead: FramesAhead) => CallRecogniser): void {
  const { port } = workerData as ListenerData<unknown>;
  const waiting: AudioFrame[] = [];
  const recogniser = recogniserOf((count) => {
    while (waiting.length < count) {
      const sent = receiveMessageOnPort(port);
      if (!sent) break;
      waiting.push(...(sent.message as AudioFrame[]));
    }
    return waiting.slice(0, count);
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
    waiting.push(...frames);
    for (let frame = waiting.shift(); frame; frame = waiting.shift()) {
      recogniser.push(frame);
      frame.frame.fill(0);
    }
    watchStream();
  });
  (parentPort as MessagePort).on("message", ({ listen }: ToListener) => {
    recogniser.listenFor(listen);
  });
  tell(READY);
}
