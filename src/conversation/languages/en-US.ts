import { DIGIT_WORDS, MONTH_WORDS, tensInWords } from "#src/kernel/number-words.ts";
import type { Language } from "./language.ts";
import { type MoneyGrammar, moneyInWords } from "./money.ts";

const SCALES = [
  [1_000_000, "million"],
  [1000, "thousand"],
  [100, "hundred"],
] as const;

/** A whole number from 0 to 999,999,999, without "and". */
export function numberInEnglish(value: number): string {
  const scale = SCALES.find(([size]) => value >= size);
  if (!scale) return tensInWords(value);
  const [size, name] = scale;
  const rest = value % size;
  return `${numberInEnglish(Math.floor(value / size))} ${name}${rest > 0 ? ` ${numberInEnglish(rest)}` : ""}`;
}

/** "twenty twenty five"; "two thousand five". */
function yearInEnglish(year: number): string {
  const [century, rest] = [Math.floor(year / 100), year % 100];
  return century % 10 === 0 && rest < 10 ? numberInEnglish(year) : `${tensInWords(century)} ${tensInWords(rest)}`;
}

const MONEY: MoneyGrammar = {
  tag: "en-US",
  number: numberInEnglish,
  digits: DIGIT_WORDS,
  point: "point",
  wholeAndCoins: "{whole} and {coins}",
  isSingular: (count) => count === 1,
  link: () => "",
  currencies: { USD: ["dollar", "dollars"], GBP: ["pound", "pounds"] },
  coins: {
    USD: ["cent", "cents"],
    CAD: ["cent", "cents"],
    AUD: ["cent", "cents"],
    NZD: ["cent", "cents"],
    EUR: ["cent", "cents"],
    GBP: ["penny", "pence"],
    MXN: ["centavo", "centavos"],
    INR: ["paisa", "paise"],
  },
};

export const EN_US: Language = {
  recognised: true,
  digits: DIGIT_WORDS,
  spelled: { " ": "space", "'": "apostrophe" },
  amountInWords: (amountMinor, currency) => moneyInWords(MONEY, amountMinor, currency),
  dateInWords: (month, year) => `${MONTH_WORDS[month - 1] ?? ""} ${yearInEnglish(year)}`,
  sentences: {
    greeting: "This is the secure payment line.",
    greeting_of: "This is the secure payment line of {merchant}.",
    you_pay: "You're paying {amount}.",
    will_store: "We'll store your card for later. Nothing is charged now.",
    card_ends_in: "Your {brand} card ends in {last4}",
    name_is: "The name on it is {cardholder}",

    ask_number: "Say or key in your card number.",
    ask_number_keypad: "Please key in your card number on your keypad.",
    ask_expiry: "Now the expiry date: month and year, two digits each.",
    ask_expiry_keypad: "Now key in the expiry date: month and year, two digits each.",
    ask_cvv3: "Now the three digit security code, on the back.",
    ask_cvv3_keypad: "Now key in the three digit security code, on the back.",
    ask_cvv4: "Now the four digit security code, on the front.",
    ask_cvv4_keypad: "Now key in the four digit security code, on the front.",
    ask_zip: "And your billing zip code.",
    ask_zip_keypad: "And key in your billing zip code.",
    ask_postal_code: "And your billing postal code, then press the pound key.",
    ask_postal_code_keypad: "And key in your billing postal code, then press the pound key.",
    ask_postal_digits: "And your billing postal code: only its digits, without the letters. Then press the pound key.",
    ask_postal_digits_keypad: "And key in your billing postal code: only its digits, without the letters. Then press the pound key.",
    ask_name:
      "Now say the name on the card, or spell it on your keypad. Press a key once for its first letter, twice for its second, and so on. Zero is a space. Between two letters on the same key, press one. At the end, press pound.",
    ask_name_keypad:
      "Now spell the name on the card on your keypad. Press a key once for its first letter, twice for its second, and so on. Zero is a space. Between two letters on the same key, press one. At the end, press pound.",
    // A lone yes or no is too short to be told from other words: the longer answer is the one that is heard (docs/conversation.md).
    ask_confirm: "Is that right? Press one, or say: yes, that's right. If not, press two.",
    ask_confirm_keypad: "Is that right? Press one for yes, or two for no.",
    ask_confirm_name:
      "Is that right? Press one, or say: yes, that's right. If the card is wrong, press two. If the name is wrong, press three.",
    ask_confirm_name_keypad: "Is that right? Press one for yes, two if the card is wrong, or three if the name is wrong.",

    number_length: "That card number doesn't have the right number of digits.",
    number_invalid: "That card number isn't valid.",
    number_not_accepted: "We can't take that kind of card.",
    brand_not_accepted: "We can't take that kind of card here. We take {brands}.",
    expiry_invalid: "That isn't a valid expiry date.",
    expiry_past: "{date} has passed, so that card has expired.",
    cvv_length: "That security code doesn't have the right number of digits.",
    zip_length: "That code doesn't have the right number of digits.",
    name_invalid: "That didn't spell a name. One key was pressed too often.",
    name_length: "That name doesn't have the right number of letters.",
    confirm_unclear: "Sorry, I didn't understand that.",

    not_heard: "Sorry, I didn't catch that. You can use your keypad, too.",
    use_keypad: "I still couldn't understand. Please use your keypad.",
    keypad_only: "I can't listen just now. Please use your keypad.",
    cleared: "Cleared. Please start again.",
    help: "You can say each answer, or key it in. Star clears it, and pound ends it. Say repeat to hear a question again, back for the one before, or operator to stop.",
    help_keypad: "Please use your keypad. Star clears your answer, or repeats the question. Pound ends it. Star twice stops here.",
    help_offer: "You can say help at any time. To stop here, say operator, or press star twice.",
    help_offer_keypad: "To stop here, press star twice.",
    name_unended: "Please go on, or press pound if that was the whole name.",
    not_confirmed: "All right, let's do the card number again.",
    another_card: "You can try again, or use another card.",

    one_moment: "One moment, please.",
    still_working: "We're still working on it. Please stay on the line.",
    not_paid_elsewhere: "The payment on the web page wasn't made. We can go on here.",
    paid: "Thank you. Your payment was approved.",
    stored: "Thank you. Your card is stored.",

    card_declined: "The card was declined.",
    insufficient_funds: "The card doesn't have enough funds.",
    expired_card: "The bank says this card has expired.",
    incorrect_number: "The bank doesn't know this card number.",
    incorrect_cvc: "The security code doesn't match the card.",
    incorrect_zip: "The zip code doesn't match the card.",
    invalid_expiry: "The expiry date doesn't match the card.",
    card_not_supported: "We can't take that kind of card.",
    held_for_review: "The payment is held for review, and your bank may hold the money.",
    limit_exceeded: "The card is at its limit.",
    authentication_required: "The bank wants a check that can't be done by phone.",
    duplicate_transaction: "The same payment was made a moment ago, so this one was refused.",
    not_processed: "The payment couldn't be processed.",
    not_charged: "You haven't been charged.",
    not_stored: "Your card wasn't stored.",
    not_completed: "The payment isn't completed.",
    do_not_repeat: "Please don't try again yet.",
    will_be_told: "You'll be told how it ended.",
    too_many_tries: "We couldn't take your card this time. You haven't been charged.",
    nobody_there: "I didn't hear anything, so we'll stop here.",
    goodbye: "All right, we'll stop here. Nothing was charged.",
    cancelled: "This payment has been cancelled.",
    say_goodbye: "Goodbye.",
    connecting: "I'm connecting you back now. Please hold on.",
    connecting_to: "I'm connecting you back to {merchant} now. Please hold on.",
    line_busy: "The line's busy.",
    nobody_answers: "Nobody's answering.",
    call_later: "If you need anything else, please call back later.",
    call_later_to_pay: "To try again, please call back later.",
    not_connected: "Sorry, I couldn't connect you.",
    ask_code: "Please key in your eight digit payment code, then press the pound key.",
    code_unknown: "Sorry, I don't know that code.",
    code_not_found: "I couldn't find your payment. Please ask for the code again, then call back.",
  },
};
