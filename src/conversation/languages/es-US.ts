import type { Language } from "./language.ts";
import { type MoneyGrammar, moneyInWords } from "./money.ts";

const DIGITS = ["cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"] as const;
const TO_TWENTY_NINE = [
  ...DIGITS,
  "diez",
  "once",
  "doce",
  "trece",
  "catorce",
  "quince",
  "dieciséis",
  "diecisiete",
  "dieciocho",
  "diecinueve",
  "veinte",
  "veintiuno",
  "veintidós",
  "veintitrés",
  "veinticuatro",
  "veinticinco",
  "veintiséis",
  "veintisiete",
  "veintiocho",
  "veintinueve",
] as const;
const TENS = ["", "", "", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"] as const;
const HUNDREDS = [
  "",
  "ciento",
  "doscientos",
  "trescientos",
  "cuatrocientos",
  "quinientos",
  "seiscientos",
  "setecientos",
  "ochocientos",
  "novecientos",
] as const;
const MONTHS = [
  "enero",
  "febrero",
  "marzo",
  "abril",
  "mayo",
  "junio",
  "julio",
  "agosto",
  "septiembre",
  "octubre",
  "noviembre",
  "diciembre",
] as const;

/** First words of the feminine names among the currencies. */
const FEMININE = new Set(["libra", "libras", "corona", "coronas", "rupia", "rupias", "lira", "liras", "grivna", "grivnas", "rufiya"]);

/** Counting ("uno"), or before a noun of either gender ("un", "una"). */
type Agreement = "alone" | "masculine" | "feminine";

/** A whole number from 0 to 999,999,999. */
export function numberInSpanish(value: number, agreement: Agreement = "alone"): string {
  if (value >= 1_000_000) {
    const millions = Math.floor(value / 1_000_000);
    const named = millions === 1 ? "un millón" : `${numberInSpanish(millions, "masculine")} millones`;
    return withRest(named, value % 1_000_000, agreement);
  }
  if (value >= 1000) {
    const thousands = Math.floor(value / 1000);
    const counted = agreement === "feminine" ? "feminine" : "masculine";
    return withRest(thousands === 1 ? "mil" : `${numberInSpanish(thousands, counted)} mil`, value % 1000, agreement);
  }
  if (value === 100) return "cien";
  if (value > 100) {
    const hundreds = HUNDREDS[Math.floor(value / 100)] ?? "";
    return withRest(agreement === "feminine" ? hundreds.replace(/os$/, "as") : hundreds, value % 100, agreement);
  }
  const words =
    value < 30 ? (TO_TWENTY_NINE[value] ?? "") : `${TENS[Math.floor(value / 10)]}${value % 10 > 0 ? ` y ${DIGITS[value % 10]}` : ""}`;
  if (agreement === "feminine") return words.replace(/uno$/, "una");
  if (agreement === "masculine") return words === "veintiuno" ? "veintiún" : words.replace(/uno$/, "un");
  return words;
}

const withRest = (words: string, rest: number, agreement: Agreement) => (rest > 0 ? `${words} ${numberInSpanish(rest, agreement)}` : words);

function before(noun: string): Agreement {
  if (noun === "") return "alone";
  return FEMININE.has(noun.split(" ")[0] ?? "") ? "feminine" : "masculine";
}

const MONEY: MoneyGrammar = {
  tag: "es-US",
  number: (value, noun) => numberInSpanish(value, before(noun)),
  digits: DIGITS,
  point: "punto",
  wholeAndCoins: "{whole} con {coins}",
  isSingular: (count) => count === 1,
  link: (value) => (value > 0 && value % 1_000_000 === 0 ? "de " : ""),
  currencies: { USD: ["dólar", "dólares"], GBP: ["libra", "libras"], MXN: ["peso mexicano", "pesos mexicanos"] },
  coins: {
    USD: ["centavo", "centavos"],
    CAD: ["centavo", "centavos"],
    AUD: ["centavo", "centavos"],
    NZD: ["centavo", "centavos"],
    EUR: ["céntimo", "céntimos"],
    GBP: ["penique", "peniques"],
    MXN: ["centavo", "centavos"],
  },
};

export const ES_US: Language = {
  recognised: false,
  digits: DIGITS,
  spelled: { " ": "espacio", "'": "apóstrofo", Y: "i griega" },
  amountInWords: (amountMinor, currency) => moneyInWords(MONEY, amountMinor, currency),
  dateInWords: (month, year) => `${MONTHS[month - 1] ?? ""} de ${numberInSpanish(year)}`,
  sentences: {
    greeting: "Esta es la línea segura de pagos.",
    greeting_of: "Esta es la línea segura de pagos de {merchant}.",
    you_pay: "Va a pagar {amount}.",
    will_store: "Vamos a guardar su tarjeta para más adelante. Por ahora no se le cobra nada.",
    card_ends_in: "Su tarjeta {brand} termina en {last4}",
    name_is: "El nombre en ella es {cardholder}",

    ask_number: "Diga o marque el número de su tarjeta.",
    ask_number_keypad: "Por favor, use el teclado y marque el número de su tarjeta.",
    ask_expiry: "Ahora la fecha de vencimiento: mes y año, dos dígitos cada uno.",
    ask_expiry_keypad: "Ahora marque la fecha de vencimiento: mes y año, dos dígitos cada uno.",
    ask_cvv3: "Ahora el código de seguridad de tres dígitos, al reverso de la tarjeta.",
    ask_cvv3_keypad: "Ahora marque el código de seguridad de tres dígitos, al reverso de la tarjeta.",
    ask_cvv4: "Ahora el código de seguridad de cuatro dígitos, al frente de la tarjeta.",
    ask_cvv4_keypad: "Ahora marque el código de seguridad de cuatro dígitos, al frente de la tarjeta.",
    ask_zip: "Y los cinco dígitos de su código postal de facturación.",
    ask_zip_keypad: "Y marque los cinco dígitos de su código postal de facturación.",
    ask_postal_code: "Y su código postal de facturación, y luego la tecla numeral.",
    ask_postal_code_keypad: "Y marque su código postal de facturación, y luego la tecla numeral.",
    ask_postal_digits: "Y su código postal de facturación: solo los números, sin las letras. Luego oprima la tecla numeral.",
    ask_postal_digits_keypad: "Y marque su código postal de facturación: solo los números, sin las letras. Luego oprima la tecla numeral.",
    ask_name:
      "Ahora diga el nombre que aparece en la tarjeta, o deletréelo con el teclado. Oprima una tecla una vez para su primera letra, dos veces para la segunda, y así sucesivamente. Cero es un espacio. Entre dos letras de la misma tecla, oprima uno. Al final, oprima la tecla numeral.",
    ask_name_keypad:
      "Ahora deletree con el teclado el nombre que aparece en la tarjeta. Oprima una tecla una vez para su primera letra, dos veces para la segunda, y así sucesivamente. Cero es un espacio. Entre dos letras de la misma tecla, oprima uno. Al final, oprima la tecla numeral.",
    ask_confirm: "¿Es correcto? Oprima uno, o diga: sí, es correcto. Si no, oprima dos.",
    ask_confirm_keypad: "¿Es correcto? Oprima uno para sí, o dos para no.",
    ask_confirm_name:
      "¿Es correcto? Oprima uno, o diga: sí, es correcto. Si la tarjeta no es correcta, oprima dos. Si el nombre no es correcto, oprima tres.",
    ask_confirm_name_keypad: "¿Es correcto? Oprima uno para sí, dos si la tarjeta no es correcta, o tres si el nombre no es correcto.",

    number_length: "Ese número de tarjeta no tiene la cantidad correcta de dígitos.",
    number_invalid: "Ese número de tarjeta no es válido.",
    number_not_accepted: "No aceptamos ese tipo de tarjeta.",
    brand_not_accepted: "Aquí no aceptamos ese tipo de tarjeta. Aceptamos {brands}.",
    expiry_invalid: "Esa fecha de vencimiento no es válida.",
    expiry_past: "{date} ya pasó, así que esa tarjeta está vencida.",
    cvv_length: "Ese código de seguridad no tiene la cantidad correcta de dígitos.",
    zip_length: "Ese código no tiene la cantidad correcta de dígitos.",
    name_invalid: "Eso no formó un nombre. Una tecla se oprimió demasiadas veces.",
    name_length: "Ese nombre no tiene la cantidad correcta de letras.",
    confirm_unclear: "Disculpe, no entendí su respuesta.",

    not_heard: "Disculpe, no le entendí. También puede usar el teclado.",
    use_keypad: "Todavía no le entendí. Por favor, use el teclado.",
    keypad_only: "En este momento no puedo escucharle. Por favor, use el teclado.",
    cleared: "Borrado. Empiece de nuevo, por favor.",
    help: "Puede decir cada respuesta o marcarla. Asterisco la borra y numeral la termina. Diga repetir para oír la pregunta otra vez, atrás para la anterior, u operador para terminar.",
    help_keypad:
      "Por favor, use el teclado. Asterisco borra su respuesta o repite la pregunta. Numeral la termina. Asterisco dos veces termina aquí.",
    help_offer: "Puede decir ayuda en cualquier momento. Para terminar aquí, diga operador u oprima asterisco dos veces.",
    help_offer_keypad: "Para terminar aquí, oprima asterisco dos veces.",
    name_unended: "Continúe, por favor, u oprima la tecla numeral si ese es el nombre completo.",
    not_confirmed: "De acuerdo, vamos otra vez con el número de la tarjeta.",
    another_card: "Puede intentarlo otra vez o usar otra tarjeta.",

    one_moment: "Un momento, por favor.",
    still_working: "Seguimos procesando su pago. No cuelgue, por favor.",
    not_paid_elsewhere: "El pago en la página web no se hizo. Podemos seguir aquí.",
    paid: "Gracias. Su pago fue aprobado.",
    stored: "Gracias. Su tarjeta quedó guardada.",

    card_declined: "El banco rechazó la tarjeta.",
    insufficient_funds: "La tarjeta no tiene fondos suficientes.",
    expired_card: "El banco dice que esta tarjeta está vencida.",
    incorrect_number: "El banco no reconoce este número de tarjeta.",
    incorrect_cvc: "El código de seguridad no corresponde a la tarjeta.",
    incorrect_zip: "El código postal no corresponde a la tarjeta.",
    invalid_expiry: "La fecha de vencimiento no corresponde a la tarjeta.",
    card_not_supported: "No aceptamos ese tipo de tarjeta.",
    held_for_review: "El pago está en revisión, y su banco puede retener el dinero.",
    limit_exceeded: "La tarjeta llegó a su límite.",
    authentication_required: "El banco pide una verificación que no se puede hacer por teléfono.",
    duplicate_transaction: "El mismo pago se hizo hace un momento, así que este fue rechazado.",
    not_processed: "No se pudo procesar el pago.",
    not_charged: "No se le ha cobrado nada.",
    not_stored: "Su tarjeta no se guardó.",
    not_completed: "El pago no se ha completado.",
    do_not_repeat: "Por favor, no lo intente otra vez todavía.",
    will_be_told: "Se le avisará cómo terminó.",
    too_many_tries: "Esta vez no pudimos tomar su tarjeta. No se le ha cobrado nada.",
    nobody_there: "No oí nada, así que lo dejamos aquí.",
    goodbye: "De acuerdo, lo dejamos aquí. No se le ha cobrado nada.",
    cancelled: "Este pago fue cancelado.",
    say_goodbye: "Adiós.",
    connecting: "Le comunico de nuevo ahora. No cuelgue, por favor.",
    connecting_to: "Le comunico de nuevo con {merchant}. No cuelgue, por favor.",
    line_busy: "La línea está ocupada.",
    nobody_answers: "Nadie contesta.",
    call_later: "Si necesita algo más, llame de nuevo más tarde, por favor.",
    call_later_to_pay: "Para intentarlo otra vez, llame de nuevo más tarde, por favor.",
    not_connected: "Disculpe, no pude comunicarle.",
    ask_code: "Marque los ocho dígitos de su código de pago, y luego la tecla numeral, por favor.",
    code_unknown: "Disculpe, no conozco ese código.",
    code_not_found: "No pude encontrar su pago. Pida el código otra vez y llame de nuevo, por favor.",
  },
};
