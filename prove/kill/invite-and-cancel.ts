import { createSocket } from "node:dgram";
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

/** Longer than any answer takes. */
const LISTEN_MS = 1_500;

/**
 * Calls and gives up in the same moment: INVITE and CANCEL as two datagrams (RFC 3261 section 9). A user agent waits with its
 * CANCEL for a provisional answer, and the service's real answer is quicker than that. Returns the statuses that came.
 */
export async function inviteAndCancel(sipUri: string): Promise<number[]> {
  const [, host = "", port = ""] = /@([^:;]+):(\d+)/.exec(sipUri) ?? [];
  const socket = createSocket("udp4");
  const statuses: number[] = [];
  socket.on("message", (message) => statuses.push(Number(message.toString("latin1").slice(8, 11))));
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const own = socket.address().port;
  const token = () => randomBytes(8).toString("hex");
  const [branch, callId, tag] = [token(), token(), token()];
  const sdp = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", `m=audio ${own} RTP/AVP 0`, ""].join("\r\n");
  const request = (method: string, more: readonly string[], body: string) =>
    [
      `${method} ${sipUri} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${own};branch=z9hG4bK${branch};rport`,
      "Max-Forwards: 70",
      `From: <sip:+15555550100@127.0.0.1>;tag=${tag}`,
      `To: <${sipUri}>`,
      `Call-ID: ${callId}`,
      `CSeq: 1 ${method}`,
      ...more,
      `Content-Length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n");
  socket.send(request("INVITE", [`Contact: <sip:test@127.0.0.1:${own}>`, "Content-Type: application/sdp"], sdp), Number(port), host);
  socket.send(request("CANCEL", [], ""), Number(port), host);
  await delay(LISTEN_MS);
  socket.close();
  return statuses;
}
