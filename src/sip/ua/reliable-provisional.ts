import { SipRequest, type SipResponse } from "../grammar/message.ts";

const RELIABLE = "100rel";
const RSEQ = /^[0-9]{1,10}$/;

/** The INVITE again, for a callee whose 421 demands nothing but reliable provisional responses (RFC 3262 section 3); null for anything else. */
export function withReliableResponses(request: SipRequest, response: SipResponse): SipRequest | null {
  if (response.status !== 421 || request.method !== "INVITE" || named(request, "supported").includes(RELIABLE)) return null;
  const demanded = named(response, "require");
  if (demanded.length === 0 || demanded.some((tag) => tag !== RELIABLE)) return null;
  const fields = request.fields.clone().add("Supported", RELIABLE);
  fields.replaceFirst("CSeq", `${request.cseq.number + 1} ${request.method}`);
  return new SipRequest(request.method, request.requestUri, fields, request.body);
}

/** The number of a provisional response that is to be acknowledged by PRACK (RFC 3262 section 7.1); null for any other. */
export function rseqOf(response: SipResponse): number | null {
  const rseq = response.fields.first("rseq") ?? "";
  return response.status > 100 && named(response, "require").includes(RELIABLE) && RSEQ.test(rseq) ? Number(rseq) : null;
}

function named(message: SipRequest | SipResponse, header: string): string[] {
  return message.headers(header).map((tag) => tag.toLowerCase());
}
