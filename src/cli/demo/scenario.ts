import { DIGIT_WORDS, MONTH_WORDS, tensInWords } from "#src/kernel/number-words.ts";
import type { Turn, Way } from "#softphone/script.ts";

export const INPUTS = ["keypad", "speech", "mixed"] as const;
export const OUTCOMES = ["approve", "decline", "retry", "mango"] as const;
export type Input = (typeof INPUTS)[number];
export type DemoOutcome = (typeof OUTCOMES)[number];

/** The uniform cards of every simulator (docs/operations.md, Simulators). */
const APPROVED = "4242424242424242";
const DECLINED = "4000000000000002";

/** How one answer is given: said, keyed, or begun by voice and finished on the keypad. */
interface Answer {
  /** Words of the question, as the caller hears them. */
  question: string;
  spoken: string;
  keyed: string;
}

const spell = (digits: string) => digits.replace(/[0-9]/g, (digit) => ` ${DIGIT_WORDS[Number(digit)]}`).trim();

function answersFor(card: string, year: number): Answer[] {
  const month = 12;
  const shortYear = String(year % 100).padStart(2, "0");
  return [
    { question: "card number", spoken: spell(card), keyed: `${card}#` },
    { question: "expiry date", spoken: `${MONTH_WORDS[month - 1]} twenty ${tensInWords(year % 100)}`, keyed: `${month}${shortYear}#` },
    { question: "security code", spoken: spell("456"), keyed: "456#" },
    { question: "zip code", spoken: spell("94105"), keyed: "94105#" },
    { question: "is that right", spoken: "yes, that's right", keyed: "1#" },
  ];
}

/** The mixed caller begins the good card's number by voice and ends it on the keypad; the other answers take turns. */
function waysOf({ spoken, keyed }: Answer, input: Input, index: number): Way[] {
  if (input === "keypad") return [{ digits: keyed }];
  if (input === "speech") return saying(spoken);
  if (index === 0 && keyed.startsWith(APPROVED)) return [{ say: spell(keyed.slice(0, 8)), digits: keyed.slice(8) }, { digits: keyed }];
  return index % 2 === 1 ? [{ say: spoken }, { digits: keyed }] : [{ digits: keyed }];
}

/** More than any question takes: on a machine without time to spare speech has gaps, and one time in five or so is not understood. */
const MOST_TIMES = 8;
/** Who is not understood says it again: speech that fits nothing is never counted against him. */
const saying = (text: string): Way[] => Array.from({ length: MOST_TIMES }, () => ({ say: text }));

/** Everything the demo's caller does, from the first prompt to the last answer. */
export function scenario(input: Input, outcome: DemoOutcome, year: number): Turn[] {
  if (outcome === "mango") return [{ do: "answer", question: "card number", ways: saying("mango") }];
  const cards = outcome === "approve" ? [APPROVED] : outcome === "decline" ? [DECLINED] : [DECLINED, APPROVED];
  return cards.flatMap((card) =>
    answersFor(card, year).map((answer, index) => ({ do: "answer", question: answer.question, ways: waysOf(answer, input, index) })),
  );
}

/** How the session must end for the demo to have shown what it promises. */
export function expectedStatus(outcome: DemoOutcome): "payment-success" | "payment-failed" {
  return outcome === "decline" ? "payment-failed" : "payment-success";
}
