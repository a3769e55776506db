/** Languages that callers are spoken to in: each has a file in `conversation/languages/`. */
export const LANGUAGE_TAGS = ["en-US", "es-US", "fr-CA"] as const;
export type LanguageTag = (typeof LANGUAGE_TAGS)[number];

/** What the embedded voice (flite) speaks: whatever happens, a call can be in this one. */
export const EMBEDDED_LANGUAGE: LanguageTag = "en-US";

/** What the voices of an installation speak: the embedded one English alone, one behind an endpoint (`VOICE`) every language that has sentences. */
export const spokenLanguages = (voice: string): readonly LanguageTag[] => (voice === "embedded" ? [EMBEDDED_LANGUAGE] : LANGUAGE_TAGS);

/** The caller's spoken wishes about the conversation itself. */
export type Command = "repeat" | "help" | "back" | "cancel" | "operator";

/** The language of ours that a BCP 47 tag asks for, by its first part: en-GB is answered in en-US. Null: none. */
function languageOf(tag: string): LanguageTag | null {
  const [wanted] = tag.toLowerCase().split("-");
  return LANGUAGE_TAGS.find((language) => language.startsWith(`${wanted}-`)) ?? null;
}

/** Why a project's calls cannot be in the language of this tag where these are spoken; null when they can. One sentence for the operator. */
export function languageFault(tag: string, spoken: readonly LanguageTag[]): string | null {
  const language = languageOf(tag);
  if (language === null) return `calls have no sentences in this language, only in ${LANGUAGE_TAGS.join(", ")}`;
  return spoken.includes(language)
    ? null
    : `no voice here speaks ${language}: the embedded voice knows ${EMBEDDED_LANGUAGE} alone, and VOICE names no other`;
}

/** The language of a project's calls. English where no voice speaks its own: a project may have been stored before it was asked for. */
export function spokenLanguage(tag: string, spoken: readonly LanguageTag[]): LanguageTag {
  const language = languageOf(tag);
  return language !== null && spoken.includes(language) ? language : EMBEDDED_LANGUAGE;
}
