import { allSentences, ownSentences } from "#src/conversation/index.ts";
import { EMBEDDED_LANGUAGE, spokenLanguage } from "#src/kernel/language.ts";
import type { IncomingCall } from "#src/sip/index.ts";
import type { AdmissionControl } from "./admission-control.ts";
import { admit } from "./admit.ts";
import { runCall, runUnmatchedCall } from "./call.ts";
import type { CallDeps } from "./types.ts";
import { createPrompts, type PromptDeps } from "./prompts.ts";
import { Background, type Log, ttlCached, WindowCounter } from "#src/platform/index.ts";
import type { Miss } from "./match.ts";
import { ShortCodes } from "./short-codes.ts";
import { openCodeQuestion } from "./code-question.ts";
import { keepUnmatched } from "./unmatched.ts";

type CallServiceDeps = Omit<CallDeps, "prompts" | "shortCodes" | "userAgent" | "background"> &
  Pick<PromptDeps, "voice" | "endpoint"> & {
    admission: Pick<AdmissionControl, "refuse" | "drain">;
  };

export interface CallService {
  /** Takes a call: the handler of the user agent's INVITEs. */
  onInvite(call: IncomingCall): void;
  /** Renders every fixed prompt in the background, those of single projects too; calls may come before it is done. Again: what is new or was not done. */
  preload(): Promise<void>;
  /** Refuses new calls with 503; the ones that run go on. */
  drain(): void;
  /** Resolves when no call is left, and nothing of one that is still to be written. */
  idle(): Promise<void>;
  readonly activeCalls: number;
  /** Those of them whose INVITE is still being looked up. */
  readonly pendingCalls: number;
  /** Their Call-IDs, from the INVITE until everything of a call is closed. */
  readonly callIds: readonly string[];
}

/** A caller whose call met a fault is told when to come again, s. */
const RETRY_AFTER_S = 30;

/** Unmatched calls written down at a time; of more at once some go unrecorded. */
const MAX_RECORDING = 4;
/** Unmatched calls of one source that are written down in a minute: one that floods us must not drive the others' off the list. */
const MAX_RECORDED = 60;
const RECORDED_MS = 60_000;
const MOST_SOURCES = 1000;

/** Takes inbound calls: joins SIP, media, speech, conversation and payment to one call. */
export function createCallService(deps: CallServiceDeps, userAgent: () => CallDeps["userAgent"]): CallService {
  const soundOf = async (digest: string) => {
    const ulaw = await deps.projects.recording(deps.database.db, digest);
    if (!ulaw) throw new Error("the recording is gone");
    return ulaw;
  };
  const prompts = createPrompts({ ...deps, recording: soundOf });
  const calls = new Map<Promise<void>, string>();
  const background = new Background();
  let pending = 0;
  let recording = 0;
  const recorded = new WindowCounter({ clock: deps.clock, windowMs: RECORDED_MS, most: MOST_SOURCES });
  const callDeps: CallDeps = {
    ...deps,
    projects: sparing(deps),
    prompts,
    shortCodes: new ShortCodes(deps),
    background,
    userAgent: { invite: (options) => userAgent().invite(options), mayReach: (address, port) => userAgent().mayReach(address, port) },
  };

  /** After the answer, and never in its way: a trunk that floods us writes no more than a few rows at a time. */
  const record = async ({ callId, source }: IncomingCall, misses: readonly Miss[], log: Log): Promise<void> => {
    if (recording >= MAX_RECORDING || recorded.count(source.address).count > MAX_RECORDED) return;
    recording++;
    try {
      await keepUnmatched(deps.database.db, { callId, source: source.address, misses });
    } catch (error) {
      log.warn("unmatched_call_not_kept", { error });
    } finally {
      recording--;
    }
  };

  const take = async (call: IncomingCall): Promise<void> => {
    const log = deps.log.child({ call: call.callId });
    try {
      pending++;
      const admission = await admit(call, callDeps).finally(() => pending--);
      if ("status" in admission) {
        const question = admission.codeProject && (await openCodeQuestion(call, admission.codeProject, callDeps));
        if (question && (await runUnmatchedCall(call, question, callDeps))) return;
        log.info("call_refused", { status: String(admission.status), reason: admission.why });
        // What is wrong with an offer is its sender's to know (RFC 3261 section 13.3.1.3), who waits for whom is not.
        const told = admission.status === 400 || admission.status === 488 ? { warning: admission.why } : {};
        if (!call.cancelled && !question) call.reject(admission.status, told);
        if (admission.misses) await record(call, admission.misses, log);
        return;
      }
      await runCall(call, admission, callDeps);
    } catch (error) {
      log.error("call_failed", { error });
      if (!call.cancelled) call.reject(503, { headers: [["Retry-After", String(RETRY_AFTER_S)]] });
    }
  };

  return {
    onInvite(call) {
      const refused = deps.admission.refuse(calls.size, pending);
      if (refused) return call.reject(503, { headers: [["Retry-After", String(refused.retryAfterS)]] });
      const running = take(call).finally(() => calls.delete(running));
      calls.set(running, call.callId);
    },
    async preload() {
      const { projects, database, settings } = deps;
      const speaking = (await projects.speaking(database.db)).map((own) => ({
        ...own,
        language: spokenLanguage(own.language, settings.languages),
      }));
      const languages = new Set(speaking.map(({ language }) => language));
      await prompts.preload([...(languages.size > 0 ? languages : [EMBEDDED_LANGUAGE])].flatMap(allSentences));
      await prompts.prepare(speaking.flatMap(ownSentences));
    },
    drain: () => deps.admission.drain(),
    async idle() {
      while (calls.size > 0) await Promise.all(calls.keys());
      await background.idle();
    },
    get activeCalls() {
      return calls.size;
    },
    get pendingCalls() {
      return pending;
    },
    get callIds() {
      return [...calls.values()];
    },
  };
}

/** What most calls ask of the projects with the same words is asked once in a moment: a flood of calls costs the database its own look-ups alone. */
function sparing({ projects, clock }: Pick<CallServiceDeps, "projects" | "clock">): CallDeps["projects"] {
  type Args = Parameters<CallDeps["projects"]["projectOfCall"]>;
  const ofCall = ttlCached(
    clock,
    (_db: Args[0], numbers: readonly string[], address: string) => [address, ...numbers].join(" "),
    async (...asked) => ({ found: await projects.projectOfCall(...asked) }),
  );
  const countries = ttlCached(
    clock,
    (_db: Args[0], limit: number) => String(limit),
    (db, limit) => projects.countries(db, limit),
  );
  return {
    ...projects,
    projectOfCall: async (...asked) => (await ofCall(...asked))?.found ?? null,
    countries: async (db, limit) => (await countries(db, limit)) ?? [],
  };
}
