import type { SipRequest, SipResponse } from "../grammar/message.ts";

/** Option tags that a message names in Supported or Require (RFC 3261 section 19.2), in small letters: case makes no difference. */
export const optionTags = (message: SipRequest | SipResponse, header: "supported" | "require"): string[] =>
  message.headers(header).map((tag) => tag.toLowerCase());

export const hasOption = (message: SipRequest | SipResponse, header: "supported" | "require", tag: string): boolean =>
  optionTags(message, header).includes(tag);
