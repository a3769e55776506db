/** Peers for tests: whole user agents on loopback, and raw ones that send what they are told. */
import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { systemClock } from "#src/kernel/clock.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { SipRequest, SipResponse } from "../grammar/message.ts";
import { type Parsed, parseDatagram } from "../grammar/parse.ts";
import { StreamFramer } from "../grammar/stream-framer.ts";
import type { IncomingCall } from "./incoming-call.ts";
import { createUserAgent, type UserAgent, type UserAgentOptions } from "./user-agent.ts";

export const OFFER = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n";
export const ANSWER = OFFER.replace("40000", "50000");

/** Values that are awaited one by one, in the order they come. */
export class Inbox<T> {
  readonly #values: T[] = [];
  readonly #waiting: ((value: T) => void)[] = [];

  put(value: T): void {
    const next = this.#waiting.shift();
    if (next) next(value);
    else this.#values.push(value);
  }

  next(): Promise<T> {
    const value = this.#values.shift();
    return value === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(value);
  }

  /** What has come and nobody has asked for. */
  get waiting(): readonly T[] {
    return this.#values;
  }
}

export interface TestAgent {
  agent: UserAgent;
  port: number;
  tlsPort: number;
  calls: Inbox<IncomingCall>;
}

/** A user agent on a free loopback port whose calls wait in `calls`. */
export async function testAgent(options: Partial<UserAgentOptions> = {}): Promise<TestAgent> {
  const calls = new Inbox<IncomingCall>();
  const agent = createUserAgent({
    clock: systemClock,
    random: systemRandom,
    host: "127.0.0.1",
    port: 0,
    publicHost: "127.0.0.1",
    userAgent: "Voicetill/test",
    trunks: ["127.0.0.0/8"],
    onInvite: (call) => calls.put(call),
    ...options,
  });
  const { port, tlsPort } = await agent.start();
  return { agent, port, tlsPort: tlsPort ?? 0, calls };
}

/** A peer that sends the octets it is given and keeps what comes back. */
export interface RawPeer {
  readonly port: number;
  readonly protocol: "UDP" | "TCP" | "TLS";
  /** Says no more, and goes on listening. */
  end(): void;
  /** Breaks the connection off. */
  reset(): void;
  send(message: string | Uint8Array): void;
  /** To another port of 127.0.0.1 than the one it was made for; UDP alone. */
  sendTo(port: number, message: Uint8Array): void;
  /** The next response; requests wait in `requests`. */
  responses: Inbox<SipResponse>;
  requests: Inbox<SipRequest>;
  /** Everything received, as octets: datagrams, or whatever pieces a stream came in. */
  octets: Inbox<string>;
  /** Resolves when the other side has closed the connection; never for UDP. */
  closed: Promise<void>;
  close(): Promise<void>;
}

export async function rawUdp(target: number, address = "127.0.0.1"): Promise<RawPeer> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, address, resolve));
  const { responses, requests, octets, take } = inboxes();
  socket.on("message", (bytes) => {
    octets.put(bytes.toString("latin1"));
    take(parseDatagram(bytes));
  });
  return {
    port: socket.address().port,
    protocol: "UDP",
    end: () => {},
    reset: () => {},
    send: (message) => socket.send(typeof message === "string" ? Buffer.from(message, "latin1") : message, target, "127.0.0.1"),
    sendTo: (port, message) => socket.send(message, port, "127.0.0.1"),
    responses,
    requests,
    octets,
    closed: new Promise(() => {}),
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** A user agent and a raw UDP peer that talks to it; `closers` end both, what still runs on a manual clock included. */
export async function agentAndPeer(
  closers: (() => Promise<void>)[],
  options: Partial<UserAgentOptions> = {},
): Promise<TestAgent & { peer: RawPeer; ask: (changes: Changes) => Promise<SipResponse> }> {
  const made = await testAgent(options);
  const peer = await rawUdp(made.port);
  closers.push(
    () => {
      const stopped = made.agent.stop();
      if (options.clock instanceof ManualClock) options.clock.advance(500);
      return stopped;
    },
    () => peer.close(),
  );
  const ask = (changes: Changes) => {
    peer.send(requestText(peer, changes));
    return peer.responses.next();
  };
  return { ...made, peer, ask };
}

export async function rawTcp(target: number, localAddress = "127.0.0.1"): Promise<RawPeer> {
  const socket = connect({ port: target, host: "127.0.0.1", localAddress, noDelay: true });
  return streamPeer(socket, "TCP", "connect");
}

/** `options`: a certificate of its own, say. The other side's is not looked at. Rejects when it does not shake hands. */
export function rawTls(target: number, options: ConnectionOptions = {}): Promise<RawPeer> {
  const socket = connectTls({ port: target, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  return streamPeer(socket, "TLS", "secureConnect");
}

async function streamPeer(socket: Socket, protocol: "TCP" | "TLS", ready: string): Promise<RawPeer> {
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    socket.once(ready, () => resolve());
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
  });
  socket.on("error", () => {});
  const { responses, requests, octets, take } = inboxes();
  const framer = new StreamFramer();
  socket.on("data", (chunk: Buffer) => {
    octets.put(chunk.toString("latin1"));
    for (const frame of framer.feed(chunk)) if (frame.kind === "message") take(frame.parsed);
  });
  return {
    port: socket.localPort ?? 0,
    protocol,
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    send: (message) => void socket.write(typeof message === "string" ? Buffer.from(message, "latin1") : message),
    sendTo: () => {
      throw new Error("a connection has one end");
    },
    responses,
    requests,
    octets,
    closed,
    close: () => {
      socket.destroy();
      return closed;
    },
  };
}

function inboxes() {
  const responses = new Inbox<SipResponse>();
  const requests = new Inbox<SipRequest>();
  const octets = new Inbox<string>();
  const take = (parsed: Parsed) => {
    if (parsed.kind === "response") responses.put(parsed.response);
    if (parsed.kind === "request") requests.put(parsed.request);
  };
  return { responses, requests, octets, take };
}

/** What a test changes in a well-formed request. Headers replace those of the same name; null leaves one out. */
export interface Changes {
  method?: string;
  uri?: string;
  headers?: Readonly<Record<string, string | null>>;
  body?: string;
  /** The transaction's branch, and its number in the dialog. */
  branch?: string;
  cseq?: number;
}

/** A request as octets, from a peer that can be answered. */
export function requestText(
  peer: RawPeer,
  { method = "OPTIONS", uri = "sip:pay@127.0.0.1", headers = {}, body = "", branch, cseq = 1 }: Changes = {},
): string {
  const own: Record<string, string | null> = {
    Via: `SIP/2.0/${peer.protocol} 127.0.0.1:${peer.port};branch=z9hG4bK${branch ?? systemRandom.uuid()};rport`,
    "Max-Forwards": "70",
    From: "<sip:+15551230000@127.0.0.1>;tag=theirs",
    To: "<sip:pay@127.0.0.1>",
    "Call-ID": systemRandom.uuid(),
    CSeq: `${cseq} ${method}`,
    Contact: `<sip:peer@127.0.0.1:${peer.port}${peer.protocol === "UDP" ? "" : `;transport=${peer.protocol.toLowerCase()}`}>`,
    ...(body === "" ? {} : { "Content-Type": "application/sdp" }),
    "Content-Length": String(Buffer.byteLength(body, "latin1")),
    ...headers,
  };
  const lines = Object.entries(own).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return [`${method} ${uri} SIP/2.0`, ...lines, "", body].join("\r\n");
}
