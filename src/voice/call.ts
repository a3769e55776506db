import { isIPv6 } from "node:net";
import type { FinishReason, Speaking } from "#src/conversation/index.ts";
import { sleep } from "#src/kernel/clock.ts";
import { spokenLanguage } from "#src/kernel/language.ts";
import { readAnswer } from "#src/media/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { CallDialog, IncomingCall, SipRequest } from "#src/sip/index.ts";
import type { Admission, CallMedia } from "./admit.ts";
import { CodeAsking, type CodeQuestion } from "./code-question.ts";
import { Collection } from "./collection.ts";
import { outlast } from "./outlast.ts";
import { followReoffers, holdTo } from "./reoffer.ts";
import type { Peer } from "./dial.ts";
import { tellUnreached, transferBack } from "./transfer.ts";
import { writeTransferStatus } from "./transfer-status.ts";
import type { CallDeps } from "./types.ts";

const JITTER_BUFFER_MS = 100;
/**
 * From the last sentence on, until the caller is joined to his agent. Who holds us hears neither the sentence nor the ringing, sends nothing
 * that could be missed, and may never come back.
 */
const LONGEST_ENDING_MS = 5 * 60_000;

/**
 * One call that named no session, from the answer to the hang-up: its caller is asked for a short code, and goes on as any other with the session
 * that it names. Resolves when everything of it is closed, with whether there was one.
 */
export async function runUnmatchedCall(call: IncomingCall, question: CodeQuestion, deps: CallDeps): Promise<boolean> {
  const { leg, project } = question;
  const log = deps.log.child({ call: call.callId, project: project.id });
  const asking = new CodeAsking(question, call, deps, log);
  let dialog: CallDialog | null = null;
  let isTaken = false;
  try {
    dialog = await answer(call, question, asking);
    if (!dialog) asking.hangUp();
    const admission = await asking.admitted;
    log.info("short_code_asked", { reason: admission ? "matched" : "none" });
    if (admission && dialog) {
      isTaken = true;
      await runCall(call, admission, deps, dialog);
    } else if (admission) await deps.sessions.apply(admission.session.id, "release");
    else await sleep(deps.clock, JITTER_BUFFER_MS);
    return isTaken;
  } finally {
    if (!isTaken) {
      asking.hangUp();
      if (dialog && !dialog.ended) await dialog.bye();
      await leg.close();
    }
  }
}

/** One admitted call, from the answer to the hang-up; `answered`: it is answered already. Resolves when everything of it is closed. */
export async function runCall(call: IncomingCall, admission: Admission, deps: CallDeps, answered: CallDialog | null = null): Promise<void> {
  const { session, leg, rule } = admission;
  const log = deps.log.child({ session: session.id, call: call.callId });
  const started = deps.clock.monotonic();
  const elapsed = () => Math.round(deps.clock.monotonic() - started);
  const collection = new Collection(admission, deps, log);
  let dialog: CallDialog | null = null;
  let cancelLimit = () => {};
  try {
    dialog = answered ?? (await answer(call, admission, collection));
    if (!dialog) {
      log.warn("call_not_acknowledged");
      return await release(collection, session.id, deps);
    }
    if (answered) {
      takeKeys(answered, collection);
      attend(answered, collection);
      collection.begin();
    }
    const reason = await collection.decided;
    log.info("call_collected", { reason, rule, ms: elapsed() });
    await collection.stop();
    cancelLimit = deps.clock.after(LONGEST_ENDING_MS, () => collection.hangUp("too-long"));
    // What is still to be written of an overdue charge is written when the call is over.
    const write = END[collection.isOverdue ? "done" : reason];
    const ending = outlast(() => write(session.id, deps), collection.hungUp, deps)
      .then(() => takeBack(call.request, admission, dialog!, collection, cancelLimit, deps))
      .catch(async (error: unknown) => {
        await tellNotTakenBack(admission, collection, deps).catch(() => {});
        throw error;
      });
    // What cannot be written does not cut the last sentence off.
    await Promise.allSettled([ending, collection.finished]);
    await ending;
    // The last packet has left, but the caller's jitter buffer still holds the end of the sentence.
    await sleep(deps.clock, JITTER_BUFFER_MS);
  } catch (error) {
    collection.hangUp("fault");
    throw error;
  } finally {
    cancelLimit();
    void collection.stop();
    if (dialog && !dialog.ended) await dialog.bye();
    const { packetsIn, packetsOut, lost, jitterMs, peer } = await leg.close();
    const told = { peer_lost: peer?.lost, peer_jitter_ms: rounded(peer?.jitterMs), round_trip_ms: rounded(peer?.roundTripMs) };
    const counted = { ms: elapsed(), packets_in: packetsIn, packets_out: packetsOut, lost, jitter_ms: rounded(jitterMs) };
    if (dialog) log.info("call_ended", { reason: collection.hungUpFor ?? "ours", ...counted, ...told });
    await collection.settled;
    if (collection.isOverdue) await giveUp(session.id, deps);
  }
}

/**
 * Answers the INVITE and starts the media with the caller; null when no PRACK or ACK came within 64*T1, the caller gave up before, or what came
 * answers no offer of ours: he could not be heard.
 */
async function answer(
  call: IncomingCall,
  { leg, local, description, remote }: CallMedia,
  attendant: Attendant,
): Promise<CallDialog | null> {
  const isReady = await call.ready(description).then(
    () => true,
    () => false,
  );
  if (!isReady) return null;
  if (remote) leg.start(remote);
  const answering = call.answer(description, (made) => {
    followReoffers(made, leg, local);
    takeKeys(made, attendant);
  });
  // The caller hears us from our 200 on, and needs not wait for its ACK.
  if (remote) attendant.begin();
  const dialog = await answering.catch(() => null);
  if (!dialog) return null;

  if (!remote) {
    // A delayed offer: the caller's side came with the ACK.
    const agreed = dialog.remoteSdp === null ? null : readAnswer(dialog.remoteSdp, description);
    if (agreed?.kind === "agreed") {
      holdTo(agreed.remote, local);
      leg.start(agreed.remote);
      attendant.begin();
    } else if (!dialog.ended) {
      void dialog.bye();
      return null;
    }
  }
  attend(dialog, attendant);
  return dialog;
}

/** Who listens to the caller. */
type Attendant = Pick<Collection, "begin" | "press" | "hangUp">;

function takeKeys(dialog: CallDialog, attendant: Attendant): void {
  dialog.onDtmfDigit = (digit) => attendant.press(digit, "info");
}

function attend(dialog: CallDialog, attendant: Attendant): void {
  dialog.onBye = (reason) => attendant.hangUp(reason);
  if (dialog.ended) attendant.hangUp("bye");
}

function rounded(ms: number | null | undefined): number | undefined {
  return ms === null || ms === undefined ? undefined : Math.round(ms);
}

/** The session goes back, unless the caller has already been charged over the open media. */
async function release(collection: Collection, sessionId: string, { sessions }: CallDeps): Promise<void> {
  collection.hangUp("not-acknowledged");
  await collection.stop();
  await sessions.apply(sessionId, "release");
}

/** The caller goes back to where the merchant wants him, once the last sentence is over. */
async function takeBack(
  request: SipRequest,
  { session: { id }, project, leg }: Admission,
  dialog: CallDialog,
  { finished: spoken, hungUp: signal }: Collection,
  joined: () => void,
  deps: CallDeps,
): Promise<void> {
  const session = await outlast(() => deps.sessions.find(deps.database.db, id), signal, deps);
  const caller = { speaking: speakingOf(project, deps), leg, dialog, peer: peerOf(request), spoken, signal, joined };
  if (session) await transferBack({ session, ...caller }, deps);
}

/** The database stays away, and without it nobody can be called: the caller, who was not told goodbye, is not left to wonder. */
async function tellNotTakenBack(
  { session, project, leg }: Admission,
  { finished: spoken, hungUp: signal }: Collection,
  deps: CallDeps,
): Promise<void> {
  if (session.callback === null) return;
  await writeTransferStatus(session.id, signal.aborted ? "caller_hung_up" : "failed", deps);
  await tellUnreached("failed", null, { session, speaking: speakingOf(project, deps), leg, signal, spoken }, deps);
}

function speakingOf({ language, voice }: Admission["project"], { settings }: CallDeps): Speaking {
  const { name: merchant, prompts: wordings, recordings } = voice;
  return { language: spokenLanguage(language, settings.languages), merchant, wordings, recordings };
}

/** What can be asked of the side that the caller came by. */
function peerOf(request: SipRequest): Peer {
  const { uri } = request.from;
  return {
    acceptsRefer: request.headers("allow").some((method) => method.toUpperCase() === "REFER"),
    domain: "host" in uri && typeof uri.host === "string" ? (isIPv6(uri.host) ? `[${uri.host}]` : uri.host) : null,
  };
}

/** What each end of the conversation leaves to be written: the payment itself has been, where there was one. */
const END: Readonly<Record<FinishReason, (id: string, deps: CallDeps) => Promise<unknown>>> = {
  done: async () => undefined,
  cancelled: async () => undefined,
  abandoned: giveUp,
  hung_up: giveUp,
  exhausted: (id, deps) => giveUp(id, deps, true),
};

async function giveUp(id: string, { sessions, payments, database }: CallDeps, isExhausted = false): Promise<void> {
  const session = await sessions.find(database.db, id);
  if (session && !isTerminal(session.status)) await payments.giveUp(session, isExhausted);
}
