import { lookup } from "node:dns/promises";
import { createMediaEngine } from "#src/media/index.ts";
import { createReach, parseCidrs, resolveName } from "#src/platform/index.ts";
import { createUserAgent, type UserAgent } from "#src/sip/index.ts";
import { createRecogniser, createSynthesiser } from "#src/speech/index.ts";
import { createCallService, parseTrunk, type CallService } from "#src/voice/index.ts";
import { VERSION } from "#src/version.ts";
import type { Modules } from "./modules.ts";

export interface VoiceRole {
  /** The SIP listener's. */
  port: number;
  calls: Pick<CallService, "activeCalls" | "callIds">;
  /** Refuses new calls; those that run go on. */
  drain(): void;
  /** Resolves when no call is left. */
  idle(): Promise<void>;
}

/** Calls at a time on one process; the next is told to come again. */
const MAX_CALLS = 1000;
/** Speech workers kept ready. A call takes one when its caller first speaks. */
const SPEECH_WORKERS = 4;

/** Takes calls: media, speech, the SIP listener. Rendered prompts are kept in the folder `promptCache`. */
export async function startVoiceRole(modules: Modules, promptCache: string): Promise<VoiceRole> {
  const { config, clock, random, owner, log, metrics, instruments, database, sessions, projects, payments, onEnd } = modules;
  const mediaHost = (await lookup(config.sipPublicHost)).address;
  const media = createMediaEngine({
    bindHost: (await lookup(config.sipHost)).address,
    ports: [config.rtpPorts.first, config.rtpPorts.last],
    random,
    onFailure: (error) => log.error("media_thread_died", { error }),
  });
  await media.start();
  onEnd(() => media.stop());
  const speaker = createSynthesiser({ cacheDir: promptCache });
  let isStopping = false;
  onEnd(() => {
    isStopping = true;
    return speaker.stop();
  });
  const recogniser = config.speech === "off" ? null : createRecogniser({ size: SPEECH_WORKERS });
  if (recogniser) {
    await recogniser.start();
    onEnd(() => recogniser.stop());
  }
  const trunk = config.sipOutbound && parseTrunk(config.sipOutbound.reveal());
  const calls = createCallService(
    {
      database,
      sessions,
      projects,
      payments,
      media,
      voice: speaker,
      recogniser,
      clock,
      random,
      log,
      settings: {
        owner,
        mediaHost,
        publicHost: config.sipPublicHost,
        trunk,
        maxCalls: MAX_CALLS,
      },
    },
    () => userAgent,
  );
  const userAgent: UserAgent = createUserAgent({
    clock,
    random,
    host: config.sipHost,
    port: config.sipPort,
    publicHost: config.sipPublicHost,
    userAgent: `Voicetill/${VERSION}`,
    trunks: config.sipTrunks,
    log,
    mayReach: sipReach(modules, trunk?.host.replace(/^\[|\]$/g, "") ?? null),
    onInvite: (call) => {
      instruments.countCall();
      calls.onInvite(call);
    },
  });
  const { port } = await userAgent.start();
  metrics.gauge("calls_active", "Calls under way.", () => calls.activeCalls);
  metrics.gauge("sip_transactions", "SIP transactions under way.", () => userAgent.activeTransactions);
  onEnd(() => userAgent.stop());
  calls.preload().catch((error: unknown) => isStopping || log.error("prompts_not_rendered", { error }));
  const drain = () => {
    calls.drain();
    userAgent.drain();
  };
  return { port, calls, drain, idle: () => calls.idle() };
}

/** Callbacks are merchants' to choose, the trunk for numbers is the operator's. */
function sipReach({ config, ownHosts }: Modules, trunk: string | null): (address: string) => Promise<boolean> {
  const mayReach = createReach({ allow: parseCidrs("OUTBOUND_ALLOW", config.outboundAllow), ownHosts });
  const isTrunk = async (address: string) => trunk !== null && (await resolveName(trunk).catch((): string[] => [])).includes(address);
  return async (address) => (await mayReach([address])) || (await isTrunk(address));
}
