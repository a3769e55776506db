import type { Clock } from "#src/kernel/clock.ts";
import type { LanguageTag } from "#src/kernel/language.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { Log, Outbound } from "#src/platform/index.ts";
import { cached, SOUND, type RenderOptions, type Synthesiser } from "./synthesiser.ts";
import { writeWav } from "./wav.ts";

/** A voice behind a text-to-speech endpoint that the operator names (`VOICE`), of the common form `POST /v1/audio/speech`. */
export interface EndpointVoice {
  /**
   * `text` spoken: mu-law at 8000 Hz. What is kept (`keep`) is asked for ahead of the calls alone; for a call it comes from the disk, or not at
   * all: no endpoint learns from a request which of the fixed words a call needed, such as the last digits of a card. Rejects then, and for whatever
   * the endpoint does wrong.
   */
  render(text: string, options: EndpointRenderOptions): Promise<Uint8Array>;
}

export interface EndpointRenderOptions extends RenderOptions {
  language: LanguageTag;
}

export interface EndpointVoiceOptions {
  url: string;
  model: string;
  /** The endpoint's names for its voices: one for each language, or for all others. */
  voices: { all: string; of: Readonly<Partial<Record<LanguageTag, string>>> };
  /** Shown as a Bearer token. */
  key: Secret | null;
  format: "wav" | "pcm";
  outbound: Outbound;
  /** Folder where renderings are kept; null: nothing is kept. */
  cacheDir: string | null;
  convert: Synthesiser["convert"];
  clock: Clock;
  log: Log;
  /** Ends what is under way, and all that is asked for later. */
  signal: AbortSignal;
}

/** A caller hears the greeting meanwhile, some two seconds. */
const CALL_TIMEOUT_MS = 1_500;
const AHEAD_TIMEOUT_MS = 30_000;
/** After a failure no call asks for so long. */
const PAUSE_MS = 30_000;
/** A failure is told again after so long. */
const TELL_MS = 600_000;
/** Some 80 s at 48 kHz. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Nothing that is said is shorter: 0.1 s of mu-law. */
const FEWEST_SAMPLES = 800;
/** `pcm` is 16-bit at this rate, without a head. */
const PCM_HZ = 24_000;

/** Why nothing was rendered; the words are constants: they reach the log. */
class Failure extends Error {}

export function createEndpointVoice(options: EndpointVoiceOptions): EndpointVoice {
  const { url, model, voices, key, format, outbound, cacheDir, convert, clock, log, signal } = options;
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key.reveal()}` }) };
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let toldAt = Number.NEGATIVE_INFINITY;

  const ask = async (voice: string, input: string, isAhead: boolean): Promise<Uint8Array> => {
    const answer = await outbound.send({
      method: "POST",
      url,
      headers,
      body: Buffer.from(JSON.stringify({ model, voice, input, response_format: format })),
      timeoutMs: isAhead ? AHEAD_TIMEOUT_MS : CALL_TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      signal,
    });
    if (answer.kind !== "answered") throw new Failure(answer.reason);
    if (answer.status !== 200) throw new Failure(`status ${answer.status}`);
    const wav = format === "pcm" ? writeWav(answer.body, { rate: PCM_HZ, bits: 16 }) : answer.body;
    const ulaw = await convert(wav, { isAhead }).catch(() => null);
    if (!ulaw || ulaw.length < FEWEST_SAMPLES) throw new Failure("no speech in the answer");
    return ulaw;
  };

  const fetched = async (voice: string, text: string, isAhead: boolean): Promise<Uint8Array> => {
    if (!isAhead && clock.monotonic() < pausedUntil) throw new Failure("failed a moment ago");
    try {
      const ulaw = await ask(voice, text, isAhead);
      pausedUntil = Number.NEGATIVE_INFINITY;
      return ulaw;
    } catch (error) {
      const now = clock.monotonic();
      pausedUntil = now + PAUSE_MS;
      if (!signal.aborted && now >= toldAt + TELL_MS) {
        toldAt = now;
        log.warn("voice_endpoint_failed", { reason: error instanceof Failure ? error.message : "failed" });
      }
      throw error;
    }
  };

  return {
    async render(text, { language, keep = true, isAhead = false }) {
      const voice = voices.of[language] ?? voices.all;
      if (!keep) return await fetched(voice, text, isAhead);
      const make = () => (isAhead ? fetched(voice, text, isAhead) : Promise.reject(new Failure("not rendered yet")));
      return cacheDir === null ? await make() : await cached(cacheDir, [url, SOUND, model, voice, language, text], make);
    },
  };
}
