import { sleep } from "#src/kernel/clock.ts";
import type { RemoteMedia } from "#src/media/index.ts";
import { type Caller, isHeard, sendable, type Target, type Unanswered } from "./dial.ts";
import { followReoffers } from "./reoffer.ts";
import { writeTransferStatus } from "./transfer-status.ts";
import type { CallDeps } from "./types.ts";

/** A bridged call is ended after this long: nobody pays for a line that two machines keep open. */
const LONGEST_BRIDGE_MS = 2 * 3_600_000;

/**
 * Relays, and reports the transfer, until one side hangs up, then ends the other. A target that is not to be heard yet rings on for the caller: it
 * has not answered if that stays so.
 */
export async function bridge(
  { session, leg, dialog, signal, joined }: Caller,
  target: Target,
  deps: CallDeps,
): Promise<"completed" | Unanswered> {
  const { media, clock } = deps;
  const over = new AbortController();
  const heard = new AbortController();
  const end = () => over.abort(new Error("one side hung up"));
  signal.addEventListener("abort", end, { once: true });
  target.dialog.onBye = end;
  target.leg.on.mediaLost = end;
  // The target may hold the call, or move its audio: no further than its first answer could have sent it (S-50). One at a time: what is looked
  // at for long is not to undo what was described after it.
  const update = async (remote: RemoteMedia) => {
    const sent = await sendable(remote, deps);
    if (!sent) return end();
    target.leg.update(sent);
    if (isHeard(remote)) heard.abort();
  };
  let updated = Promise.resolve();
  followReoffers(target.dialog, { update: (remote) => void (updated = updated.then(() => update(remote)).catch(end)) }, target.local);
  if (signal.aborted || target.dialog.ended) end();
  try {
    if (target.silentUntil !== null) {
      // A queue's music: whoever plays has answered, also where he says that he will not, or from no address.
      target.leg.on.earlyAudio = () => heard.abort();
      media.relayEarlyMedia(target.leg, leg);
      const ringsFor = target.silentUntil - clock.monotonic();
      await sleep(clock, ringsFor, AbortSignal.any([over.signal, heard.signal])).catch(() => undefined);
      leg.stopPlayback();
      if (!heard.signal.aborted) return signal.aborted ? "caller_hung_up" : "no_answer";
    }
    // Before anything is written: the two talk, however long that takes and whether or not it can be.
    media.bridge(leg, target.leg);
    joined();
    // Keys of INFO: those of RTP cross by themselves.
    for (const side of [{ leg, dialog }, target]) side.dialog.onDtmfDigit = (digit) => side.leg.relayDigit(digit);
    await writeTransferStatus(session.id, "completed", deps);
    await sleep(clock, LONGEST_BRIDGE_MS, over.signal).catch(() => undefined);
    return "completed";
  } finally {
    // Not waited for: a target that has vanished answers its BYE no more, and the caller would hear nothing for half a minute (Timer F).
    if (!target.dialog.ended) void target.dialog.bye();
    await target.leg.close();
  }
}
