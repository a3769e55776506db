import ipaddr from "ipaddr.js";

/** First and last address, as 128-bit numbers; IPv4 as IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2). */
type Span = readonly [first: bigint, last: bigint];

const IPV4 = spanOf("0.0.0.0/0");
/** What is given out of IPv6 (RFC 4291 section 2.4); all else is local, special or nobody's. */
const IPV6 = spanOf("2000::/3");

/**
 * True when the ranges together hold half of the IPv4 or of the IPv6 internet or more: no list of trunks or hosts does, a list that
 * lets everybody in does, in however many pieces it is written. `ranges`: valid CIDRs and addresses.
 */
export function coversInternet(ranges: readonly string[]): boolean {
  const spans = ranges.map(spanOf);
  return [IPV4, IPV6].some((internet) => 2n * covered(spans, internet) >= internet[1] - internet[0] + 1n);
}

/** True when at least one address of `range` lies in one of the ranges. All are valid CIDRs and addresses. */
export function overlaps(range: string, ranges: readonly string[]): boolean {
  return covered(ranges.map(spanOf), spanOf(range)) > 0n;
}

/** Addresses of `within` that lie in at least one of the spans. */
function covered(spans: readonly Span[], within: Span): bigint {
  let count = 0n;
  let next = within[0];
  for (const [first, last] of spans.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const from = first > next ? first : next;
    const to = last < within[1] ? last : within[1];
    if (to < from) continue;
    count += to - from + 1n;
    next = to + 1n;
  }
  return count;
}

function spanOf(range: string): Span {
  const [base, prefix] = ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range) : [ipaddr.parse(range), null];
  const isIpv4 = base.kind() === "ipv4";
  const bytes = isIpv4 ? (base as ipaddr.IPv4).toIPv4MappedAddress().toByteArray() : base.toByteArray();
  const length = isIpv4 ? 32 : 128;
  const free = BigInt(length - (prefix ?? length));
  const first = (BigInt(`0x${Buffer.from(bytes).toString("hex")}`) >> free) << free;
  return [first, first + (1n << free) - 1n];
}
