import type { Approved, AttemptTrace, Declined, GatewayAnswer, GatewayIo, GatewayRequest, LookUpResult, VoidResult } from "../contract.ts";
import { ask } from "./http.ts";
import { readJson } from "./json.ts";
import { approved, unknown } from "./outcomes.ts";
import type { Answered } from "./triage.ts";

/**
 * Sends back what an attempt took, by what its look-up found. `reverse` resolves true once the vendor has confirmed it; it is
 * never called for a payment that is not known to stand.
 */
export async function reversal(found: LookUpResult, reverse: (approved: Approved) => Promise<boolean>): Promise<VoidResult> {
  if (found.outcome === "absent") return found;
  if (found.outcome === "declined")
    return found.mayBeStored ? unknown("the refused card could not be removed") : { outcome: "nothing to void" };
  if (found.outcome !== "approved") return unknown("what there is to void is not known");
  return (await reverse(found)) ? { outcome: "voided" } : unknown("the payment could not be voided");
}

/** Sends one step that takes something back; true once the vendor has confirmed it. */
export async function isDone(
  io: Pick<GatewayIo, "send">,
  request: GatewayRequest,
  read: (answer: Answered) => ReversalStep | boolean,
): Promise<boolean> {
  const answer = await ask(io, request);
  return answer !== null && ["done", true].includes(read(answer));
}

/** Whether a stored card is gone: taken out by this request, or not there in the vendor's own words. A page before the vendor says 404 as well. */
export function isGone({ status, body }: Answered): boolean {
  return status === 204 || ((status === 200 || status === 404) && readJson(body) !== null);
}

/** `none left`: the vendor says of the payment itself that nothing of it can be sent back, perhaps because it was. */
export type ReversalStep = "done" | "settled already" | "none left" | "unclear";

/** An attempt's notes tell of its reversals; an order has none yet. */
export type Noted<S> = S & Partial<Pick<AttemptTrace, "notes">>;
type Notes = AttemptTrace["notes"];
type Io = Pick<GatewayIo, "send" | "note">;
type Step = "void" | "refund";

/** What is noted of a step before it is sent, and stays unless it is refused. `reversal`: the version before noted either step so. */
const SENT = "sent";
const wasSent = (notes: Notes, step: Step): boolean => notes[step] === SENT || notes["reversal"] === SENT;

async function sendNoted(
  io: Pick<GatewayIo, "note">,
  step: Step,
  send: () => Promise<GatewayAnswer | Declined>,
  read: (answer: Answered) => ReversalStep,
  notes: Notes,
): Promise<ReversalStep | "not sent"> {
  if (!wasSent(notes, step)) await io.note({ [step]: SENT });
  const answer = await send();
  if ("kind" in answer && answer.kind === "lost") return "unclear";
  // Without an access token, too, it was not sent.
  const said = "kind" in answer && answer.kind === "answered" ? read(answer) : "not sent";
  // Of an earlier request whose answer is missing this one's refusal says nothing: that may be why it is refused.
  if (said !== "done" && said !== "unclear" && !wasSent(notes, step)) await io.note({ [step]: "refused" });
  return said;
}

/**
 * A refund at a vendor that does not say that it would refuse a second one: true once it is confirmed. One that had no clear answer is
 * not sent again; one that was refused, or never left, is.
 */
export async function refundOnce(
  io: Pick<GatewayIo, "note">,
  send: () => Promise<GatewayAnswer | Declined>,
  read: (answer: Answered) => ReversalStep,
  notes: Notes = {},
): Promise<boolean> {
  return !wasSent(notes, "refund") && (await sendNoted(io, "refund", send, read, notes)) === "done";
}

/**
 * Ends a reversal's idempotency key. A vendor answers a key as it did before: a reversal that was answered and not made is asked for under
 * another one, which `nextKey` notes; one whose answer was lost under its own.
 */
export const keyEnd = (notes: Notes = {}): string => notes["reversal_refusals"] ?? "";
export const nextKey = (io: Pick<GatewayIo, "note">, notes: Notes = {}): Promise<void> =>
  io.note({ reversal_refusals: String(Number(keyEnd(notes)) + 1) });

/** The notes with the key past those of reversals that the vendor shows to have come to nothing. */
export async function keyPast(fallen: number, io: Pick<GatewayIo, "note">, notes: Notes): Promise<Notes> {
  if (fallen <= Number(keyEnd(notes))) return notes;
  const changed = { reversal_refusals: String(fallen) };
  await io.note(changed);
  return { ...notes, ...changed };
}

export interface ReversalSteps {
  void: () => GatewayRequest;
  refund: () => GatewayRequest;
  /** The vendor says that it refuses a second refund of ours or answers it as the first. Absent: it is never sent. */
  secondRefund?: "harmless";
  /** Where the vendor may refund a voided payment: what it shows after a refused void, which may have come after another. Only what stands is refunded. */
  lookUp?: () => Promise<LookUpResult>;
  /** Whether an answer is a refusal that the vendor keeps under the request's key: the next reversal has another (`keyEnd`). */
  isKept?: (answer: Answered, step: Step) => boolean;
}

/** What a look-up says of a reversal's payment: a part that was taken stands as the whole would. */
export function partStands(state: LookUpResult | { outcome: "partial" }): LookUpResult {
  return state.outcome === "partial" ? approved({}) : state;
}

/**
 * A void before settlement, else a refund; true once either is confirmed. The attempt's notes tell of a step whose answer is missing:
 * where nothing is left the next time, it was done; a refund is then sent again only where a second one is harmless.
 */
export async function voidElseRefund(
  io: Io,
  steps: ReversalSteps,
  read: (answer: Answered) => ReversalStep,
  notes: Notes = {},
): Promise<boolean> {
  const send = async (step: Step) => {
    const answer = await io.send(steps[step]());
    if (answer.kind === "answered" && steps.isKept?.(answer, step)) await nextKey(io, notes);
    return answer;
  };
  const voided = await sendNoted(io, "void", () => send("void"), read, notes);
  if (voided !== "settled already" && voided !== "none left") return voided === "done";
  if (wasSent(notes, "refund") && steps.secondRefund !== "harmless") return false;
  const shown = await steps.lookUp?.();
  if (shown !== undefined && shown.outcome !== "approved") return shown.outcome === "declined";
  const refunded = await sendNoted(io, "refund", () => send("refund"), read, notes);
  if (refunded === "settled already") await io.note({ void: "refused", refund: "refused", reversal: "refused" });
  return refunded === "done" || (refunded === "none left" && (wasSent(notes, "void") || wasSent(notes, "refund")));
}
