import type { BillingAddress, Environment, GatewayName, Mode } from "#src/kernel/payment.ts";
import type { NewSession } from "#src/sessions/index.ts";
import type { Amount } from "./amount.ts";

/** On whose behalf a session is asked for: an API key's or a voice platform's organisation and environment. */
export interface Requester {
  organizationId: string;
  environment: Environment;
}

interface CommonRequest {
  /** UUID or slug. */
  project: string;
  gateway: GatewayName;
  mode: Mode;
  description: string | null;
  /** An account connected to the project's own at the gateway; ignored where the gateway has none. */
  connectedAccount: string | null;
}

/** A session that is paid by telephone. */
export interface VoiceRequest extends CommonRequest {
  amount: Amount;
  /** E.164. Null: whoever has the link pays, and nobody is known by a number. */
  caller: string | null;
  /** Where the caller is transferred afterwards: a number in E.164 form, plain or `tel:`, or a SIP URI. */
  callback: string | null;
  memory: string | null;
  /** Ignored where the gateway takes none. Without a country it is the US. */
  billingAddress: (Omit<BillingAddress, "country"> & { country: string | null }) | null;
}

/** A session that is paid in a browser. */
export interface WidgetRequest extends CommonRequest {
  /** Whole minor units of the project's currency. */
  amountMinor: number;
}

/** What is wrong with a request, by the field of VoiceRequest or WidgetRequest that it names. */
export type CheckoutFault =
  /** Nothing is charged for nothing. */
  | { field: "amount"; fault: "zero" }
  /** It is no whole number of minor units. */
  | { field: "amount"; fault: "fraction"; decimals: number }
  /** `ceiling` in minor units of `currency`. */
  | { field: "amount"; fault: "too large"; ceiling: number; currency: string }
  /** Not built, or the project has no credentials for it in this environment. */
  | { field: "gateway"; fault: "not configured" }
  /** Its vendor never takes such a sum with the project's settings: another currency, above all. */
  | { field: "gateway"; fault: "not the sum"; reason: string }
  | { field: "callback"; fault: "not a destination" }
  /** The project does not allow transfers to it. */
  | { field: "callback"; fault: "not allowed" }
  /** The project's credentials do not charge connected accounts. */
  | { field: "connectedAccount"; fault: "no platform key" };

export type CheckoutResult =
  /** `offersLink`: a voice session that may be paid in a browser too. `hasCode`: one that a short code leads to. */
  | { kind: "valid"; session: NewSession; phoneNumber: string | null; offersLink: boolean; hasCode: boolean }
  /** In the order of the request's fields, all of them. */
  | { kind: "invalid"; faults: readonly CheckoutFault[] }
  /** The organisation has no such project. */
  | { kind: "no project" };
