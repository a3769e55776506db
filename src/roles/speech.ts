import { access, constants } from "node:fs/promises";
import { type Config, isLoopbackHost } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { createRecogniser, type Recogniser, type SpeechEngine, tryEngine } from "#src/speech/index.ts";
import type { Modules } from "./modules.ts";

/** The package of `SPEECH=sherpa`, which is the operator's to install. */
const SHERPA = "sherpa-onnx-node";

type SpeechSettings = Pick<Config, "speech" | "speechKey" | "sherpaEncoder" | "sherpaDecoder" | "sherpaJoiner" | "sherpaTokens">;

/** What recognises speech by these settings; null: nothing does. */
export function speechEngine(config: SpeechSettings): SpeechEngine | null {
  if (config.speech === "off") return null;
  if (config.speech === "embedded") return { kind: "embedded" };
  if (config.speech !== "sherpa") return { kind: "websocket", url: config.speech, key: config.speechKey?.reveal() ?? null };
  const [encoder = "", decoder = "", joiner = "", tokens = ""] = sherpaFiles(config).map(([, path]) => path);
  return { kind: "sherpa", files: { encoder, decoder, joiner, tokens } };
}

const sherpaFiles = (config: SpeechSettings): (readonly [string, string])[] => [
  ["SHERPA_ENCODER", config.sherpaEncoder ?? ""],
  ["SHERPA_DECODER", config.sherpaDecoder ?? ""],
  ["SHERPA_JOINER", config.sherpaJoiner ?? ""],
  ["SHERPA_TOKENS", config.sherpaTokens ?? ""],
];

/** The host that what callers say is sent to; null when it stays on this machine. */
export function speechLeavesTo({ speech }: Pick<Config, "speech">): string | null {
  const host = /^wss?:/.test(speech) ? new URL(speech).hostname : null;
  return host === null || isLoopbackHost(host) ? null : host;
}

/** The first file of sherpa's that cannot be read, as one sentence; null when all can. */
export async function missingFile(config: SpeechSettings): Promise<string | null> {
  for (const [name, path] of sherpaFiles(config)) {
    const fault = await access(path, constants.R_OK).then(
      () => null,
      () => `${name}: the file ${JSON.stringify(path)} cannot be read.`,
    );
    if (fault !== null) return fault;
  }
  return null;
}

/** What the operator must install or set right before sherpa can recognise anything, as one sentence; null when nothing. */
async function sherpaFault(config: SpeechSettings): Promise<string | null> {
  try {
    import.meta.resolve(SHERPA);
  } catch {
    return `SPEECH: sherpa needs the package ${SHERPA}, which is not installed: npm install --no-save ${SHERPA}@1.13.8 in this project's folder.`;
  }
  return await missingFile(config);
}

/** What stands in the way of recognising anything, as one sentence; null when nothing. A model is not loaded for it. */
export async function speechFault(config: SpeechSettings): Promise<string | null> {
  if (config.speech === "sherpa") return await sherpaFault(config);
  const engine = speechEngine(config);
  const fault = engine?.kind === "websocket" ? await tryEngine(engine) : null;
  return fault && `SPEECH: ${fault}, asked at ${new URL(config.speech).host}.`;
}

/** The pool of speech workers; null when speech is off. Throws OperatorError when what recognises is not installed. */
export async function startRecogniser({ config, log, metrics, instruments, onEnd }: Modules): Promise<Recogniser | null> {
  const engine = speechEngine(config);
  if (engine === null) return null;
  if (engine.kind === "sherpa") {
    const missing = await sherpaFault(config);
    if (missing !== null) throw new OperatorError(missing);
    // Loaded once before anything depends on it: what is no model ends the process.
    const fault = await tryEngine(engine);
    if (fault !== null) throw new OperatorError(`SPEECH: ${fault}; its own words stand above.`);
  }
  const host = speechLeavesTo(config);
  if (host !== null) log.warn("speech_leaves_this_machine", { host });
  // A server may come later than this process; until then callers use the keypad.
  if (engine.kind === "websocket")
    void tryEngine(engine).then((reason) => reason !== null && log.warn("speech_recogniser_away", { reason }));
  const max = config.speechWorkers;
  const recogniser = createRecogniser({
    engine,
    ready: config.speechReady,
    max,
    onBusy: () => {
      instruments.countKeypadOnly();
      log.warn("speech_workers_busy", { count: max });
    },
    onDied: (reason) => {
      instruments.countSpeechFault();
      if (reason === null) log.error("speech_worker_died");
      else log.error("speech_recogniser_failed", { reason });
    },
  });
  metrics.gauge("speech_workers", "Speech workers that run, those kept ready included.", () => recogniser.counts.running);
  metrics.gauge("speech_workers_ready", "Speech workers that wait for a call.", () => recogniser.counts.ready);
  metrics.gauge("speech_workers_max", "SPEECH_WORKERS.", () => max);
  onEnd(() => recogniser.stop());
  return recogniser;
}
