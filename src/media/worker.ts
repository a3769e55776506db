/** The media worker thread: all RTP of a voice node. Nothing here may work for long; the pacer shares the thread. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock } from "#src/kernel/clock.ts";
import { errorCode } from "#src/kernel/errors.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { ReadingTurns } from "./arrival-times.ts";
import { Clip, SAMPLES_PER_MS } from "./clip.ts";
import { Pacer } from "./pacer.ts";
import type { PlaylistPart } from "./playlist.ts";
import type { EngineSettings, FromWorker, PlayPart, ToWorker } from "./protocol.ts";
import { loadVoiceActivity } from "./voice-activity.ts";
import { WorkerLeg } from "./worker-leg.ts";

const WATCH_EVERY_MS = 1_000;
const LATENESS_EVERY_MS = 250;
/** Nine of ten packets. */
const LATENESS_SHARE = 0.9;

const main = parentPort as MessagePort;
const settings = workerData as EngineSettings;
const turns = new ReadingTurns(() => systemClock.monotonic(), setImmediate);
const pacer = new Pacer(systemClock, () => turns.note());
const clips = new Map<string, Clip>();
const legs = new Map<number, WorkerLeg>();

function tell(message: FromWorker): void {
  main.postMessage(message);
}

function open({ leg, port, options, seed }: Extract<ToWorker, { type: "open" }>): void {
  const deps = {
    clock: systemClock,
    random: systemRandom,
    pacer,
    turns,
    createDetector,
    report: (event: object) => tell({ ...event, leg } as FromWorker),
  };
  try {
    legs.set(leg, new WorkerLeg({ ...deps, mediaLostAfterMs: settings.mediaLostAfterMs }, settings.bindHost, port, options, seed));
    tell({ type: "opened", leg, error: null });
  } catch (error) {
    tell({ type: "opened", leg, error: errorCode(error) || "unknown" });
  }
}

function close(number: number, leg: WorkerLeg): void {
  legs.delete(number);
  tell({ type: "closed", leg: number, stats: leg.close() });
}

function partOf(part: PlayPart): PlaylistPart[] {
  if ("silenceMs" in part) return [{ clip: Clip.silence(Math.round(part.silenceMs * SAMPLES_PER_MS)) }];
  const clip = "clip" in part ? clips.get(part.clip) : new Clip(part.ulaw);
  return clip ? [{ clip }] : [];
}

function handle(message: ToWorker): void {
  if (message.type === "loadClip") return void clips.set(message.name, new Clip(message.ulaw));
  if (message.type === "unloadClip") return void clips.delete(message.name);
  if (message.type === "open") return open(message);
  const leg = legs.get(message.leg);
  if (!leg) return;
  switch (message.type) {
    case "remote":
      return leg.setRemote(message.remote);
    case "play":
      return leg.play(message.id, message.parts.flatMap(partOf));
    case "stopPlayback":
      return leg.stopPlayback();
    case "sendDtmf":
      return leg.sendDtmf(message.id, message.digits, message.timing);
    case "relayDigit":
      return leg.relayDigit(message.digit);
    case "watchVoice":
      return leg.watchVoice(message.on);
    case "watchMedia":
      return leg.watchMedia(message.on);
    case "listen":
      return leg.listen(message.port);
    case "stopListening":
      return leg.stopListening();
    case "bridge": {
      const other = legs.get(message.other);
      return other && leg.bridge(other);
    }
    case "earlyMedia": {
      const other = legs.get(message.other);
      return other && leg.sendEarlyMediaTo(other);
    }
    case "catchUp":
      return turns.afterAllRead(() => tell({ type: "caughtUp", leg: message.leg }));
    case "close":
      return close(message.leg, leg);
  }
}

const createDetector = await loadVoiceActivity();
main.on("message", handle);
setInterval(
  () => {
    const now = systemClock.monotonic();
    for (const leg of legs.values()) leg.watch(now);
  },
  Math.min(WATCH_EVERY_MS, settings.mediaLostAfterMs / 4),
);
setInterval(() => {
  tell({ type: "lateness", ms: pacer.lateness.quantile(LATENESS_SHARE) });
  pacer.lateness.clear();
}, LATENESS_EVERY_MS);
tell({ type: "ready" });
