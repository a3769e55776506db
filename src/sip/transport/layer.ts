import { lookup } from "node:dns/promises";
import { type Clock, sleep } from "#src/kernel/clock.ts";
import { errorCode, OperatorError } from "#src/kernel/errors.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import type { SipRequest } from "../grammar/message.ts";
import { formatVia, parseVia, type Via } from "../grammar/via.ts";
import type { Hop } from "./locate.ts";
import { StreamTransport } from "./stream.ts";
import { type TlsCertificate, TlsEndpoint, type TlsOptions } from "./tls.ts";
import { DEFAULT_PORTS, type Flow, type Protocol, type Receiver, type Transport } from "./transport.ts";
import { UdpTransport } from "./udp.ts";

/** RFC 3261 section 18.1.1: larger requests need a transport with congestion control. */
const MAX_UDP_REQUEST_BYTES = 1_300;
/** Room for the Via that is added after the choice of transport. */
const VIA_BYTES = 120;
/** With port 0 the host picks a UDP port; that the same TCP port is taken happens, many times in a row it does not. */
const PORT_ATTEMPTS = 20;

/** How often, and for how long, a transport is asked whether it is alive. */
const PROBE_ATTEMPTS = 4;
const PROBE_MS = 300;

interface LayerOptions {
  receiver: Receiver;
  clock: Clock;
  /** The host in Via and Contact. */
  publicHost: string;
  /** Null: no TLS, in neither direction: whoever is called by TLS calls back by it inside the dialog. */
  tls: (TlsOptions & { port: number }) | null;
}

export interface Ports {
  /** UDP and TCP. */
  port: number;
  tlsPort: number | null;
}

/** The transports together (RFC 3261 section 18): their ports, the choice among them, and the way back of responses. */
export class TransportLayer {
  readonly #transports: Readonly<Partial<Record<Protocol, Transport>>>;
  readonly #tls: TlsEndpoint | null;
  readonly #publicHost: string;
  readonly #clock: Clock;
  readonly #tlsPort: number;
  #ports: Ports = { port: 0, tlsPort: null };

  /** Throws OperatorError when the certificate is unusable. */
  constructor({ receiver, clock, publicHost, tls }: LayerOptions) {
    this.#tls = tls && usable(() => new TlsEndpoint(tls));
    this.#transports = {
      udp: new UdpTransport(receiver),
      tcp: new StreamTransport(receiver, clock),
      ...(this.#tls ? { tls: new StreamTransport(receiver, clock, this.#tls) } : {}),
    };
    this.#tlsPort = tls?.port ?? 0;
    this.#publicHost = publicHost;
    this.#clock = clock;
  }

  /** `host:port` as peers reach us by this transport; the port is known once `listen` has resolved. */
  sentBy(protocol: Protocol): string {
    const { port, tlsPort } = this.#ports;
    return formatHostPort(this.#publicHost, protocol === "tls" ? tlsPort : port);
  }

  /** Whether requests may leave by this transport. */
  speaks(protocol: Protocol): boolean {
    return this.#transports[protocol] !== undefined;
  }

  /** Binds UDP and TCP to one port and TLS to its own; 0: any free one. `named`: an address or its name. Rejects with OperatorError when that cannot be. */
  async listen(named: string, port: number): Promise<Ports> {
    const { address: host } = await lookup(named);
    this.#ports = { port: await this.#listenPlain(host, port), tlsPort: null };
    const { tls } = this.#transports;
    if (!tls) return this.#ports;
    try {
      this.#ports = { ...this.#ports, tlsPort: await tls.listen(host, this.#tlsPort) };
      return this.#ports;
    } catch (cause) {
      await this.close();
      throw notListening(host, this.#tlsPort, cause);
    }
  }

  /** The certificate that connections from now on are made with. Throws OperatorError when it is unusable; then the one before stays. */
  renewCertificate(certificate: TlsCertificate): void {
    usable(() => this.#tls?.renew(certificate));
  }

  /** UDP and TCP on one port. */
  async #listenPlain(host: string, port: number): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      try {
        const bound = (await this.#transports.udp?.listen(host, port)) ?? port;
        await this.#transports.tcp?.listen(host, bound);
        return bound;
      } catch (cause) {
        await this.close();
        if (port !== 0 || errorCode(cause) !== "EADDRINUSE" || attempt === PORT_ATTEMPTS) throw notListening(host, port, cause);
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
   * (section 18.1.1, which also has the way back to UDP). Rejects when the peer cannot be reached, or is not who it should be.
   */
  async flowTo(hop: Hop, request: SipRequest, pinned: boolean): Promise<Flow> {
    if (hop.protocol === "udp" && !pinned && request.toBytes().length + VIA_BYTES > MAX_UDP_REQUEST_BYTES) {
      const flow = await this.#flow({ ...hop, protocol: "tcp" }).catch(() => null);
      if (flow) return flow;
    }
    return this.#flow(hop);
  }

  /** Our Via for a request leaving by `flow`, asking for symmetric responses (RFC 3581). */
  via(flow: Flow, branch: string): string {
    return `SIP/2.0/${flow.protocol.toUpperCase()} ${this.sentBy(flow.protocol)};branch=${branch};rport`;
  }

  /**
   * Sends a response to where its request came from (section 18.2.2, RFC 3581 section 4): by the same connection, else to
   * the source address and the port the Via names. `maddr` is not honoured: responses go to their source and nowhere else (S-82).
   */
  async respond(flow: Flow, via: Via, bytes: Uint8Array): Promise<void> {
    if (flow.reliable ? flow.open : via.params.has("rport")) return flow.send(bytes);
    const { protocol, address } = flow;
    const back = await this.#flow({ protocol, address, port: via.port ?? DEFAULT_PORTS[protocol], name: via.host });
    return back.send(bytes);
  }

  async #flow({ protocol, address, port, name }: Hop): Promise<Flow> {
    const transport = this.#transports[protocol];
    if (!transport) throw new Error(`no ${protocol} here`);
    return transport.flowTo(address, port, name);
  }
}

function notListening(host: string, port: number, cause: unknown): OperatorError {
  return new OperatorError(`cannot listen for SIP on ${formatHostPort(host, port)}: ${errorCode(cause) || "unknown error"}`, { cause });
}

/** What OpenSSL says of a bad certificate names neither the setting nor the file. */
function usable<T>(make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new OperatorError(`SIP over TLS: certificate and key are not a usable pair in PEM (${errorCode(cause) || "unknown error"}).`, {
      cause,
    });
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
