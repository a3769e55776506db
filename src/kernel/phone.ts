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
