import { fixedPrompts } from "#src/conversation/index.ts";
import type { IncomingCall } from "#src/sip/index.ts";
import { admit } from "./admit.ts";
import { runCall } from "./call.ts";
import type { CallDeps } from "./types.ts";
import { createPrompts, type PromptDeps } from "./prompts.ts";
import type { Log } from "#src/platform/index.ts";
import type { Miss } from "./match.ts";
import { TRANSFER_PROMPTS } from "./transfer.ts";
import { keepUnmatched } from "./unmatched.ts";

export type CallServiceDeps = Omit<CallDeps, "prompts" | "userAgent"> & Pick<PromptDeps, "voice">;

export interface CallService {
  /** Takes a call: the handler of the user agent's INVITEs. */
  onInvite(call: IncomingCall): void;
  /** Renders every fixed prompt in the background; calls may come before it is done. */
  preload(): Promise<void>;
  /** Refuses new calls with 503; the ones that run go on. */
  drain(): void;
  /** Resolves when no call is left. */
  idle(): Promise<void>;
  readonly activeCalls: number;
  /** Their Call-IDs, from the INVITE until everything of a call is closed. */
  readonly callIds: readonly string[];
}

/** A caller whose call is refused for load is told when to come again, s. */
const RETRY_AFTER_S = 30;

/** Unmatched calls written down at a time; of more at once some go unrecorded. */
const MAX_RECORDING = 4;

/** Takes inbound calls: joins SIP, media, speech, conversation and payment to one call. */
export function createCallService(deps: CallServiceDeps, userAgent: () => CallDeps["userAgent"]): CallService {
  const prompts = createPrompts(deps);
  const calls = new Map<Promise<void>, string>();
  let isDraining = false;
  let recording = 0;
  const callDeps: CallDeps = {
    ...deps,
    prompts,
    userAgent: { invite: (options) => userAgent().invite(options), mayReach: (address, port) => userAgent().mayReach(address, port) },
  };

  /** After the answer, and never in its way: a trunk that floods us writes no more than a few rows at a time. */
  const record = async ({ callId, source }: IncomingCall, misses: readonly Miss[], log: Log): Promise<void> => {
    if (recording >= MAX_RECORDING) return;
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
      const admission = await admit(call, callDeps);
      if ("status" in admission) {
        log.info("call_refused", { status: String(admission.status), reason: admission.why });
        if (!call.cancelled) call.reject(admission.status);
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
      if (isDraining || calls.size >= deps.settings.maxCalls)
        return call.reject(503, { headers: [["Retry-After", String(RETRY_AFTER_S)]] });
      const running = take(call).finally(() => calls.delete(running));
      calls.set(running, call.callId);
    },
    preload: () => prompts.preload([...fixedPrompts(), ...TRANSFER_PROMPTS]),
    drain: () => void (isDraining = true),
    async idle() {
      while (calls.size > 0) await Promise.all(calls.keys());
    },
    get activeCalls() {
      return calls.size;
    },
    get callIds() {
      return [...calls.values()];
    },
  };
}
