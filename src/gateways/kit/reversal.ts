import type { Approved, GatewayIo, GatewayRequest, LookUpResult, VoidResult } from "../contract.ts";
import { unknown } from "./outcomes.ts";
import type { Answered } from "./triage.ts";

/**
 * Sends back what an attempt took, by what its look-up found. `reverse` resolves true once the vendor has confirmed it; it is
 * never called for a payment that is not known to stand.
 */
export async function reversal(found: LookUpResult, reverse: (approved: Approved) => Promise<boolean>): Promise<VoidResult> {
  if (found.outcome === "absent" || found.outcome === "declined") return { outcome: "nothing to void" };
  if (found.outcome !== "approved") return unknown("what there is to void is not known");
  return (await reverse(found)) ? { outcome: "voided" } : unknown("the payment could not be voided");
}

/** `none left`: the vendor says of the payment itself that nothing of it can be sent back, perhaps because it was. */
export type ReversalStep = "done" | "settled already" | "none left" | "unclear";

/** The note of a reversal whose answer did not come. */
const REVERSAL = "reversal";
const SENT = "sent";

/**
 * A void before settlement, else a refund; true once either is confirmed. With the attempt's notes a reversal whose answer was lost
 * is remembered until a refund is refused: where nothing is left the next time, it was done.
 */
export async function voidElseRefund(
  io: Pick<GatewayIo, "send" | "note">,
  requests: { void: () => GatewayRequest; refund: () => GatewayRequest },
  read: (answer: Answered) => ReversalStep,
  notes?: Readonly<Record<string, string>>,
): Promise<boolean> {
  const wasLost = notes?.[REVERSAL] === SENT;
  const remember = async (state: string) => {
    if (notes !== undefined) await io.note({ [REVERSAL]: state });
  };
  const ask = async (request: GatewayRequest) => {
    if (!wasLost) await remember(SENT);
    const answer = await io.send(request);
    const step = answer.kind === "answered" ? read(answer) : answer.kind;
    if (!wasLost && step !== "unclear" && step !== "lost") await remember("answered");
    return step;
  };
  const voided = await ask(requests.void());
  if (voided !== "settled already" && voided !== "none left") return voided === "done";
  const refunded = await ask(requests.refund());
  // A refused void says nothing of the lost reversal, which may be why it is refused.
  if (wasLost && refunded === "settled already") await remember("answered");
  return refunded === "done" || (refunded === "none left" && wasLost);
}

/**
 * A void, else a refund, for a vendor that does not say that it would refuse a second one: a refund that had no clear answer is not sent
 * again. One that was refused, or never left, is.
 */
export async function voidElseOneRefund(
  io: Pick<GatewayIo, "send" | "note">,
  requests: { void: () => GatewayRequest; refund: () => GatewayRequest },
  read: (answer: Answered) => ReversalStep,
  notes: Readonly<Record<string, string>>,
): Promise<boolean> {
  const ask = async (request: GatewayRequest) => {
    const answer = await io.send(request);
    return answer.kind === "answered" ? read(answer) : answer.kind;
  };
  const voided = await ask(requests.void());
  if (voided !== "settled already" || notes["refund"] === SENT) return voided === "done";
  await io.note({ refund: SENT });
  const refunded = await ask(requests.refund());
  if (refunded === "not sent" || refunded === "settled already") await io.note({ refund: "refused" });
  return refunded === "done";
}
