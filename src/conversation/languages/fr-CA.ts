import type { Language } from "./language.ts";
import { type MoneyGrammar, moneyInWords } from "./money.ts";

const DIGITS = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"] as const;
const TO_NINETEEN = [
  ...DIGITS,
  "dix",
  "onze",
  "douze",
  "treize",
  "quatorze",
  "quinze",
  "seize",
  "dix-sept",
  "dix-huit",
  "dix-neuf",
] as const;
const TENS = ["", "", "vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"] as const;
const MONTHS = [
  "janvier",
  "février",
  "mars",
  "avril",
  "mai",
  "juin",
  "juillet",
  "août",
  "septembre",
  "octobre",
  "novembre",
  "décembre",
] as const;

/** First words of the feminine names among the currencies. */
const FEMININE = new Set(["livre", "livres", "couronne", "couronnes", "roupie", "roupies", "gourde", "gourdes", "hryvnia", "hryvnias"]);

/** 0 to 99. */
function tensInFrench(value: number): string {
  if (value < 20) return TO_NINETEEN[value] ?? "";
  const tens = Math.floor(value / 10);
  // Seventy and ninety count on from sixty and eighty: soixante-dix, quatre-vingt-dix.
  const rest = value - (tens === 7 || tens === 9 ? tens - 1 : tens) * 10;
  if (rest === 0) return value === 80 ? "quatre-vingts" : (TENS[tens] ?? "");
  const joined = (rest === 1 || rest === 11) && value < 80 ? " et " : "-";
  return `${TENS[tens]}${joined}${TO_NINETEEN[rest]}`;
}

/** 0 to 999. `isCounting`: thousands are counted with it, so that its hundreds and eighties take no s. */
function hundredsInFrench(value: number, isCounting: boolean): string {
  const [hundreds, rest] = [Math.floor(value / 100), value % 100];
  const tail = isCounting && rest === 80 ? "quatre-vingt" : tensInFrench(rest);
  if (hundreds === 0) return tail;
  const head = hundreds === 1 ? "cent" : `${DIGITS[hundreds]} cent${rest === 0 && !isCounting ? "s" : ""}`;
  return rest === 0 ? head : `${head} ${tail}`;
}

/** A whole number from 0 to 999,999,999; before a feminine noun its last one is "une". */
export function numberInFrench(value: number, isFeminine = false): string {
  const [millions, thousands, rest] = [Math.floor(value / 1_000_000), Math.floor(value / 1000) % 1000, value % 1000];
  const parts = [
    millions > 0 ? `${hundredsInFrench(millions, false)} million${millions > 1 ? "s" : ""}` : "",
    thousands > 1 ? `${hundredsInFrench(thousands, true)} mille` : thousands === 1 ? "mille" : "",
    rest > 0 || value === 0 ? hundredsInFrench(rest, false) : "",
  ];
  const words = parts.filter((part) => part !== "").join(" ");
  return isFeminine ? words.replace(/\bun$/, "une") : words;
}

const MONEY: MoneyGrammar = {
  tag: "fr-CA",
  number: (value, noun) => numberInFrench(value, FEMININE.has(noun.split(" ")[0] ?? "")),
  digits: DIGITS,
  point: "virgule",
  wholeAndCoins: "{whole} et {coins}",
  // None is singular in French.
  isSingular: (count) => count < 2,
  link: (value, noun) => {
    if (value === 0 || value % 1_000_000 !== 0) return "";
    return /^[aeéèêhiouy]/i.test(noun) ? "d'" : "de ";
  },
  currencies: { CAD: ["dollar", "dollars"], USD: ["dollar américain", "dollars américains"], GBP: ["livre", "livres"] },
  coins: {
    CAD: ["cent", "cents"],
    USD: ["cent", "cents"],
    AUD: ["cent", "cents"],
    NZD: ["cent", "cents"],
    EUR: ["centime", "centimes"],
    GBP: ["penny", "pence"],
  },
};

export const FR_CA: Language = {
  recognised: false,
  digits: DIGITS,
  spelled: { " ": "espace", "'": "apostrophe", Y: "i grec" },
  amountInWords: (amountMinor, currency) => moneyInWords(MONEY, amountMinor, currency),
  dateInWords: (month, year) => `${MONTHS[month - 1] ?? ""} ${numberInFrench(year)}`,
  sentences: {
    greeting: "Voici la ligne de paiement sécurisée.",
    greeting_of: "Voici la ligne de paiement sécurisée, pour {merchant}.",
    you_pay: "Vous allez payer {amount}.",
    will_store: "Nous allons garder votre carte pour plus tard. Rien n'est facturé maintenant.",
    card_ends_in: "Votre carte {brand} se termine par {last4}",
    name_is: "Le nom sur la carte est {cardholder}",

    ask_number: "Dites ou composez le numéro de votre carte.",
    ask_number_keypad: "Sur votre clavier, composez le numéro de votre carte.",
    ask_expiry: "Maintenant, la date d'expiration: le mois et l'année, deux chiffres chacun.",
    ask_expiry_keypad: "Maintenant, composez la date d'expiration: le mois et l'année, deux chiffres chacun.",
    ask_cvv3: "Maintenant, le code de sécurité à trois chiffres, au dos de la carte.",
    ask_cvv3_keypad: "Maintenant, composez le code de sécurité à trois chiffres, au dos de la carte.",
    ask_cvv4: "Maintenant, le code de sécurité à quatre chiffres, au recto de la carte.",
    ask_cvv4_keypad: "Maintenant, composez le code de sécurité à quatre chiffres, au recto de la carte.",
    ask_zip: "Et les cinq chiffres du code postal de votre adresse de facturation.",
    ask_zip_keypad: "Et composez les cinq chiffres du code postal de votre adresse de facturation.",
    ask_postal_code: "Et le code postal de votre adresse de facturation, suivi du carré.",
    ask_postal_code_keypad: "Et composez le code postal de votre adresse de facturation, suivi du carré.",
    ask_postal_digits:
      "Et le code postal de votre adresse de facturation: seulement les chiffres, sans les lettres. Puis appuyez sur le carré.",
    ask_postal_digits_keypad:
      "Et composez le code postal de votre adresse de facturation: seulement les chiffres, sans les lettres. Puis appuyez sur le carré.",
    ask_name:
      "Maintenant, dites le nom inscrit sur la carte, ou épelez-le sur votre clavier. Appuyez une fois sur une touche pour sa première lettre, deux fois pour la deuxième, et ainsi de suite. Le zéro est une espace. Entre deux lettres de la même touche, appuyez sur le un. À la fin, appuyez sur le carré.",
    ask_name_keypad:
      "Maintenant, épelez sur votre clavier le nom inscrit sur la carte. Appuyez une fois sur une touche pour sa première lettre, deux fois pour la deuxième, et ainsi de suite. Le zéro est une espace. Entre deux lettres de la même touche, appuyez sur le un. À la fin, appuyez sur le carré.",
    ask_confirm: "Est-ce exact? Appuyez sur le un, ou dites: oui, c'est exact. Sinon, appuyez sur le deux.",
    ask_confirm_keypad: "Est-ce exact? Appuyez sur le un pour oui, ou sur le deux pour non.",
    ask_confirm_name:
      "Est-ce exact? Appuyez sur le un, ou dites: oui, c'est exact. Si la carte n'est pas la bonne, appuyez sur le deux. Si le nom n'est pas le bon, appuyez sur le trois.",
    ask_confirm_name_keypad:
      "Est-ce exact? Appuyez sur le un pour oui, sur le deux si la carte n'est pas la bonne, ou sur le trois si le nom n'est pas le bon.",

    number_length: "Ce numéro de carte n'a pas le bon nombre de chiffres.",
    number_invalid: "Ce numéro de carte n'est pas valide.",
    number_not_accepted: "Nous n'acceptons pas ce genre de carte.",
    brand_not_accepted: "Nous n'acceptons pas ce genre de carte ici. Nous acceptons {brands}.",
    expiry_invalid: "Cette date d'expiration n'est pas valide.",
    expiry_past: "{date}, c'est passé: cette carte est expirée.",
    cvv_length: "Ce code de sécurité n'a pas le bon nombre de chiffres.",
    zip_length: "Ce code n'a pas le bon nombre de chiffres.",
    name_invalid: "Cela ne forme pas un nom. Une touche a été pressée trop de fois.",
    name_length: "Ce nom n'a pas le bon nombre de lettres.",
    confirm_unclear: "Désolé, je n'ai pas compris votre réponse.",

    not_heard: "Désolé, je n'ai pas compris. Vous pouvez aussi utiliser le clavier.",
    use_keypad: "Je n'ai toujours pas compris. Veuillez utiliser le clavier.",
    keypad_only: "Je ne peux pas vous écouter pour le moment. Veuillez utiliser le clavier.",
    cleared: "C'est effacé. Veuillez recommencer.",
    help: "Vous pouvez dire chaque réponse ou la composer. L'étoile l'efface et le carré la termine. Dites répéter pour entendre la question encore une fois, retour pour la précédente, ou préposé pour arrêter.",
    help_keypad:
      "Veuillez utiliser le clavier. L'étoile efface votre réponse ou répète la question. Le carré la termine. Deux fois l'étoile, et nous arrêtons.",
    help_offer: "Vous pouvez dire aide en tout temps. Pour arrêter, dites préposé ou appuyez deux fois sur l'étoile.",
    help_offer_keypad: "Pour arrêter, appuyez deux fois sur l'étoile.",
    name_unended: "Continuez, s'il vous plaît, ou appuyez sur le carré si c'est le nom au complet.",
    not_confirmed: "D'accord, reprenons le numéro de la carte.",
    another_card: "Vous pouvez essayer encore ou utiliser une autre carte.",

    one_moment: "Un moment, s'il vous plaît.",
    still_working: "Nous y travaillons toujours. Restez en ligne, s'il vous plaît.",
    not_paid_elsewhere: "Le paiement sur la page web n'a pas été fait. Nous pouvons continuer ici.",
    paid: "Merci. Votre paiement est accepté.",
    stored: "Merci. Votre carte est enregistrée.",

    card_declined: "La banque a refusé la carte.",
    insufficient_funds: "La carte n'a pas assez de fonds.",
    expired_card: "La banque dit que cette carte est expirée.",
    incorrect_number: "La banque ne connaît pas ce numéro de carte.",
    incorrect_cvc: "Le code de sécurité ne correspond pas à la carte.",
    incorrect_zip: "Le code postal ne correspond pas à la carte.",
    invalid_expiry: "La date d'expiration ne correspond pas à la carte.",
    card_not_supported: "Nous n'acceptons pas ce genre de carte.",
    held_for_review: "Le paiement est en cours de vérification, et votre banque peut retenir l'argent.",
    limit_exceeded: "La carte a atteint sa limite.",
    authentication_required: "La banque demande une vérification impossible par téléphone.",
    duplicate_transaction: "Le même paiement a été fait il y a un instant, alors celui-ci a été refusé.",
    not_processed: "Le paiement n'a pas pu être traité.",
    not_charged: "Rien ne vous a été facturé.",
    not_stored: "Votre carte n'a pas été enregistrée.",
    not_completed: "Le paiement n'est pas terminé.",
    do_not_repeat: "Veuillez ne pas réessayer pour l'instant.",
    will_be_told: "On vous dira comment il s'est terminé.",
    too_many_tries: "Nous n'avons pas pu prendre votre carte cette fois-ci. Rien ne vous a été facturé.",
    nobody_there: "Je n'ai rien entendu, alors nous arrêtons ici.",
    goodbye: "D'accord, nous arrêtons ici. Rien ne vous a été facturé.",
    cancelled: "Ce paiement a été annulé.",
    say_goodbye: "Au revoir.",
    connecting: "Je vous remets en communication. Restez en ligne, s'il vous plaît.",
    connecting_to: "Je vous remets en communication avec {merchant}. Restez en ligne, s'il vous plaît.",
    line_busy: "La ligne est occupée.",
    nobody_answers: "Personne ne répond.",
    call_later: "Si vous avez besoin d'autre chose, veuillez rappeler plus tard.",
    call_later_to_pay: "Pour réessayer, veuillez rappeler plus tard.",
    not_connected: "Désolé, je n'ai pas pu vous mettre en communication.",
    ask_code: "Veuillez composer les huit chiffres de votre code de paiement, suivis du carré.",
    code_unknown: "Désolé, je ne connais pas ce code.",
    code_not_found: "Je n'ai pas trouvé votre paiement. Veuillez redemander le code, puis rappeler.",
  },
};
