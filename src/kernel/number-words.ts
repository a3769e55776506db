/** American English words of numbers and months: what is said to callers, and what is understood of them. */

/** By digit. */
export const DIGIT_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"] as const;
/** By units digit: ten to nineteen. */
export const TEEN_WORDS = [
  "ten",
  "eleven",
  "twelve",
  "thirteen",
  "fourteen",
  "fifteen",
  "sixteen",
  "seventeen",
  "eighteen",
  "nineteen",
] as const;
/** By tens digit; the first two are teens or nothing. */
export const TENS_WORDS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"] as const;
/** January first. */
export const MONTH_WORDS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
] as const;

/** 0 to 99: "zero", "fifteen", "forty two". */
export function tensInWords(value: number): string {
  const [tens, units] = [Math.floor(value / 10), value % 10];
  if (tens === 0) return DIGIT_WORDS[units] ?? "";
  if (tens === 1) return TEEN_WORDS[units] ?? "";
  return `${TENS_WORDS[tens] ?? ""}${units > 0 ? ` ${DIGIT_WORDS[units] ?? ""}` : ""}`;
}
