import { createOutbound } from "#src/platform/index.ts";
import { createEndpointVoice, createSynthesiser, type EndpointVoice, type Synthesiser } from "#src/speech/index.ts";
import type { Modules } from "./modules.ts";

export interface Voices {
  synthesiser: Synthesiser;
  /** Null: `VOICE` is embedded. */
  endpoint: EndpointVoice | null;
  /** Ends what is being rendered. */
  stop(): Promise<void>;
}

/** The operator names the endpoint, so it may be in his own network; link-local addresses, with the cloud's metadata, stay out of reach. */
const OWN_NETWORKS = ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"];

/** What speaks, as the settings say. Rendered prompts are kept in `cacheDir`. */
export function openVoices({ config, clock, log }: Pick<Modules, "config" | "clock" | "log">, cacheDir: string): Voices {
  const synthesiser = createSynthesiser({ cacheDir });
  if (config.voice === "embedded") return { synthesiser, endpoint: null, stop: () => synthesiser.stop() };
  const ending = new AbortController();
  const endpoint = createEndpointVoice({
    url: config.voice,
    model: config.voiceModel,
    voices: config.voiceName,
    key: config.voiceKey,
    format: config.voiceFormat,
    outbound: createOutbound({ allow: [...config.outboundAllow, ...OWN_NETWORKS] }),
    cacheDir,
    convert: (wav, options) => synthesiser.convert(wav, options),
    clock,
    log,
    signal: ending.signal,
  });
  return {
    synthesiser,
    endpoint,
    stop() {
      ending.abort();
      return synthesiser.stop();
    },
  };
}
