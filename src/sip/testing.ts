/** For the tests of other modules: requests without a network. */
import type { SipRequest } from "./grammar/message.ts";
import { parseDatagram } from "./grammar/parse.ts";

/** The INVITE of a caller who gives a session description, with these fields besides those that every INVITE has. */
export function inviteRequest({
  callId = "call-1",
  to = "pay",
  from = "anonymous",
  uri = `sip:${to}@till.example`,
  toField = `<sip:${to}@till.example>`,
  fields = [],
}: {
  callId?: string;
  /** User parts of the Request-URI and To, and of From. */
  to?: string;
  from?: string;
  /** The whole Request-URI and To, where a user part does not say enough. */
  uri?: string;
  toField?: string;
  fields?: readonly string[];
} = {}): SipRequest {
  const lines = [
    `INVITE ${uri} SIP/2.0`,
    "Via: SIP/2.0/UDP 198.51.100.7:5060;branch=z9hG4bK1",
    "Max-Forwards: 70",
    `From: <sip:${from}@carrier.example>;tag=1`,
    `To: ${toField}`,
    `Call-ID: ${callId}`,
    "CSeq: 1 INVITE",
    "Contact: <sip:caller@198.51.100.7>",
    ...fields,
    "Content-Length: 0",
  ];
  const parsed = parseDatagram(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
  if (parsed.kind !== "request") throw new Error("the test's own INVITE is malformed");
  return parsed.request;
}
