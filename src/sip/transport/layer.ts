import { type Clock, sleep } from "#src/kernel/clock.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import type { SipRequest } from "../grammar/message.ts";
import { formatHostPort } from "../grammar/uri.ts";
import { formatVia, parseVia, type Via } from "../grammar/via.ts";
import type { Hop } from "./locate.ts";
import { TcpTransport } from "./tcp.ts";
import type { Flow, Protocol, Receiver, Transport } from "./transport.ts";
import { UdpTransport } from "./udp.ts";

const DEFAULT_PORT = 5060;
/** RFC 3261 section 18.1.1: larger requests need a transport with congestion control. */
const MAX_UDP_REQUEST_BYTES = 1_300;
/** Room for the Via that is added after the choice of transport. */
const VIA_BYTES = 120;
/** With port 0 the host picks a UDP port; that the same TCP port is taken happens, many times in a row it does not. */
const PORT_ATTEMPTS = 20;

/** How often, and for how long, a transport is asked whether it is alive. */
const PROBE_ATTEMPTS = 4;
const PROBE_MS = 300;

/** The transports together (RFC 3261 section 18): one port for all of them, the choice among them, and the way back of responses. */
export class TransportLayer {
  readonly #transports: Readonly<Record<Protocol, Transport>>;
  readonly #publicHost: string;
  readonly #clock: Clock;
  #port = 0;

  constructor(receiver: Receiver, clock: Clock, publicHost: string) {
    this.#transports = { udp: new UdpTransport(receiver), tcp: new TcpTransport(receiver, clock) };
    this.#publicHost = publicHost;
    this.#clock = clock;
  }

  /** `host:port` as peers reach us; the port is known once `listen` has resolved. */
  get sentBy(): string {
    return formatHostPort(this.#publicHost, this.#port);
  }

  /** Binds every transport to the same port and returns it. Rejects with OperatorError when that cannot be. */
  async listen(host: string, port: number): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#port = port;
        for (const transport of Object.values(this.#transports)) this.#port = await transport.listen(host, this.#port);
        return this.#port;
      } catch (cause) {
        await this.close();
        const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
        if (port !== 0 || code !== "EADDRINUSE" || attempt === PORT_ATTEMPTS) {
          throw new OperatorError(`cannot listen for SIP on ${formatHostPort(host, port)}: ${code}`, { cause });
        }
      }
    }
  }

  /** Whether every transport is bound and reads what comes. A datagram may be lost in a flood: it is sent again a few times. */
  async isAlive(token: Uint8Array): Promise<boolean> {
    for (let attempt = 0; attempt < PROBE_ATTEMPTS; attempt++) {
      const late = sleep(this.#clock, PROBE_MS).then(() => false);
      const alive = Object.values(this.#transports).map((transport) => Promise.race([transport.isAlive(token), late]));
      if ((await Promise.all(alive)).every(Boolean)) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#transports).map((transport) => transport.close()));
  }

  /**
   * An open flow to `hop` for a request. A large one goes by TCP when the peer takes TCP and nobody `pinned` the transport
   * (section 18.1.1, which also has the way back to UDP). Rejects when the peer cannot be reached.
   */
  async flowTo(hop: Hop, request: SipRequest, pinned: boolean): Promise<Flow> {
    if (hop.protocol === "udp" && !pinned && request.toBytes().length + VIA_BYTES > MAX_UDP_REQUEST_BYTES) {
      const flow = await this.#transports.tcp.flowTo(hop.address, hop.port).catch(() => null);
      if (flow) return flow;
    }
    return this.#transports[hop.protocol].flowTo(hop.address, hop.port);
  }

  /** Our Via for a request leaving by `flow`, asking for symmetric responses (RFC 3581). */
  via(flow: Flow, branch: string): string {
    return `SIP/2.0/${flow.protocol.toUpperCase()} ${this.sentBy};branch=${branch};rport`;
  }

  /**
   * Sends a response to where its request came from (section 18.2.2, RFC 3581 section 4): by the same connection, else to
   * the source address and the port the Via names. `maddr` is not honoured: responses go to their source and nowhere else (S-82).
   */
  async respond(flow: Flow, via: Via, bytes: Uint8Array): Promise<void> {
    if (flow.reliable ? flow.open : via.params.has("rport")) return flow.send(bytes);
    const back = await this.#transports[flow.protocol].flowTo(flow.address, via.port ?? DEFAULT_PORT);
    return back.send(bytes);
  }
}

/** Notes in the top Via where a request really came from (section 18.2.1, RFC 3581 section 4). A forged note is replaced. */
export function stampVia(request: SipRequest, flow: Flow): void {
  const value = request.fields.first("via");
  if (value === null) return;
  const { via, rest } = parseVia(value);
  const rport: [string, string][] = via.params.has("rport") ? [["rport", String(flow.port)]] : [];
  const params = via.params.with([...rport, ["received", flow.address]]);
  request.fields.replaceFirst("Via", formatVia({ ...via, params }) + (rest === null ? "" : `, ${rest}`));
}
