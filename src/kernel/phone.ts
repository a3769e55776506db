const SEPARATORS = /[ \-.()]/g;
const E164 = /^\+[1-9][0-9]{6,14}$/;

/**
 * A phone number in E.164, separators removed, or null when it is not one.
 * National forms are not guessed here: the project's country is needed for those, see `voice/match.ts`.
 */
export function parseE164(text: string): string | null {
  const bare = text.replace(SEPARATORS, "");
  return E164.test(bare) ? bare : null;
}

/**
 * The number of a `tel:` URI, of which `text` is all behind the scheme (RFC 3966): a local one with the prefix that its `phone-context` names. Empty
 * where the context is a domain: such a number means something to its owner alone.
 */
export function telNumber(text: string): string {
  const [number = "", ...parameters] = text.split(";");
  const context = parameters.map((parameter) => /^phone-context=(.*)$/i.exec(parameter)?.[1]).find((value) => value !== undefined);
  if (number.startsWith("+") || context === undefined) return number;
  return context.startsWith("+") ? `${context}${number}` : "";
}

/** The number that a `tel:` or `sip:` address names, or `text` itself where it is none (RFC 3261, section 19.1.6: a user is written as in `tel:`). */
export function addressedNumber(text: string): string {
  const [, user = ""] = /^(?:tel:|sips?:)?([^@:?]{0,200})/i.exec(text.trim()) ?? [];
  return telNumber(user.replace(/^%2B/i, "+"));
}
