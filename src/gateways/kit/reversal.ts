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

export type ReversalStep = "done" | "settled already" | "unclear";

/** A void before settlement, else a refund; true once either is confirmed. */
export async function voidElseRefund(
  io: Pick<GatewayIo, "send">,
  requests: { void: () => GatewayRequest; refund: () => GatewayRequest },
  read: (answer: Answered) => ReversalStep,
): Promise<boolean> {
  const ask = async (request: GatewayRequest) => {
    const answer = await io.send(request);
    return answer.kind === "answered" ? read(answer) : "unclear";
  };
  const voided = await ask(requests.void());
  return voided === "settled already" ? (await ask(requests.refund())) === "done" : voided === "done";
}
