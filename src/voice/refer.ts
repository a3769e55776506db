import { connectingWords } from "#src/conversation/index.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import { parseCallback } from "#src/checkout/index.ts";
import type { CallDialog } from "#src/sip/index.ts";
import type { Destination } from "./destination.ts";
import { type Caller, presentedAs, RING_MS, STATUS_OF, type Unanswered } from "./dial.ts";
import { outlast } from "./outlast.ts";
import { playToEnd } from "./playback.ts";
import { ringingTone } from "./tones.ts";
import { transferHeaders } from "./transfer-headers.ts";
import type { CallDeps } from "./types.ts";

type ReferOutcome = Awaited<ReturnType<CallDialog["refer"]>>;

/** A Refer-To with all headers inside; peers refuse or cut longer ones. */
const MAX_REFER_TO = 1_000;

/** What the caller's side is asked to call: a number at its own domain, a SIP URI as it is. Null: it is not to be asked. */
export function referTarget(callback: string, destination: Destination | "no trunk", { peer }: Caller): string | null {
  const target = parseCallback(callback);
  if (!target || !peer.acceptsRefer) return null;
  // What we would keep from our trunks the peer's trunk is not to dial either.
  if (target.kind === "sip") return destination !== "no trunk" && destination.avoidsTrunks ? null : callback;
  return peer.domain === null || peer.domain.endsWith(".invalid") ? null : `sip:${target.number}@${peer.domain}`;
}

/**
 * Has the caller's side call the target by itself (RFC 3515), once the last sentence is over, and lets the caller go when that is answered.
 * `bridge`: it would not, or its call has failed, and the caller is still here.
 */
export async function refer(target: string, country: string, caller: Caller, deps: CallDeps): Promise<"completed" | "bridge" | Unanswered> {
  const { session, speaking, leg, dialog, spoken, signal } = caller;
  await spoken;
  const clips = await deps.prompts.clips(connectingWords(speaking));
  await playToEnd(leg, clips, signal);
  if (signal.aborted) return "caller_hung_up";
  leg.play("ringing", ringingTone(country, RING_MS));
  const by = await outlast(() => presentedAs(session.projectId, deps), signal, deps);
  crashPoint("transfer_referring");
  // Some send us nothing more while their caller hears the target's ringing: their signalling says what becomes of him.
  leg.watchMedia(false);
  const outcome = await dialog.refer({ to: withHeaders(target, transferHeaders(session)), by, timeoutMs: RING_MS });
  leg.watchMedia(true);
  leg.stopPlayback();
  deps.log.info("transfer_referred", {
    session: session.id,
    reason: outcome.kind,
    ...("status" in outcome ? { status: String(outcome.status) } : {}),
  });
  return statusOf(outcome, signal.aborted);
}

/** `isGone`: the caller has hung up meanwhile. */
function statusOf(outcome: ReferOutcome, isGone: boolean): "completed" | "bridge" | Unanswered {
  // Carriers hang up on us as they take the call over, without the last NOTIFY of RFC 3515 section 2.4.5. A peer that told of the ringing
  // would have told of the answer: there the caller has hung up.
  const isTakenOver = outcome.kind === "left" && outcome.accepted && !outcome.ringing;
  const isReached = outcome.kind === "called" ? outcome.status < 300 : isTakenOver;
  if (isReached) return "completed";
  if (isGone || outcome.kind === "left") return "caller_hung_up";
  // Nothing ends a call of theirs that may be ringing at the target, or be answered: one of ours would be a second one (decision 0020).
  if (outcome.kind === "untold") return "failed";
  if (outcome.kind === "silent") return "no_answer";
  return outcome.kind === "called" ? (STATUS_OF[outcome.status] ?? "bridge") : "bridge";
}

/** The target with the headers of its INVITE inside (RFC 3261 section 19.1.1), as many as fit, the first ones first. */
export function withHeaders(target: string, headers: readonly (readonly [name: string, value: string])[]): string {
  let uri = target;
  for (const [name, value] of headers) {
    const longer = `${uri}${uri === target ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
    if (longer.length <= MAX_REFER_TO) uri = longer;
  }
  return uri;
}
