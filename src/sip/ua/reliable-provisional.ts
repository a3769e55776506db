import type { SipRequest, SipResponse } from "../grammar/message.ts";
import { hasOption, optionTags } from "./option-tags.ts";

const RELIABLE = "100rel";
const RSEQ = /^[0-9]{1,10}$/;

/** The peer wants provisional responses sent reliably, or this one is (RFC 3262 sections 3 and 4). */
export const requiresReliable = (message: SipRequest | SipResponse): boolean => hasOption(message, "require", RELIABLE);

/** What the INVITE is to have besides for a callee whose 421 demands nothing but reliable provisional responses (section 3); null for any other response. */
export function demandedReliability(request: SipRequest, response: SipResponse): [name: string, value: string][] | null {
  if (response.status !== 421 || request.method !== "INVITE" || hasOption(request, "supported", RELIABLE)) return null;
  const demanded = optionTags(response, "require");
  return demanded.length > 0 && demanded.every((tag) => tag === RELIABLE) ? [["Supported", RELIABLE]] : null;
}

/** The number of a provisional response that is to be acknowledged by PRACK (section 7.1); null for any other. */
export function rseqOf(response: SipResponse): number | null {
  const rseq = response.fields.first("rseq") ?? "";
  return response.status > 100 && requiresReliable(response) && RSEQ.test(rseq) ? Number(rseq) : null;
}
