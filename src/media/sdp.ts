import { isIP } from "node:net";
import { canonicalHost } from "#src/kernel/host-port.ts";
import { parse, type SdpConnection, type SdpMedia, type SdpSession } from "sdp-transform";
import type { PayloadTypes } from "./payload-types.ts";
import { type CryptoLine, OFFERED_SUITES, keyOf, newKey, readCryptoLine, writeCryptoLine } from "./sdes.ts";
import type { SrtpAgreement } from "./srtp-session.ts";

/** What WE may do with the stream (RFC 3264 section 6.1), not what the peer wrote. */
export type Direction = "sendrecv" | "sendonly" | "recvonly" | "inactive";

/** Where and how to send audio to the peer. */
export interface RemoteMedia {
  /** IP address literal; all zeros while an RFC 2543 peer holds us. */
  host: string;
  port: number;
  /** The codec to send: 0 PCMU, 8 PCMA (RFC 3551 section 6). */
  payloadType: 0 | 8;
  /** The peer's own numbers of the codecs. Absent: those of RFC 3551. */
  payloadTypes?: PayloadTypes;
  /** The peer's telephone-event payload type (RFC 4733); null: not negotiated. */
  eventPayloadType: number | null;
  direction: Direction;
  /** Absent: plain RTP. */
  srtp?: SrtpAgreement;
  /** Where its RTCP goes (RFC 3605); `muxed`: with the RTP (RFC 5761). Absent: to the next port. */
  rtcp?: { host: string; port: number } | "muxed";
  /**
   * Ours: the peer may send its events under it where its answer has another one (RFC 3264 section 6.1), and some do who name none. Absent: it is
   * the peer's too, or something else to him.
   */
  ownEventPayloadType?: number;
}

/** Our side of the description. */
export interface LocalMedia {
  /** IP address literal for c= and o=. Its family is the only one accepted from the peer. */
  host: string;
  port: number;
  /** o= session id: decimal digits, the same for the whole dialog (RFC 8866 section 5.2). */
  sessionId: string;
  /** The last description we sent in this dialog, or null. It decides the o= version (RFC 3264 section 8). */
  previous: string | null;
  /** Absent: keys would travel in the clear, so none are given and none are taken (S-86). Set where the signalling is TLS. */
  srtp?: LocalSrtp;
}

/** SRTP by SDES (RFC 4568), for descriptions that travel over TLS. */
export interface LocalSrtp {
  /** Draws random octets for keys. */
  bytes: (count: number) => Uint8Array;
  /** Plain RTP is not agreed to, whoever offers it. */
  required: boolean;
}

/** `malformed`: not SDP, or it contradicts itself (400). `unacceptable`: sound, but nothing in it we can do (488). */
interface SdpRefusal {
  kind: "refused";
  reason: "malformed" | "unacceptable";
  detail: string;
}

interface SdpAgreement {
  kind: "agreed";
  remote: RemoteMedia;
}

/** The telephone-event payload type of our own offers. */
const OWN_EVENT_PAYLOAD_TYPE = 101;

/** Longest description read; a carrier's largest (ICE, many crypto lines) stays under 8 KiB. */
const MAX_SDP_BYTES = 16_384;
const MAX_LINE_BYTES = 1_024;
const MAX_MEDIA_LINES = 16;
const MAX_RELEVANT_LINES = 200;
const RELEVANT = /^(?:[vocm]=|a=(?:rtpmap:|crypto:|rtcp:|(?:rtcp-mux|sendrecv|sendonly|recvonly|inactive)$))/;
/** A blank in front of an attribute's value. */
const LOOSE_VALUE = /^(a=[a-z-]+:)[ \t]+/;
/** "/2" behind the port (RFC 8866 section 5.14): the first one is used. sdp-transform does not know it. */
const PORT_COUNT = /^(m=\S+ \d+)\/\d+(?= )/;
/** Read by `sdes.ts`: sdp-transform keeps one session parameter of several. */
const CRYPTO = "a=crypto:";
const CODEC_NAMES: Record<0 | 8, string> = { 0: "PCMU", 8: "PCMA" };
const CODECS: ReadonlyMap<string, 0 | 8> = new Map([
  ["PCMU", 0],
  ["PCMA", 8],
]);
/** RTP, and SRTP. What "F" adds (RFC 4585, RFC 5124) need not be used: we give no feedback, and pass over the peer's. */
const PROFILES: ReadonlySet<string> = new Set(["RTP/AVP", "RTP/AVPF", "RTP/SAVP", "RTP/SAVPF"]);
const MIRRORED: Record<Direction, Direction> = { sendrecv: "sendrecv", sendonly: "recvonly", recvonly: "sendonly", inactive: "inactive" };
/** RFC 2543 hold: "do not send to me" (RFC 3264 section 8.4). */
const WITHOUT_SENDING: Record<Direction, Direction> = {
  sendrecv: "recvonly",
  sendonly: "inactive",
  recvonly: "recvonly",
  inactive: "inactive",
};

/**
 * Answers an offer (RFC 3264 section 6): the first audio stream we can do is accepted, an encrypted one before a plain one, every other
 * stream is refused with port 0 in its place. A dialog that is encrypted stays so. Never throws.
 */
export function acceptOffer(offer: string, local: LocalMedia): (SdpAgreement & { answer: string }) | SdpRefusal {
  const session = readSession(offer);
  if ("reason" in session) return session;
  let refusal: SdpRefusal = unacceptable("no audio stream");
  for (const media of session.media.toSorted((a, b) => Number(isEncrypted(b)) - Number(isEncrypted(a)))) {
    const stream = readStream(session, media, local.host);
    const key = "reason" in stream ? stream : agreeOnKeys(media, local);
    if ("reason" in stream || "reason" in key) {
      const fault = "reason" in stream ? stream : (key as SdpRefusal);
      if (fault.reason === "malformed") return fault;
      if (media.type === "audio") refusal = fault;
      continue;
    }
    const { ours, srtp } = key;
    if (isMuxed(media, stream.remote)) stream.remote.rtcp = "muxed";
    const lines = session.media.map((other) => (other === media ? audioLines(local, stream, ours, media.protocol) : refusedLine(other)));
    return { kind: "agreed", answer: describe(local, lines), remote: srtp ? { ...stream.remote, srtp } : stream.remote };
  }
  return refusal;
}

/**
 * An offer of PCMU, PCMA and telephone-event, for an INVITE of ours or for a 2xx to an INVITE without a description; encrypted where
 * `local.srtp` is given. `isOpportunistic`: plain RTP with keys beside it (RFC 8643), for a peer of whom nothing is known and who cannot
 * be asked again: it takes both or leaves the keys. In a dialog with a `previous` description the number and order of its streams is kept
 * (RFC 3264 section 8), and so are our keys.
 */
export function createOffer(local: LocalMedia, isOpportunistic = false): string {
  const ours: Stream = {
    codecs: [
      { codec: 0, number: 0 },
      { codec: 8, number: 8 },
    ],
    remote: { host: "", port: 0, payloadType: 0, eventPayloadType: OWN_EVENT_PAYLOAD_TYPE, direction: "sendrecv" },
  };
  const { previous, srtp } = local;
  const before = previous === null ? [] : parse(previous).media;
  const at = Math.max(0, before.findIndex(isActive));
  const keys = previous === null ? (srtp ? offeredKeys(srtp) : []) : keysInForce(local);
  const lines =
    before.length === 0
      ? [audioLines(local, ours, keys, keys.length > 0 && !isOpportunistic ? "RTP/SAVP" : "RTP/AVP")]
      : before.map((media, index) => (index === at ? audioLines(local, ours, keys, media.protocol) : refusedLine(media)));
  return describe(local, lines);
}

/** Reads the answer to `offer`, an offer that `createOffer` made. Keys that were opportunistic may be left unanswered. Never throws. */
export function readAnswer(answer: string, offer: string): SdpAgreement | SdpRefusal {
  const session = readSession(answer);
  if ("reason" in session) return session;
  const offered = parse(offer);
  // Some refuse streams that nobody has offered.
  const surplus = session.media.slice(offered.media.length);
  if (session.media.length < offered.media.length || surplus.some(isActive))
    return malformed("the answer has another number of streams than the offer");
  const at = offered.media.findIndex(isActive);
  const [media, asked] = [session.media[at], offered.media[at]];
  if (!media || !asked) return malformed("the answer has no stream for ours");
  const stream = readStream(session, media, String(offered.connection?.ip ?? ""));
  if ("reason" in stream) return stream;
  const { remote } = stream;
  const { eventPayloadType } = remote;
  if (eventPayloadType !== null && eventPayloadType !== OWN_EVENT_PAYLOAD_TYPE) remote.ownEventPayloadType = OWN_EVENT_PAYLOAD_TYPE;
  const ours = ownKeys(offer);
  if (isEncrypted(media) !== isEncrypted(asked)) return unacceptable("an answer of another transport than was offered");
  if (!isEncrypted(media) && (ours.length === 0 || !media.crypto)) return { kind: "agreed", remote };
  const theirs = media.crypto?.find((line) => ours.some(({ tag, suite }) => tag === line.tag && suite === line.suite));
  const own = ours.find(({ tag }) => tag === theirs?.tag);
  if (!theirs || !own) return unacceptable("no crypto line of ours is answered");
  return { kind: "agreed", remote: { ...remote, srtp: agreement(own, theirs) } };
}

/** Whose keys protect a stream of the peer's offer: our line of the answer, if it has one, and both sides' keys. */
function agreeOnKeys(media: SdpMedia, local: LocalMedia): { ours: CryptoLine[]; srtp?: SrtpAgreement } | SdpRefusal {
  const before = keysInForce(local);
  // Keys beside plain RTP count where they are agreed already (RFC 8643).
  if (!isEncrypted(media) && !(before.length > 0 && media.crypto)) {
    if (before.length > 0) return unacceptable("plain RTP in a dialog that is encrypted");
    return local.srtp?.required ? unacceptable("plain RTP where SRTP is required") : { ours: [] };
  }
  if (!local.srtp) return unacceptable("SRTP whose keys did not come over TLS");
  // With one key at a time an identifier says nothing: a line without one rather.
  const [theirs] = (media.crypto ?? []).toSorted((one, other) => Number("mkiBytes" in one) - Number("mkiBytes" in other));
  if (!theirs) return unacceptable("no crypto line that can be done");
  const { tag, suite } = theirs;
  // Our own key stays as it is through new descriptions of the peer's.
  const own = { tag, suite, key: before.find((line) => line.suite === suite)?.key ?? newKey(local.srtp.bytes) };
  return { ours: [own], srtp: agreement(own, theirs) };
}

function agreement(own: CryptoLine, theirs: CryptoLine): SrtpAgreement {
  const { mkiBytes } = theirs;
  return { suite: own.suite, sendKey: keyOf(own), receiveKey: keyOf(theirs), ...(mkiBytes !== undefined && { mkiBytes }) };
}

function offeredKeys(srtp: LocalSrtp): CryptoLine[] {
  return OFFERED_SUITES.map((suite, index) => ({ tag: String(index + 1), suite, key: newKey(srtp.bytes) }));
}

/** Our keys, in a description that we sent. */
function ownKeys(description: string): CryptoLine[] {
  return description.split("\r\n").flatMap((line) => readCryptoLine(line) ?? []);
}

/** Our keys in this dialog; none once they have been given up with `srtp`. */
function keysInForce({ previous, srtp }: LocalMedia): CryptoLine[] {
  return previous === null || !srtp ? [] : ownKeys(previous);
}

function isEncrypted({ protocol }: SdpMedia): boolean {
  return protocol === "RTP/SAVP" || protocol === "RTP/SAVPF";
}

type RtpMap = SdpMedia["rtp"][number];

/** A codec under the number that the peer gives it. */
interface NumberedCodec {
  codec: 0 | 8;
  number: number;
}

interface Stream {
  /** Codecs of both sides in the peer's order; the first is the one to send. */
  codecs: NumberedCodec[];
  remote: RemoteMedia;
}

function readSession(text: string): SdpSession | SdpRefusal {
  if (text.length > MAX_SDP_BYTES) return malformed("longer than 16 KiB");
  // Some end their lines with a blank, or begin a value with one.
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trimEnd().replace(LOOSE_VALUE, "$1"));
  if (lines.some((line) => line.length > MAX_LINE_BYTES)) return malformed("a line longer than 1 KiB");
  if (lines.filter((line) => line.startsWith("m=")).length > MAX_MEDIA_LINES) return malformed("more than 16 streams");
  // sdp-transform tries some sixty patterns on a line it does not know: 3,000 of those would cost 40 ms (S-84).
  const relevant = lines.filter((line) => RELEVANT.test(line));
  if (relevant.length > MAX_RELEVANT_LINES) return malformed("too many lines");
  const plain = relevant.filter((line) => !line.startsWith(CRYPTO));
  const session = parse(plain.map((line) => line.replace(PORT_COUNT, "$1")).join("\r\n"));
  if (session.version !== 0) return malformed("v=0 is missing");
  if (!relevant.some((line) => line.startsWith("o="))) return malformed("o= is missing");
  if (session.media.some((media) => media.type === undefined)) return malformed("a broken m= line");
  let at = -1;
  for (const line of relevant) {
    if (line.startsWith("m=")) at++;
    const crypto = line.startsWith(CRYPTO) ? readCryptoLine(line) : null;
    const media = session.media[at];
    if (crypto && media) (media.crypto ??= []).push(crypto);
  }
  return session;
}

function readStream(session: SdpSession, media: SdpMedia, ownHost: string): Stream | SdpRefusal {
  if (media.type !== "audio") return unacceptable("not audio");
  const port = media.port;
  if (typeof port !== "number" || port > 65_535) return malformed("a broken m= port");
  if (port === 0) return unacceptable("a refused stream");
  if (!PROFILES.has(media.protocol ?? "")) return unacceptable("a transport other than RTP and SRTP");

  const formats = formatsOf(media);
  const codecs = codecsOf(media, formats);
  const payloadType = codecs[0]?.codec;
  if (payloadType === undefined) return unacceptable("neither PCMU nor PCMA");
  const renamed = codecs.filter(({ codec, number }) => codec !== number);

  const connection = media.connection ?? session.connection;
  if (!connection) return malformed("no c= line");
  const host = hostOf(connection);
  if (host === null) return unacceptable("c= is not a unicast IP address");
  const onHold = isUnspecified(host);
  if (!onHold && isIP(host) !== isIP(ownHost)) return unacceptable("an address of the other IP family");

  const written = media.direction ?? session.direction ?? "sendrecv";
  const direction = MIRRORED[written as Direction] ?? "sendrecv";
  const eventPayloadType = formats.find((format) => isTelephoneEvent(media, format)) ?? null;
  const remote: RemoteMedia = { host, port, payloadType, eventPayloadType, direction: onHold ? WITHOUT_SENDING[direction] : direction };
  const isOther = media.rtp.some((entry) => entry.payload === OWN_EVENT_PAYLOAD_TYPE && !isNamedEvent(entry));
  if (eventPayloadType === null && !isOther) remote.ownEventPayloadType = OWN_EVENT_PAYLOAD_TYPE;
  if (renamed.length > 0) remote.payloadTypes = Object.fromEntries(renamed.map(({ codec, number }) => [codec, number]));
  const rtcp = rtcpAddress(media, host);
  return { codecs, remote: rtcp ? { ...remote, rtcp } : remote };
}

/** Of a=rtcp; null without one, and for an address that we cannot send to, such as the 0.0.0.0 of browsers: then RTCP goes to the next port as ever. */
function rtcpAddress({ rtcp }: SdpMedia, mediaHost: string): { host: string; port: number } | null {
  const port = Number(rtcp?.port);
  if (!rtcp || !(port > 0 && port <= 65_535)) return null;
  const host = rtcp.address === undefined ? mediaHost : hostOf({ version: Number(rtcp.ipVer), ip: rtcp.address });
  return host !== null && !isUnspecified(host) && isIP(host) === isIP(mediaHost) ? { host, port } : null;
}

/** RTCP on the RTP port, offered and possible: payload types 64 to 95 could not be told from it (RFC 5761 section 4). */
function isMuxed({ rtcpMux }: SdpMedia, { eventPayloadType, payloadTypes = {} }: RemoteMedia): boolean {
  const numbers = [eventPayloadType ?? 0, ...Object.values(payloadTypes)];
  return rtcpMux !== undefined && !numbers.some((number) => number >= 64 && number <= 95);
}

function formatsOf(media: SdpMedia): number[] {
  return String(media.payloads ?? "")
    .split(" ")
    .filter((format) => /^\d{1,3}$/.test(format))
    .map(Number)
    .filter((format) => format < 128);
}

/** Each once, under the first number that it has, in the peer's order. */
function codecsOf(media: SdpMedia, formats: number[]): NumberedCodec[] {
  const codecs: NumberedCodec[] = [];
  for (const number of formats) {
    const codec = codecOf(media, number);
    if (codec !== null && !codecs.some((other) => other.codec === codec)) codecs.push({ codec, number });
  }
  return codecs;
}

/** The static types need no rtpmap (RFC 3551 section 6); with one any type may be any codec. */
function codecOf(media: SdpMedia, format: number): 0 | 8 | null {
  const map = media.rtp.find((entry) => entry.payload === format);
  if (!map) return format === 0 || format === 8 ? format : null;
  const isMono = map.encoding === undefined || Number(map.encoding) === 1;
  return hasOurRate(map) && isMono ? (CODECS.get(String(map.codec).toUpperCase()) ?? null) : null;
}

function isTelephoneEvent(media: SdpMedia, format: number): boolean {
  return media.rtp.some((entry) => entry.payload === format && isNamedEvent(entry) && hasOurRate(entry));
}

function isNamedEvent({ codec }: RtpMap): boolean {
  return String(codec).toLowerCase() === "telephone-event";
}

/** Some leave the clock rate out. */
function hasOurRate({ rate = 8000 }: RtpMap): boolean {
  return rate === 8000;
}

/** The address, in the spelling the socket reports for a packet's source; null for names, multicast and nonsense. */
function hostOf(connection: SdpConnection): string | null {
  // A time to live belongs to a multicast group, and says nothing of a host.
  const text = String(connection.ip).replace(/\/\d{1,3}$/, "");
  if (connection.version === 4 && isIP(text) === 4) return Number(text.split(".")[0]) < 224 ? text : null;
  if (connection.version !== 6 || isIP(text) !== 6 || text.includes("%")) return null;
  const canonical = canonicalHost(text);
  return canonical.startsWith("ff") ? null : canonical;
}

/** An RFC 2543 peer that holds us (RFC 3264 section 8.4). */
export function isUnspecified(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function isActive(media: SdpMedia): boolean {
  return media.port !== 0;
}

function audioLines(local: LocalMedia, { codecs, remote }: Stream, keys: CryptoLine[], profile = "RTP/AVP"): string[] {
  const event = remote.eventPayloadType;
  const numbers = codecs.map(({ number }) => number);
  const formats = event === null ? numbers : [...numbers, event];
  return [
    `m=audio ${local.port} ${profile} ${formats.join(" ")}`,
    ...keys.map(writeCryptoLine),
    ...codecs.map(({ codec, number }) => `a=rtpmap:${number} ${CODEC_NAMES[codec]}/8000`),
    ...(event === null ? [] : [`a=rtpmap:${event} telephone-event/8000`, `a=fmtp:${event} 0-15`]),
    "a=ptime:20",
    ...(remote.rtcp === "muxed" ? ["a=rtcp-mux"] : []),
    `a=${remote.direction}`,
  ];
}

/** A refused stream keeps its kind, transport and one format (RFC 3264 section 6). */
function refusedLine(media: SdpMedia): string[] {
  const [format = "0"] = String(media.payloads ?? "").split(" ");
  return [`m=${media.type} 0 ${media.protocol} ${/^[\w.*-]+$/.test(format) ? format : "0"}`];
}

function describe(local: LocalMedia, streams: string[][]): string {
  const family = isIP(local.host) === 6 ? "IP6" : "IP4";
  const write = (version: number) =>
    [
      "v=0",
      `o=- ${local.sessionId} ${version} IN ${family} ${local.host}`,
      "s=-",
      `c=IN ${family} ${local.host}`,
      "t=0 0",
      ...streams.flat(),
      "",
    ].join("\r\n");
  if (local.previous === null) return write(1);
  // The version rises by one exactly when the description changes (RFC 3264 section 8).
  const version = Number(parse(local.previous).origin?.sessionVersion ?? 0);
  return write(version) === local.previous ? local.previous : write(version + 1);
}

function malformed(detail: string): SdpRefusal {
  return { kind: "refused", reason: "malformed", detail };
}

function unacceptable(detail: string): SdpRefusal {
  return { kind: "refused", reason: "unacceptable", detail };
}
