import { createInviteWatch } from "#src/alarms/index.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { spokenLanguages } from "#src/kernel/language.ts";
import { createMediaEngine } from "#src/media/index.ts";
import { createReach, parseCidrs, repeat } from "#src/platform/index.ts";
import { createUserAgent, type UserAgent } from "#src/sip/index.ts";
import { AdmissionControl, createCallService, deleteOldUnmatched, type CallService } from "#src/voice/index.ts";
import { VERSION } from "#src/version.ts";
import { mediaHosts } from "./media-hosts.ts";
import type { Modules } from "./modules.ts";
import { openSipTls } from "./sip-tls.ts";
import { followSipTrace } from "./sip-trace.ts";
import { startRecogniser } from "./speech.ts";
import { openVoices } from "./voices.ts";

export interface VoiceRole {
  /** The SIP listener's. */
  ports: { port: number; tlsPort: number | null };
  calls: Pick<CallService, "activeCalls" | "callIds">;
  /** Refuses new calls; those that run go on. */
  drain(): void;
  /** Resolves when no call is left, and nothing of one that is still to be written. */
  idle(): Promise<void>;
  /** Whether the SIP listener and the media thread do their work. */
  isServing(): Promise<boolean>;
}

const HOUR_MS = 3_600_000;
/** Between two looks at what is to be rendered. */
const PRELOAD_MS = 60_000;
/** A media thread that died is replaced in less time. */
const MEDIA_BACK_S = 1;

/** Takes calls: media, speech, the SIP listener. Rendered prompts are kept in the folder `promptCache`. */
export async function startVoiceRole(modules: Modules, promptCache: string): Promise<VoiceRole> {
  const { config, clock, random, owner, log, metrics, instruments, database, sessions, projects, payments, trunks, onEnd } = modules;
  const hosts = await mediaHosts(config);
  const admission = new AdmissionControl({ clock, log, maxCalls: config.maxCalls, onRefused: instruments.countRefusedCall });
  const { media, voices, recogniser, isStopping } = await startAudio(modules, promptCache, hosts.bound, admission);
  onEnd(admission.start());
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
      voice: voices.synthesiser,
      endpoint: voices.endpoint,
      recogniser,
      admission,
      clock,
      random,
      log,
      countStep: instruments.countStep,
      countCode: instruments.countCode,
      settings: {
        owner,
        languages: spokenLanguages(config.voice),
        mediaHost: hosts.told,
        srtpRequired: config.sipTlsSrtp === "required",
        publicHost: formatHostPort(config.sipPublicHost, null),
        phoneNumber: config.phoneNumber,
        trunks,
        transfers: { atOnce: config.transfersAtOnce, perDay: config.transfersPerDay },
      },
    },
    () => userAgent,
  );
  const tls = openSipTls(modules);
  const watchInvites = createInviteWatch({ clock, log });
  const userAgent: UserAgent = createUserAgent({
    clock,
    random,
    host: config.sipHost,
    port: config.sipPort,
    publicHost: config.sipPublicHost,
    userAgent: `Voicetill/${VERSION}`,
    ...(tls && { tls: { port: tls.port, certificate: tls.certificate } }),
    trunks: config.sipTrunks,
    users: config.sipUsers ?? [],
    log,
    mayReach: sipReach(modules),
    busyFor: () => (media.isRunning ? admission.busyFor(calls.activeCalls, calls.pendingCalls) : MEDIA_BACK_S),
    onInvite: (call) => {
      instruments.countCall();
      watchInvites(call.source.address);
      calls.onInvite(call);
    },
  });
  const ports = await userAgent.start();
  onEnd(await followSipTrace(modules, userAgent));
  if (tls) onEnd(tls.follow((certificate) => userAgent.renewCertificate(certificate)));
  metrics.gauge("calls_active", "Calls under way.", () => calls.activeCalls);
  metrics.gauge("calls_max", "MAX_CALLS.", () => config.maxCalls);
  metrics.gauge("calls_overload", "1 while new calls are refused because this process is late.", () => Number(admission.isOverloaded));
  metrics.gauge("media_lateness_seconds", "Nine of ten RTP packets left at most so late.", () => admission.measured.media / 1000);
  metrics.gauge("main_thread_lateness_seconds", "Nine of ten timers ran at most so late.", () => admission.measured.main / 1000);
  metrics.gauge("sip_transactions", "SIP transactions under way.", () => userAgent.activeTransactions);
  onEnd(() => userAgent.stop());
  // Again and again: projects come and change, and an endpoint may have been away.
  const stopPreload = repeat({
    clock,
    everyMs: PRELOAD_MS,
    task: () => calls.preload(),
    onFailure: (error) => isStopping() || log.error("prompts_not_rendered", { error }),
  });
  // Not waited for: it ends with the voices.
  onEnd(() => void stopPreload());
  const drain = () => {
    calls.drain();
    userAgent.drain();
  };
  const isServing = async () => media.isRunning && (await userAgent.isServing());
  return { ports, calls, drain, idle: () => calls.idle(), isServing };
}

/** Media engine, synthesiser and recogniser, each with threads of its own. */
async function startAudio(modules: Modules, promptCache: string, bindHost: string, admission: AdmissionControl) {
  const { config, random, log, onEnd } = modules;
  const media = createMediaEngine({
    bindHost,
    ports: [config.rtpPorts.first, config.rtpPorts.last],
    random,
    onLateness: (ms) => admission.noteMedia(ms),
    onFailure: (error) => log.error("media_thread_died", { error }),
  });
  await media.start();
  onEnd(() => media.stop());
  const voices = openVoices(modules, promptCache);
  let isStopping = false;
  onEnd(() => {
    isStopping = true;
    return voices.stop();
  });
  const recogniser = await startRecogniser(modules);
  return { media, voices, recogniser, isStopping: () => isStopping };
}

/** Callbacks are merchants' to choose, the trunk for numbers is the operator's; ports below 1024 are other services'. */
function sipReach({ config, ownHosts, trunks }: Modules): (address: string, port: number) => Promise<boolean> {
  const mayReach = createReach({ allow: parseCidrs("OUTBOUND_ALLOW", config.outboundAllow), ownHosts });
  return async (address, port) => {
    if (port <= 1023 && port !== trunks.outbound?.port) return false;
    return (port > 1023 && (await mayReach([address]))) || (await trunks.isTrunkAddress(address));
  };
}
