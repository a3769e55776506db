import type { LanguageTag } from "#src/kernel/language.ts";
import { EN_US } from "./en-US.ts";
import { ES_US } from "./es-US.ts";
import { FR_CA } from "./fr-CA.ts";
import type { Language } from "./language.ts";

/** Every language that a caller can be spoken to in. */
export const LANGUAGES: Readonly<Record<LanguageTag, Language>> = { "en-US": EN_US, "es-US": ES_US, "fr-CA": FR_CA };
