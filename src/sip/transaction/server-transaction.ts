import type { Clock } from "#src/kernel/clock.ts";
import { respond, type SipRequest, type SipResponse } from "../grammar/message.ts";
import type { Flow } from "../transport/transport.ts";
import { INVITE_SERVER } from "./invite-server.ts";
import { MachineRun } from "./machine.ts";
import { NON_INVITE_SERVER } from "./non-invite-server.ts";

/** What a server transaction needs of the layer that owns it. */
interface ServerHooks {
  send(flow: Flow, request: SipRequest, response: SipResponse): Promise<void>;
  /** The request itself, and for an INVITE answered 2xx its ACK when that comes with the same branch (RFC 2543). */
  onRequest(transaction: ServerTransaction): void;
  onAck(ack: SipRequest): void;
  terminated(transaction: ServerTransaction): void;
}

/** A request received and the responses sent to it. */
export class ServerTransaction {
  readonly request: SipRequest;
  readonly key: string;
  /** Whether the same request is being served under another branch (RFC 3261 section 8.2.2.2): answer 482. */
  readonly merged: boolean;
  /** The final status sent, null before. */
  finalStatus: number | null = null;
  /** A response to the INVITE could not leave (RFC 3261 section 17.2.4). */
  onUnsent: (() => void) | null = null;
  #flow: Flow;
  readonly #run: MachineRun<SipRequest | SipResponse>;

  constructor(request: SipRequest, flow: Flow, key: string, merged: boolean, hooks: ServerHooks, clock: Clock) {
    this.request = request;
    this.#flow = flow;
    this.key = key;
    this.merged = merged;
    const began = clock.monotonic();
    const send = (response: SipResponse) => {
      hooks.send(this.#flow, request, response).catch(() => this.#run.handle("error"));
    };
    const actions = {
      send: (message: SipRequest | SipResponse) => send(message as SipResponse),
      deliver: (message: SipRequest | SipResponse) => (message === request ? hooks.onRequest(this) : hooks.onAck(message as SipRequest)),
      acknowledge: () => {},
      trying: () => this.respond(respond(request, 100, null, { headers: timestamp(request, clock.monotonic() - began) })),
      failed: (why: "timeout" | "transport") => void (why === "transport" && this.onUnsent?.()),
      terminated: () => hooks.terminated(this),
    };
    const machine = request.method === "INVITE" ? INVITE_SERVER : NON_INVITE_SERVER;
    this.#run = new MachineRun(machine, actions, clock, flow.reliable);
  }

  /** The way of the responses. */
  get flow(): Flow {
    return this.#flow;
  }

  begin(): void {
    this.#run.begin(this.request);
  }

  /**
   * A retransmission, or the ACK. Responses go where the first request came from (RFC 3261 section 18.2.2, RFC 3581 section 4), whoever repeats
   * it from elsewhere. But whoever has lost his connection sends the request again by another one, and is answered there.
   */
  receive(request: SipRequest, flow: Flow): void {
    if (!this.#flow.listening) this.#flow = flow;
    this.#run.handle(request.method === "ACK" ? "ack" : "request", request);
  }

  /** Sends a response as its class demands; after a final one only a 2xx to INVITE may be sent again. */
  respond(response: SipResponse): void {
    if (response.status >= 200) this.finalStatus ??= response.status;
    this.#run.handle(response.status < 200 ? "provisional" : response.status < 300 ? "success" : "failure", response);
  }

  stop(): void {
    this.#run.stop();
  }
}

/** For the 100 (RFC 3261 section 8.2.6.1): the time that the request was sent at, in whatever units of the sender's, and our delay, which is in seconds. */
function timestamp({ fields }: SipRequest, delayMs: number): [name: string, value: string][] {
  const value = fields.first("timestamp");
  if (value === null || !/^[0-9. \t]+$/.test(value)) return [];
  return [["Timestamp", /^[0-9.]+$/.test(value) ? `${value} ${Math.round(delayMs) / 1_000}` : value]];
}
