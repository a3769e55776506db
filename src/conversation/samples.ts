import type { ConversationSetup, Sentence, Wording } from "./contract.ts";
import type { Values } from "./languages/language.ts";
import { inOwnWords, sentence } from "./sentences.ts";
import { SENTENCE_IDS } from "./wordings.ts";

/** One sentence as a project's callers hear it, filled in with examples. */
export interface Sample {
  /** The sentence's name; a wording for some situations alone has a number behind it. */
  name: string;
  /** In which situations, in words; empty: in all that have no words of their own. */
  when: string;
  sentence: Sentence;
}

const AMOUNT_MINOR = 4995;
const LAST4 = [4, 2, 4, 2];
const CARDHOLDER = "ADA BYRON";

/** Everything that a project's callers can hear, in the words that they hear it in: for whoever wants to listen to it. */
export function samplesOf(
  project: Pick<ConversationSetup, "language" | "currency" | "merchant" | "acceptedBrands" | "wordings" | "recordings">,
): readonly Sample[] {
  const { language, currency, merchant, acceptedBrands, wordings, recordings = {} } = project;
  const values: Values = {
    amount: { minor: AMOUNT_MINOR, currency },
    brand: "visa",
    brands: acceptedBrands,
    merchant: merchant ?? "",
    date: { month: 1, year: 2025 },
    last4: LAST4,
    cardholder: CARDHOLDER,
  };
  const isNeverSaid = new Set([
    ...(merchant === null ? ["greeting_of", "connecting_to"] : ["greeting"]),
    ...(acceptedBrands.length === 0 ? ["brand_not_accepted"] : []),
  ]);
  return SENTENCE_IDS.filter((id) => !isNeverSaid.has(id)).flatMap((id) => {
    const usual = sentence(language, id, values);
    const own = wordings.filter((wording) => wording.sentence === id);
    const forAll = own.findIndex((wording) => conditionsOf(wording) === "");
    // What stands behind words for every situation is never said.
    const forSome = forAll === -1 ? own : own.slice(0, forAll);
    const general = own[forAll];
    return [
      { name: id, when: "", sentence: recorded(general ? inOwnWords(usual, general.text) : usual, recordings[id]) },
      ...forSome.map((wording, at) => ({
        name: `${id}-${at + 1}`,
        when: conditionsOf(wording),
        sentence: inOwnWords(wording.brand ? sentence(language, id, { ...values, brand: wording.brand }) : usual, wording.text),
      })),
    ];
  });
}

const recorded = (sentence: Sentence, recording: string | undefined): Sentence =>
  recording === undefined ? sentence : { ...sentence, recording };

function conditionsOf({ attempt, error, brand }: Wording): string {
  return Object.entries({ attempt, error, brand })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(", ");
}
