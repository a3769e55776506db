import type { Cell } from "#src/kernel/card.ts";
import type { Declined, Gateway, GatewayIo, Order, Outcome, Unknown } from "../contract.ts";
import { holdsNumber, words } from "./scrub.ts";

const LONGEST_FIELD = 255;
const ADAPTER_FAILED: Unknown = { outcome: "unknown", reason: "the gateway's adapter failed in mid-attempt" };

/**
 * A gateway as the rest of the house gets it: whatever the adapter or the vendor does, no exception leaves `charge` and
 * `tokenize` (a fault in mid-attempt is an unknown outcome), no kept field is longer than 255 characters or repeats the
 * card number, and neither does a note or a message.
 */
export function guarded(gateway: Gateway): Gateway {
  const attempt = (verb: "charge" | "tokenize") => async (order: Order, io: GatewayIo) => {
    try {
      return scrubbed(await gateway[verb](order, guardedIo(io, order.card.number)), order.card.number);
    } catch {
      return ADAPTER_FAILED;
    }
  };
  const lookUp = gateway.lookUp?.bind(gateway);
  const undo = gateway.void?.bind(gateway);
  return {
    ...gateway,
    charge: attempt("charge"),
    tokenize: attempt("tokenize"),
    ...(lookUp && { lookUp: (trace, io) => lookUp(trace, io).catch(() => ADAPTER_FAILED) }),
    ...(undo && { void: (trace, io) => undo(trace, io).catch(() => ADAPTER_FAILED) }),
  };
}

function guardedIo(io: GatewayIo, number: Cell): GatewayIo {
  return Object.create(io, { note: { value: (notes: Record<string, string>) => io.note(keepClean(notes, number)) } }) as GatewayIo;
}

function keepClean<T extends string | boolean>(fields: Record<string, T>, number: Cell): Record<string, T> {
  const clean = Object.entries(fields).filter(([, value]) => {
    return typeof value !== "string" || (value.length <= LONGEST_FIELD && !holdsNumber(value, number));
  });
  return Object.fromEntries(clean) as Record<string, T>;
}

function scrubbed(outcome: Outcome, number: Cell): Outcome {
  if (outcome.outcome === "unknown") return outcome;
  const processor = keepClean(outcome.processor, number);
  const dropped = Object.keys(processor).length < Object.keys(outcome.processor).length;
  return {
    ...outcome,
    processor,
    ...(outcome.webhookProcessor && { webhookProcessor: keepClean(outcome.webhookProcessor, number) }),
    ...(dropped && { reason: "a field of the answer was dropped: too long, or it repeats the card number" }),
    ...(outcome.outcome === "declined" && saidWithout(outcome, number)),
  };
}

/** A decline's words and its public code, fit for a merchant: neither repeats the card number in any spelling. */
function saidWithout({ code, message, publicCode }: Declined, number: Cell): Pick<Declined, "message" | "publicCode"> {
  return {
    message: holdsNumber(message ?? "", number) ? null : words(message ?? undefined),
    ...(publicCode !== undefined && { publicCode: holdsNumber(publicCode, number) ? code : publicCode }),
  };
}
