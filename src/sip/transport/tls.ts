import { isIP, type Socket } from "node:net";
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  createServer,
  type PeerCertificate,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
} from "node:tls";

/** What this side shows to its peers and asks of them. Texts in PEM. */
export interface TlsCertificate {
  cert: string;
  key: string;
  /** A peer that shows a certificate of these authorities may place calls; null: nobody is asked for one. */
  clientCa: string | null;
}

export interface TlsOptions {
  certificate: TlsCertificate;
  /** Authorities that servers' certificates may come from; default: the public ones. */
  serverCa?: readonly string[];
}

/** S-86, RFC 8996. Node's own list has no cipher without encryption or authentication. */
const MIN_VERSION = "TLSv1.2";
const HANDSHAKE_TIMEOUT_MS = 4_000;

/** Turns TCP connections into TLS ones, on either side (RFC 3261 section 26.3.1). */
export class TlsEndpoint {
  readonly #server: Server;
  readonly #serverCa: readonly string[] | undefined;
  #certificate: TlsCertificate;

  /** Throws when certificate and key are not a pair in PEM. */
  constructor({ certificate, serverCa }: TlsOptions) {
    this.#certificate = certificate;
    this.#serverCa = serverCa;
    this.#server = createServer({
      ...identityOf(certificate),
      ...questionOf(certificate),
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      allowHalfOpen: true,
    });
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  /** For connections from now on; open ones go on. Throws as the constructor does, and then the certificate before stays in force. */
  renew(certificate: TlsCertificate): void {
    createSecureContext(identityOf(certificate));
    this.#certificate = certificate;
    this.#server.setSecureContext({ ...identityOf(certificate), ...questionOf(certificate) });
  }

  /** What becomes of connections given to `accept` whose handshake has worked; `socket.authorized`: the peer's certificate is good. */
  set onSecured(handler: (socket: TLSSocket) => void) {
    this.#server.on("secureConnection", handler);
  }

  /** Shakes hands with whoever connected. The socket is destroyed when that fails or takes over 4 s. */
  accept(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** Connects to a server; "secureConnect" tells that its certificate is in force and for `name`. */
  connect(address: string, port: number, name: string): TLSSocket {
    return connect({
      host: address,
      port,
      ...identityOf(this.#certificate),
      ...(isIP(name) ? {} : { servername: name }),
      ...(this.#serverCa ? { ca: [...this.#serverCa] } : {}),
      checkServerIdentity: (_host, certificate) => identityFault(name, certificate),
    });
  }
}

function identityOf({ cert, key }: TlsCertificate): SecureContextOptions {
  return { cert, key, minVersion: MIN_VERSION };
}

/** A certificate is asked for, not insisted on: peers admitted by address or password have none. */
function questionOf({ clientCa }: TlsCertificate): { ca?: string; requestCert: boolean; rejectUnauthorized: false } {
  return { ...(clientCa === null ? {} : { ca: clientCa }), requestCert: clientCa !== null, rejectUnauthorized: false };
}

/**
 * RFC 5922 section 7.1: a certificate for a SIP domain names it as a URI or as a host name. As in HTTPS a wildcard stands for one label:
 * section 7.2 forbids that, and carriers' certificates have it.
 */
function identityFault(name: string, certificate: PeerCertificate): Error | undefined {
  const domains = certificate.subjectaltname?.split(", ") ?? [];
  return domains.includes(`URI:sip:${name}`) ? undefined : checkServerIdentity(name, certificate);
}
