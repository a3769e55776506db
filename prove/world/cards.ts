/** What each card does at the vendors (`simulators/kit/cards.ts`), and how often it is used. */
export const CARDS = {
  "4242424242424242": 60,
  "4000000000000002": 10,
  "4000000000009995": 5,
  "4000000000000127": 6,
  "4000000000000119": 3,
  "4000000000000259": 6,
  "4000000000000333": 4,
} as const;

/** One digit of a good number wrong: no card has it. */
export const MISTYPED = "4242424242424241";

export const CARD_NUMBERS = Object.keys(CARDS);
