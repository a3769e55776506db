import type { CardCells } from "#src/kernel/card.ts";
import type { BillingAddress, DeclineCode, Environment, GatewayName, Mode } from "#src/kernel/payment.ts";
import type { Secret } from "#src/kernel/secret.ts";

/**
 * What a gateway is to every other module. Adapters make it with `defineGateway` (kit/define.ts); CONTRIBUTING.md says how
 * an adapter's folder looks. An adapter may use `contract.ts` and `kit/`, never another gateway. How the eight awkward vendors
 * fit is worked out in docs/decisions/0003-one-gateway-contract.md.
 */
export interface Gateway {
  readonly name: GatewayName;
  /** What the vendor can do. The charge protocol, the janitor and the generated documentation read it; no `if (name === ...)` does. */
  readonly capabilities: Capabilities;
  /** Fields of the apply file's `credentials` block, in the sheet's spelling; free text that is no secret goes here too. */
  readonly credentialFields: readonly CredentialField[];
  /** Where the apply file writes those fields: under `credentials`, or directly in the environment's block. */
  readonly credentialsIn: "credentials" | "block";
  /** Keys of the gateway's block in the apply file besides `credentials` and `endpoint` (`capture`, `platform`, `moto`). */
  readonly optionFields: readonly OptionField[];
  /** The vendor's base address, without a trailing slash. An `endpoint` of the apply file replaces it in test mode (docs/operations.md, Apply file). */
  readonly hosts: Readonly<Record<Environment, string>>;
  /** Further hosts of vendors that split their calls, by the part they serve (`token`, `oauth`); an `endpoint` replaces them too. */
  readonly sideHosts?: Readonly<Record<string, Readonly<Record<Environment, string>>>>;
  /** A sentence or two for the generated documentation: what else a merchant must know. */
  readonly documentation?: string;
  /**
   * Credentials that this gateway's simulator at `endpoint` accepts: what a test key uses when its project has none of
   * its own (docs/operations.md, Apply file), with every option at its default.
   */
  sandboxCredentials(endpoint: string): Readonly<Record<string, Secret>>;
  /** A sentence that names what is wrong with a project's settings, all that can be seen of it, or null. Called when they are saved, never during a call. */
  checkSettings(settings: GatewaySettings): string | null;
  /** One sentence on why a session of this sum can never be paid with these settings, or null: then none is made. Sends nothing. */
  refusalOf?(sum: Sum, settings: GatewaySettings): string | null;
  /**
   * Takes the money. Called at most once per attempt. It may repeat its own request only where the vendor makes that
   * safe, and never looks anything up by listing: an `unknown` goes to `lookUp`, whoever called.
   */
  charge(order: Order, io: GatewayIo): Promise<Outcome>;
  /** Stores the card for later charges and takes nothing. Called at most once per attempt. */
  tokenize(order: Order, io: GatewayIo): Promise<Outcome>;
  /**
   * What became of an attempt whose answer was lost, while the caller waits or hours later. No card is there any more and
   * nothing may be charged. Absent when `capabilities.lookUp` is "none".
   */
  lookUp?(attempt: AttemptTrace, io: GatewayIo): Promise<LookUpResult>;
  /**
   * Asks the vendor for an access token and does nothing with it: how credentials are checked where a look-up cannot do it,
   * because it needs an id that the vendor gave (jpmorgan) or there is none (quickbooks).
   */
  authenticate?(io: GatewayIo): Promise<AccessToken | Declined>;
  /** Reverses an attempt by its reference or by what it left in the trace. Absent when `capabilities.voidBy` is "none". */
  void?(attempt: AttemptTrace, io: GatewayIo): Promise<VoidResult>;
}

export interface Capabilities {
  /** What a second request with the same idempotency key does: answers the first result, refuses, or means nothing to the vendor. */
  idempotency: "replay" | "refuse" | "none";
  /**
   * How a lost answer is found again without the card. "by rule": nobody can be asked, and the interface itself says what
   * it means (card forwarding: failed, R-249), so `lookUp` answers without a request.
   */
  lookUp: "by reference" | "by vendor id" | "by rule" | "none";
  /** How a charge can be reversed without the card. */
  voidBy: "reference" | "vendor id" | "none";
  /** How long after sending a look-up's "no such transaction" is proof, ms. Before that it only means "not yet visible". */
  absenceIsProofAfterMs: number;
  authorizeOnly: boolean;
  /** One card per session: a decline ends the session, no other card is asked for (docs/interface.md, Card forwarding). */
  oneAttempt: boolean;
  /** The vendor is told that the card was given by telephone. */
  moto: boolean;
  /** Tokenizing asks the issuer (a zero or reversed amount), so a bad card is refused at once. */
  verifiesOnTokenize: boolean;
  /** What the stored card is called at the vendor, for the documentation. */
  token: string;
  /** The vendor refuses a payment without a postal address; `credentials` then carry the one to send when the session has none. */
  needsAddress: boolean;
  /** The card's postal code goes to the vendor, where the issuer may check it (AVS). */
  sendsPostalCode: boolean;
  /** The session's `billing_address` goes to the vendor; other gateways are never given it. */
  takesBillingAddress: boolean;
  /**
   * The option with which the project's credentials charge accounts connected to it: only then may a session name one
   * (`stripe_account`, R-127). Null: the vendor has no such accounts, and the field is ignored.
   */
  connectedAccountOption: string | null;
  processorFields: ProcessorNames;
  /** Total time for one attempt, ms, every request, retry and poll of it included. */
  deadlineMs: number;
}

/** The processor fields that a gateway fills, in the interface's spelling (docs/interface.md, Processor object). */
export interface ProcessorNames {
  charge: readonly string[];
  tokenize: readonly string[];
  /** Which of `charge` identifies the payment itself; the test word's payment has its made-up id there. */
  transactionId: string;
  /** Which of `charge` holds the issuer's approval code, where one does. */
  authCode?: string;
  /**
   * What the status webhook calls a field where the interface lists it; none: it is not in the webhook. A field that is
   * not listed has its own name, and a second one without the gateway's prefix.
   */
  inWebhook?: Readonly<Record<string, readonly string[]>>;
}

export interface CredentialField {
  name: string;
  secret: boolean;
  required: boolean;
  /** Digits that the apply file may hold as a number too; leading zeros are not part of it. */
  wholeNumber?: boolean;
  /** While it is rolled the apply file may hold `[new, old]`; the old value is then kept under this name. */
  previous?: string;
  /** The vendor replaces it while it is in use (a refresh token): what was minted with the old one goes on. */
  rotates?: boolean;
  /** Left out where there is none yet, the apply file makes one, `whsec_` and 256 random bits, and shows it once. */
  generated?: boolean;
  /** One line: what it is and where the vendor shows it. */
  meaning: string;
}

export interface OptionField {
  name: string;
  values: readonly (string | boolean)[];
  default: string | boolean;
  meaning: string;
}

/** A project's settings for one gateway and environment, opened for one attempt. */
export interface GatewaySettings {
  environment: Environment;
  credentials: Readonly<Record<string, Secret>>;
  options: Readonly<Record<string, string | boolean>>;
  /** Base address in force: the apply file's `endpoint`, the simulator's, or the vendor's own; no trailing slash. */
  endpoint: string;
  /** Counts up with each save; the attempt records which one it used. */
  version: number;
}

/** What a session is to take, before there is a card. */
export type Sum = Pick<Order, "mode" | "amountMinor" | "currency">;

/** One attempt to charge or store one card. */
export interface Order {
  sessionId: string;
  /** 1 for the first card of the session, 2 for the next. */
  attempt: number;
  /** Ours, unique for ever, fixed before the first byte is sent: `<session id>-<attempt>`. Gateways shorten it by their own rule. */
  reference: string;
  mode: Mode;
  channel: "voice" | "widget";
  /** Whole minor units of `currency`; 0 only with mode `tokenize`. */
  amountMinor: number;
  /** ISO 4217, upper case. */
  currency: string;
  description: string | null;
  /** E.164; null for the widget. */
  caller: string | null;
  /** An account connected to the project's own, at gateways with `connectedAccountOption`; else null. */
  connectedAccount: string | null;
  billingAddress: BillingAddress | null;
  /** The shopper's address for the widget; null on the telephone. */
  customerIp: string | null;
  card: CardCells;
}

/** What is left of an attempt when the card is gone: enough to ask the vendor, nothing that could charge. */
export interface AttemptTrace {
  sessionId: string;
  attempt: number;
  reference: string;
  mode: Mode;
  amountMinor: number;
  currency: string;
  connectedAccount: string | null;
  /** When the attempt was written down, ms since the epoch by the database's clock. */
  startedAtMs: number;
  /** What the gateway noted through `io.note` before the answer was lost. */
  notes: Readonly<Record<string, string>>;
}

/** Which attempt a request or an answer belongs to: an order, or what is left of one. */
export type Subject = Omit<AttemptTrace, "startedAtMs" | "notes">;

/** Vendor ids in the interface's spelling, for SessionGetResponse.processor; card_brand and card_last4 are added by `payments/`. */
export type ProcessorFields = Record<string, string>;

/** Three outcomes, never two. Whatever is not plainly a success or a refusal is unknown. */
export type Outcome = Approved | Declined | Unknown;

interface Final {
  /** Ids the vendor gave the attempt; on a refusal, where it gave any. */
  processor: ProcessorFields;
  /** Extra keys of the status webhook's processor object that the session detail does not show (docs/interface.md: fiserv's approval_code). */
  webhookProcessor?: Record<string, string | boolean>;
  /** For the operator, where the outcome alone does not say it: a constant, never a vendor's text. */
  reason?: string;
  /** What the vendor's support asks for: the id of its last answer, kept with the attempt for the operator. */
  supportId?: string;
}

export interface Approved extends Final {
  outcome: "approved";
  /** `authorized`: the money is held, not taken; the session ends payment-authorized. Always `captured` in mode tokenize. */
  capture: "captured" | "authorized";
}

export interface Declined extends Final {
  outcome: "declined";
  code: DeclineCode;
  /** The code shown to the merchant when it is not one of ours: card forwarding passes the merchant's own. */
  publicCode?: string;
  /** The merchant's own words with it, at most 500 characters, no card data; absent: the table's. */
  publicMessage?: string;
  /** For the operator: the vendor's words, at most 255 characters, no card data. */
  message: string | null;
  /** Mode tokenize: the vendor may keep the card all the same; it is to be taken out, or listed for the operator. */
  mayBeStored?: true;
  /** With `mayBeStored`: what the vendor calls the card, where it says so. */
  storedAs?: string;
  /** With the code duplicate_transaction: what the refusal is called once it is proven that there is no first one. */
  unlessFound?: DeclineCode;
}

export interface Unknown {
  outcome: "unknown";
  /** For the operator: what was lost and where. A constant, never a vendor's text. */
  reason: string;
  /** What the vendor's answer means once it is proven that it has no such transaction; `gateway_unavailable` when absent. */
  unlessFound?: DeclineCode;
  supportId?: string;
}

/** The vendor has no such transaction; proof only after `absenceIsProofAfterMs`. */
export interface Absent {
  outcome: "absent";
  /** Mode tokenize: it may keep the card all the same, so that no time proves anything; no money moved. Of a void: the card cannot be taken out from here. */
  mayBeStored?: true;
}

export type LookUpResult = Approved | Declined | Absent | { outcome: "pending" } | Unknown;

export type VoidResult =
  | { outcome: "voided" }
  /** The vendor shows what became of the attempt, and nothing of it stands; or nothing that could be taken back was kept. */
  | { outcome: "nothing to void" }
  /** As in a look-up, and no proof for one that it approved. */
  | Absent
  | Unknown;

/** What a gateway may touch. The smallest set that the 26 vendors need; `payments/` builds one per attempt. */
export interface GatewayIo {
  readonly settings: GatewaySettings;
  readonly clock: { now(): number; monotonic(): number };
  readonly random: { uuid(): string; bytes(count: number): Uint8Array };
  /** The public address of this installation where it is known, for vendors that demand a payer's address; a telephone has none. */
  readonly egressIp: string | null;
  /** Ends when the attempt's total deadline passes; `send` and `wait` obey it by themselves. */
  readonly signal: AbortSignal;
  /** One request, no redirects, no retries. The body is wiped once it was sent. Never throws for what a network can do. */
  send(request: GatewayRequest): Promise<GatewayAnswer>;
  /** Resolves true after `ms`, or false at once when the deadline would pass first: the vendor's polling and back-off. */
  wait(ms: number): Promise<boolean>;
  /** Writes a vendor id to the attempt's row before the next step, so that a crash leaves it for the look-up. No card data. */
  note(notes: Record<string, string>): Promise<void>;
  /**
   * A short-lived access token, minted at most once at a time over all attempts of this process and kept until `expiresAtMs`.
   * `renew` throws away the kept one: after a 401.
   */
  accessToken(mint: () => Promise<AccessToken | Declined>, options?: { renew?: boolean }): Promise<AccessToken | Declined>;
  /**
   * Replaces credentials that the vendor rotates with each use (QuickBooks' refresh token), sealed and committed before it
   * returns, under a lock that all processes share. `change` sees the newest values and answers the ones to keep.
   */
  rotateCredentials(
    change: (current: Readonly<Record<string, Secret>>) => Promise<Record<string, Secret> | null>,
  ): Promise<Readonly<Record<string, Secret>>>;
}

export interface AccessToken {
  token: Secret;
  /** When to stop using it, ms since the epoch, the margin already taken off. */
  expiresAtMs: number;
  /** What the vendor granted together with it and later requests must name (Global Payments' account ids). No secret. */
  grants: Readonly<Record<string, string>>;
}

export interface GatewayRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute, built from `settings.endpoint` or a side host. No card data, ever. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Bytes of their own, from `kit/body.ts`; absent for GET. */
  body?: Uint8Array;
  /** Shorter than the rest of the attempt's deadline when the vendor's time-out is. */
  timeoutMs?: number;
  /** Bytes of the answer's body that are read before it counts as broken. Default 256 KiB. */
  maxBytes?: number;
}

export type GatewayAnswer =
  | { kind: "answered"; status: number; headers: Readonly<Record<string, string>>; body: Uint8Array }
  /** No byte of the request can have been acted on: name not resolved, connection refused, address not allowed, TLS refused. */
  | { kind: "not sent"; reason: string }
  /** The request may have been acted on: reset, time-out, broken or oversized answer. */
  | { kind: "lost"; reason: string };
