/**
 * The head of a SIP message is handled as an octet string: a JavaScript string with one character per octet (latin1).
 * So whatever is echoed leaves octet for octet as it came, bad UTF-8 included, and nothing is decoded unless it is read.
 */

const ASCII = /^[\x00-\x7f]*$/;

/** Text as the octet string of its UTF-8 form (RFC 3261 section 7: SIP is UTF-8). */
export function toOctets(text: string): string {
  return ASCII.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** The text an octet string spells in UTF-8; ill-formed parts become U+FFFD. */
export function fromOctets(octets: string): string {
  return ASCII.test(octets) ? octets : Buffer.from(octets, "latin1").toString("utf8");
}
