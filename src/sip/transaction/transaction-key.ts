import type { SipRequest, SipResponse } from "../grammar/message.ts";
import { BRANCH_COOKIE } from "../grammar/via.ts";
import type { Protocol } from "../transport/transport.ts";

/**
 * What a request shares with its retransmissions and its ACK, and with nothing else: branch, sent-by and method
 * (RFC 3261 section 17.2.3). `method` is given to find the INVITE of a CANCEL. Without a branch of our time
 * (RFC 2543 peers) it is the Request-URI, From tag, Call-ID, CSeq number and top Via. Nothing is retransmitted by another
 * transport, so what comes by one is never answered by another.
 */
export function serverTransactionKey(request: SipRequest, protocol: Protocol, method = request.method): string {
  const { via } = request;
  const branch = via.params.get("branch");
  const kind = method === "ACK" ? "INVITE" : method;
  if (branch !== null && branch.startsWith(BRANCH_COOKIE) && branch.length > BRANCH_COOKIE.length) {
    return key([protocol, branch.toLowerCase(), via.host, String(via.port), kind]);
  }
  const hop = [via.host, String(via.port), branch ?? ""];
  return key([protocol, request.requestUri, request.fromTag ?? "", request.callId, String(request.cseq.number), ...hop, kind]);
}

/** What a response shares with the request we sent (section 17.1.3). */
export function clientTransactionKey(message: SipRequest | SipResponse): string {
  return key([message.via.params.get("branch") ?? "", message.cseq.method]);
}

/** Equal for copies of one request that came by different branches (section 8.2.2.2). */
export function mergedRequestKey(request: SipRequest, protocol: Protocol): string {
  return key([protocol, request.fromTag ?? "", request.callId, String(request.cseq.number), request.method]);
}

/** The parts cannot run into each other: no header value holds a line feed. */
function key(parts: readonly string[]): string {
  return parts.join("\n");
}
