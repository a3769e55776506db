import type { DeclineCode } from "#src/kernel/payment.ts";
import type { Approved, Declined, LookUpResult, Outcome, ProcessorFields, Unknown } from "../contract.ts";
import { words } from "./scrub.ts";

/** The three outcomes of an attempt, built alike by every adapter. Absent and empty fields are left out. */

type Fields = Readonly<Record<string, string | undefined>>;

/** Fields that have a value. */
export function present(fields: Fields): ProcessorFields {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => Boolean(entry[1])));
}

interface ApprovedDetails {
  /** `captured` when absent. */
  capture?: Approved["capture"];
  /** Further keys of the status webhook. */
  webhook?: Fields;
  reason?: string;
}

export function approved(processor: Fields, { capture = "captured", webhook, reason }: ApprovedDetails = {}): Approved {
  return {
    outcome: "approved",
    capture,
    processor: present(processor),
    ...(webhook && { webhookProcessor: present(webhook) }),
    ...(reason !== undefined && { reason }),
  };
}

/** Declines whose words are ours alone: the vendor's are about keys, outages, or say too little. */
const OURS: ReadonlySet<DeclineCode> = new Set(["gateway_credentials_invalid", "gateway_unavailable", "held_for_review"]);

interface DeclinedDetails {
  /** The vendor's words as they came; cleaned here, and left out where they cannot help the merchant. */
  message?: string | undefined;
  processor?: Fields;
  /** For the operator: a constant. */
  reason?: string;
}

export function declined(code: DeclineCode, { message, processor = {}, reason }: DeclinedDetails = {}): Declined {
  return {
    outcome: "declined",
    code,
    message: OURS.has(code) ? null : words(message),
    processor: present(processor),
    ...(reason !== undefined && { reason }),
  };
}

/** `reason`: what was lost and where, for the operator: a constant, never a vendor's text. */
export function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

export const absent = { outcome: "absent" } as const satisfies LookUpResult;
export const pending = { outcome: "pending" } as const satisfies LookUpResult;

/** Tells an outcome from the other things that a step of an adapter may return: an id, an answer's body, a token. */
export function isOutcome(value: unknown): value is Outcome {
  return typeof value === "object" && value !== null && "outcome" in value;
}
