import { lookup } from "node:dns/promises";
import { createInviteWatch } from "#src/alarms/index.ts";
import { createMediaEngine } from "#src/media/index.ts";
import { createReach, parseCidrs, repeat } from "#src/platform/index.ts";
import { createUserAgent, type UserAgent } from "#src/sip/index.ts";
import { createRecogniser, createSynthesiser } from "#src/speech/index.ts";
import { createCallService, deleteOldUnmatched, type CallService } from "#src/voice/index.ts";
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
  /** Whether the SIP listener and the media thread do their work. */
  isServing(): Promise<boolean>;
}

/** Speech workers kept ready. A call takes one when its caller first speaks. */
const SPEECH_WORKERS = 4;
const HOUR_MS = 3_600_000;

/** Takes calls: media, speech, the SIP listener. Rendered prompts are kept in the folder `promptCache`. */
export async function startVoiceRole(modules: Modules, promptCache: string): Promise<VoiceRole> {
  const { config, clock, random, owner, log, metrics, instruments, database, sessions, projects, payments, trunks, onEnd } = modules;
  const mediaHost = (await lookup(config.sipPublicHost)).address;
  const { media, synthesiser, recogniser, isMediaDead, isStopping } = await startAudio(modules, promptCache);
  onEnd(
    repeat({
      clock,
      everyMs: HOUR_MS,
      task: () => deleteOldUnmatched(database.db),
      onFailure: (error) => log.warn("unmatched_not_deleted", { error }),
    }),
  );
  const calls = createCallService(
    {
      database,
      sessions,
      projects,
      payments,
      media,
      voice: synthesiser,
      recogniser,
      clock,
      random,
      log,
      settings: {
        owner,
        mediaHost,
        publicHost: config.sipPublicHost,
        phoneNumber: config.phoneNumber,
        trunks,
        transfers: { atOnce: config.transfersAtOnce, perDay: config.transfersPerDay },
        maxCalls: config.maxCalls,
      },
    },
    () => userAgent,
  );
  const watchInvites = createInviteWatch({ clock, log });
  const userAgent: UserAgent = createUserAgent({
    clock,
    random,
    host: config.sipHost,
    port: config.sipPort,
    publicHost: config.sipPublicHost,
    userAgent: `Voicetill/${VERSION}`,
    trunks: config.sipTrunks,
    log,
    mayReach: sipReach(modules),
    onInvite: (call) => {
      instruments.countCall();
      watchInvites(call.source.address);
      calls.onInvite(call);
    },
  });
  const { port } = await userAgent.start();
  metrics.gauge("calls_active", "Calls under way.", () => calls.activeCalls);
  metrics.gauge("sip_transactions", "SIP transactions under way.", () => userAgent.activeTransactions);
  onEnd(() => userAgent.stop());
  calls.preload().catch((error: unknown) => isStopping() || log.error("prompts_not_rendered", { error }));
  const drain = () => {
    calls.drain();
    userAgent.drain();
  };
  const isServing = async () => !isMediaDead() && (await userAgent.isServing());
  return { port, calls, drain, idle: () => calls.idle(), isServing };
}

/** Media engine, synthesiser and recogniser, each with threads of its own. */
async function startAudio({ config, random, log, onEnd }: Modules, promptCache: string) {
  let isMediaDead = false;
  const media = createMediaEngine({
    bindHost: (await lookup(config.sipHost)).address,
    ports: [config.rtpPorts.first, config.rtpPorts.last],
    random,
    onFailure: (error) => {
      isMediaDead = true;
      log.error("media_thread_died", { error });
    },
  });
  await media.start();
  onEnd(() => media.stop());
  const synthesiser = createSynthesiser({ cacheDir: promptCache });
  let isStopping = false;
  onEnd(() => {
    isStopping = true;
    return synthesiser.stop();
  });
  const recogniser = config.speech === "off" ? null : createRecogniser({ size: SPEECH_WORKERS });
  if (recogniser) {
    await recogniser.start();
    onEnd(() => recogniser.stop());
  }
  return { media, synthesiser, recogniser, isMediaDead: () => isMediaDead, isStopping: () => isStopping };
}

/** Callbacks are merchants' to choose, the trunk for numbers is the operator's; ports below 1024 are other services'. */
function sipReach({ config, ownHosts, trunks }: Modules): (address: string, port: number) => Promise<boolean> {
  const mayReach = createReach({ allow: parseCidrs("OUTBOUND_ALLOW", config.outboundAllow), ownHosts });
  return async (address, port) => {
    if (port <= 1023 && port !== trunks.outbound?.port) return false;
    return (port > 1023 && (await mayReach([address]))) || (await trunks.isTrunkAddress(address));
  };
}
