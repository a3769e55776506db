/** That an operation will be taken away: announced since, and gone not before, two days as `2027-01-31`. */
export interface Deprecation {
  since: string;
  sunset: string;
}

/**
 * The headers that say so on each of its answers (RFC 9745, RFC 8594). Throws when the sunset is less than twelve months after the
 * announcement: that is what callers are promised.
 */
export function deprecationHeaders({ since, sunset }: Deprecation): { deprecation: string; sunset: string } {
  const [announced, gone] = [new Date(since), new Date(sunset)];
  const earliest = new Date(announced);
  earliest.setUTCFullYear(announced.getUTCFullYear() + 1);
  if (!(gone >= earliest)) throw new Error(`an operation deprecated since ${since} stays for twelve months, not until ${sunset}`);
  return { deprecation: `@${announced.getTime() / 1000}`, sunset: gone.toUTCString() };
}
