/**
 * The pairs of ports that a range of them has for media: RTP takes an even one and RTCP the next (RFC 3550 section 11). `lowest` is the
 * first pair's even port.
 */
export function rtpPairs(first: number, last: number): { lowest: number; count: number } {
  const lowest = first + (first % 2);
  return { lowest, count: Math.max(0, Math.floor((last - lowest + 1) / 2)) };
}
