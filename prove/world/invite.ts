import { parseDatagram } from "#src/sip/grammar/parse.ts";

/** What a call says of itself. */
export interface CallSetup {
  callId: string;
  /** In X-Session-Id; null: it was lost on the way, and the caller's number must do. */
  sessionId: string | null;
  from: string;
  to: string;
}

/** The description of a telephone that hears and sends. */
export const DESCRIPTION = [
  "v=0",
  "o=- 1 1 IN IP4 198.51.100.7",
  "s=-",
  "c=IN IP4 198.51.100.7",
  "t=0 0",
  "m=audio 40000 RTP/AVP 0 101",
  "a=rtpmap:101 telephone-event/8000",
  "",
].join("\r\n");

export function inviteOf({ callId, sessionId, from, to }: CallSetup) {
  const text = [
    `INVITE sip:${to}@till.example SIP/2.0`,
    "Via: SIP/2.0/UDP 198.51.100.7:5060;branch=z9hG4bKprove",
    "Max-Forwards: 70",
    `From: <sip:${from}@agent.example>;tag=1`,
    `To: <sip:${to}@till.example>`,
    `Call-ID: ${callId}`,
    "CSeq: 1 INVITE",
    "Contact: <sip:agent@198.51.100.7>",
    ...(sessionId === null ? [] : [`X-Session-Id: ${sessionId}`]),
    "Content-Length: 0",
    "",
    "",
  ].join("\r\n");
  const parsed = parseDatagram(Buffer.from(text));
  if (parsed.kind !== "request") throw new Error("the world's own INVITE is malformed");
  return parsed.request;
}
