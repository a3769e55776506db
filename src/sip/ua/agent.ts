import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { ResponseParts, SipRequest } from "../grammar/message.ts";
import { quote } from "../grammar/scanner.ts";
import type { ServerTransaction } from "../transaction/server-transaction.ts";
import type { TransactionLayer } from "../transaction/layer.ts";
import type { Access } from "../transport/access.ts";
import type { TransportLayer } from "../transport/layer.ts";
import type { Resolver } from "../transport/locate.ts";
import type { Protocol } from "../transport/transport.ts";

/** What the user agent tells its operator. Events are constants; fields never hold what an unknown peer or a caller wrote. */
export interface SipLog {
  debug(event: string, fields?: SipLogFields): void;
  warn(event: string, fields?: SipLogFields): void;
}

export interface SipLogFields {
  method?: string;
  status?: number;
  /** One of our own sentences. */
  reason?: string;
  /** IP address of the peer. */
  host?: string;
  port?: number;
  count?: number;
  error?: unknown;
}

/** Who is responsible for a dialog: a call ringing or a call answered. */
export interface DialogOwner {
  /** A request inside the dialog, in order and checked. */
  receive(transaction: ServerTransaction): void;
  /** An ACK to a 2xx. */
  receiveAck(ack: SipRequest): void;
  /** The user agent is stopping: say good-bye. */
  shutDown(): Promise<void>;
}

/** The user agent as its calls see it. */
export interface Agent {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: SipLog;
  readonly userAgent: string;
  readonly access: Access;
  readonly transports: TransportLayer;
  readonly transactions: TransactionLayer;
  readonly resolver: Resolver;
  /** Whether an IP address and port may be sent to. */
  mayReach(address: string, port: number): Promise<boolean>;
  /** By `dialogKey`. */
  readonly dialogs: Map<string, DialogOwner>;
}

/** RFC 3261 section 14.2: when to try again, s. By chance, so that two who wait for each other do not meet again. */
export function retryAfter({ random }: Agent): ResponseParts {
  return { headers: [["Retry-After", String(Math.trunc(11 * random.fraction()))]] };
}

/** A tag or branch nobody can guess: 64 bits and more (RFC 3261 section 19.3 asks for 32). */
export function randomToken(random: Random, bytes = 10): string {
  return Buffer.from(random.bytes(bytes)).toString("hex");
}

/** For people to read (RFC 3261 section 20.43); `code`: 399 where none of the registered ones says it. */
export function warningOf({ transports }: Agent, text: string, code = 399): readonly [name: string, value: string] {
  return ["Warning", `${code} ${transports.sentBy("udp")} ${quote(text)}`];
}

/** Why what would have to be sent by sips is refused: there is no TLS of ours, or not to there (RFC 5630 section 5.2). */
export function sipsNotAllowed(agent: Agent): ResponseParts {
  return { headers: [warningOf(agent, "SIPS Not Allowed", 380)] };
}

const PLAIN_USER = /^[A-Za-z0-9._+-]{1,128}$/;

/**
 * Our Contact for `request`, or its response, leaving by `protocol`. `user` is kept where it needs no escapes, so that a peer's logs show
 * it. A request that says sips has a sips Contact on both sides (RFC 3261 sections 8.1.1.8 and 12.1.1).
 */
export function contact(agent: Agent, protocol: Protocol, user: string | null, request: SipRequest): string {
  const name = user !== null && PLAIN_USER.test(user) ? `${user}@` : "";
  if (agent.transports.speaks("tls") && saysSips(request)) return `<sips:${name}${agent.transports.sentBy("tls")}>`;
  return `<sip:${name}${agent.transports.sentBy(protocol)}${protocol === "udp" ? "" : `;transport=${protocol}`}>`;
}

/** Its Request-URI, or the top of its Record-Route or Route, or without those its Contact. */
function saysSips(request: SipRequest): boolean {
  const { fields } = request;
  const next = fields.list("record-route")[0] ?? fields.list("route")[0] ?? fields.list("contact")[0] ?? "";
  return /^sips:/i.test(request.requestUri) || /^[^<]*<?[ \t]*sips:/i.test(next);
}
