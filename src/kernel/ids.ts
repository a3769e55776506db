/** An API key, of which the first group is the mode. */
export const API_KEY = /^svc_(test|live)_[A-Za-z0-9]{32}$/;

const HYPHENATED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BARE = /^[0-9a-f]{32}$/i;

/** A UUID in its canonical form (hyphens, lower case) from the hyphenated or 32-digit form of any case; else null. */
export function parseUuid(text: string): string | null {
  if (HYPHENATED.test(text)) return text.toLowerCase();
  if (!BARE.test(text)) return null;
  const hex = text.toLowerCase();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
