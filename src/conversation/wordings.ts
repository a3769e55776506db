import type { CardBrand } from "#src/kernel/card.ts";
import { DECLINES, type DeclineCode } from "#src/kernel/payment.ts";
import type { ConversationSetup, Sentence, Situation, Wording } from "./contract.ts";
import { EN_US } from "./languages/en-US.ts";
import { BRAND_NAMES, FAULTS, type SentenceId } from "./languages/language.ts";
import { inOwnWords, sentence } from "./sentences.ts";

/** Sentences in a project's own words (docs/conversation.md, What a project makes its own). */

/** Whom it is spoken to, and in which words. */
export type Speaking = Pick<ConversationSetup, "language" | "merchant" | "wordings" | "recordings">;

export const SENTENCE_IDS = Object.keys(EN_US.sentences) as [SentenceId, ...SentenceId[]];

/** What may have gone wrong before a sentence. */
export const ERRORS = [...FAULTS, "not_heard", "not_confirmed", ...(Object.keys(DECLINES) as DeclineCode[])] as const;

/** Outside of the questions. */
export const NO_QUESTION: Situation = { asks: null, attempt: 1, error: null, brand: null };

/**
 * The sentences as this project says them in this situation: of its wordings of a sentence the first that fits. A recording is played instead
 * of all but words for some situations alone.
 */
export function worded(
  sentences: readonly Sentence[],
  situation: Situation,
  { wordings, recordings = {} }: Pick<Speaking, "wordings" | "recordings">,
): readonly Sentence[] {
  return sentences.map((sentence) => {
    const own = wordings.find((wording) => wording.sentence === sentence.id && fits(wording, situation));
    const said = own ? inOwnWords(sentence, own.text) : sentence;
    const recording = own && isForSome(own) ? undefined : recordings[sentence.id];
    return recording === undefined ? said : { ...said, recording };
  });
}

const isForSome = ({ attempt, error, brand }: Wording) => attempt !== undefined || error !== undefined || brand !== undefined;

/** The sentences that can be recorded: those that are the same in every call of a project. */
export const RECORDABLE: readonly SentenceId[] = SENTENCE_IDS.filter(
  (id) => !/\{(amount|brand|last4|cardholder|date)\}/.test(EN_US.sentences[id]),
);

function fits({ attempt, error, brand }: Wording, situation: Situation): boolean {
  return (
    (attempt === undefined || attempt === situation.attempt) &&
    (error === undefined || error === situation.error) &&
    (brand === undefined || brand === situation.brand)
  );
}

/** What one project alone says: the sentences with its name and its brands, and those in its own words. Amounts and dates are left out. */
export function ownSentences({
  language,
  merchant,
  acceptedBrands,
  wordings,
}: Speaking & Pick<ConversationSetup, "acceptedBrands">): readonly Sentence[] {
  const values = { ...(merchant !== null && { merchant }), brands: acceptedBrands };
  const named: SentenceId[] = [
    ...(merchant === null ? [] : (["greeting_of", "connecting_to"] as const)),
    ...(acceptedBrands.length === 0 ? [] : (["brand_not_accepted"] as const)),
  ];
  const worded = wordings.flatMap(({ sentence: id, text, brand }) => {
    const brands = text.includes("{brand}") ? (brand ? [brand] : (Object.keys(BRAND_NAMES) as CardBrand[])) : (["unknown"] as const);
    return brands.map((each) => inOwnWords(sentence(language, id, { ...values, brand: each }), text));
  });
  return [...named.map((id) => sentence(language, id, values)), ...worded];
}

/** What a caller must not be left without: what is paid, and which card, and whose. */
const NEEDED: readonly string[] = ["{amount}", "{last4}", "{cardholder}"];

const placesOf = (text: string): readonly string[] => text.match(/\{[^{}]*\}/g) ?? [];

/** What is wrong with these words for this sentence, or null. One clause for the operator. */
export function wordingFault(id: SentenceId, text: string): string | null {
  const known = placesOf(EN_US.sentences[id]);
  const places = placesOf(text);
  const rest = text.replaceAll(/\{[^{}]*\}/g, "");
  if (/[{}\p{C}]/u.test(rest)) return "holds a lone brace or a control character";
  if (!/\p{L}/u.test(rest)) return "says nothing";
  const unknown = places.find((place) => !known.includes(place));
  if (unknown !== undefined) return `has ${unknown}; ${id} has ${known.length > 0 ? known.join(", ") : "nothing to fill in"}`;
  if (new Set(places).size < places.length) return "has one thing twice to fill in";
  const missing = known.find((place) => NEEDED.includes(place) && !places.includes(place));
  return missing === undefined ? null : `must hold ${missing}`;
}
