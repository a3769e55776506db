import type { DeclineCode } from "#src/kernel/payment.ts";

/** Every word that the frame shows, by language; `{name}` is filled in. A language is one entry of LANGUAGES. */

const EN = {
  title: "Pay {merchant}",
  titleStore: "Save a card with {merchant}",
  pay: "Pay {amount}",
  store: "Save card",
  formPay: "Card payment",
  formStore: "Card to save",
  accepted: "Cards accepted",
  number: "Card number",
  expiry: "Expiry date",
  expiryExample: "MM / YY",
  cvv: "Security code",
  cvvBack: "3 digits on the back of the card",
  cvvFront: "4 digits on the front of the card",
  zip: "ZIP or postal code",
  name: "Name on card",
  lock: "Sent encrypted. The number is not stored here.",
  numberWrong: "Check the card number.",
  numberShort: "Enter the whole card number.",
  brandWrong: "This kind of card is not accepted here.",
  expiryWrong: "Enter month and year, such as 04\u00a0/\u00a030.",
  expired: "This card has expired.",
  cvvWrong: "Enter the 3 or 4 digits of the security code.",
  cvvWrongBack: "Enter the 3 digits on the back of the card.",
  cvvWrongFront: "Enter the 4 digits on the front of the card.",
  zipWrong: "Enter the ZIP or postal code.",
  nameWrong: "Enter the name on the card.",
  sending: "Processing …",
  checking: "Still checking with your bank. Please do not close this page and do not pay again.",
  anotherCard: "Please use another card, or ask your bank. Tries left: {count}.",
  correct: "Please correct the marked field, or use another card. Tries left: {count}.",
  again: "The payment was not completed. You can try again; tries left: {count}.",
  wait: "Too many tries in a short time. Please wait {seconds} seconds.",
  waitOne: "Too many tries in a short time. Please wait 1 second.",
  unreachable: "No connection. Trying again …",
  paid: "Thank you. Your payment of {amount} has been made.",
  authorized: "Thank you. Your payment of {amount} has been authorized.",
  stored: "Thank you. Your card has been saved.",
  card: "Card",
  reference: "Reference",
  ending: "{brand} ending in {last4}",
  failed: "The payment was not made.",
  failedStore: "The card was not saved.",
  cancelled: "This payment was cancelled.",
  expiredSession: "The time for this payment is over.",
  over: "This payment is over.",
  missing: "There is no such payment.",
  away: "This page cannot be shown right now. Please load it again in a moment.",
  noScript: "This page needs JavaScript to take a card.",
  test: "Test mode: no money moves.",
} as const;

export type TextName = keyof typeof EN;
type Texts = Readonly<Record<TextName, string>>;

const ES: Texts = {
  title: "Pagar a {merchant}",
  titleStore: "Guardar una tarjeta en {merchant}",
  pay: "Pagar {amount}",
  store: "Guardar tarjeta",
  formPay: "Pago con tarjeta",
  formStore: "Tarjeta que se guarda",
  accepted: "Tarjetas aceptadas",
  number: "Número de tarjeta",
  expiry: "Vencimiento",
  expiryExample: "MM / AA",
  cvv: "Código CVV",
  cvvBack: "3 dígitos al dorso de la tarjeta",
  cvvFront: "4 dígitos al frente de la tarjeta",
  zip: "Código postal",
  name: "Nombre en la tarjeta",
  lock: "Se envía cifrado. El número no se guarda aquí.",
  numberWrong: "Revise el número de la tarjeta.",
  numberShort: "Escriba el número completo de la tarjeta.",
  brandWrong: "Este tipo de tarjeta no se acepta aquí.",
  expiryWrong: "Escriba mes y año, por ejemplo 04\u00a0/\u00a030.",
  expired: "Esta tarjeta está vencida.",
  cvvWrong: "Escriba los 3 o 4 dígitos del código CVV.",
  cvvWrongBack: "Escriba los 3 dígitos al dorso de la tarjeta.",
  cvvWrongFront: "Escriba los 4 dígitos al frente de la tarjeta.",
  zipWrong: "Escriba el código postal.",
  nameWrong: "Escriba el nombre que figura en la tarjeta.",
  sending: "Procesando …",
  checking: "Seguimos consultando con su banco. No cierre esta página ni pague otra vez.",
  anotherCard: "Use otra tarjeta o consulte a su banco. Intentos restantes: {count}.",
  correct: "Corrija el campo marcado o use otra tarjeta. Intentos restantes: {count}.",
  again: "El pago no se completó. Puede intentarlo de nuevo; intentos restantes: {count}.",
  wait: "Demasiados intentos en poco tiempo. Espere {seconds} segundos.",
  waitOne: "Demasiados intentos en poco tiempo. Espere 1 segundo.",
  unreachable: "Sin conexión. Se intenta de nuevo …",
  paid: "Gracias. Su pago de {amount} se ha realizado.",
  authorized: "Gracias. Su pago de {amount} ha sido autorizado.",
  stored: "Gracias. Su tarjeta ha sido guardada.",
  card: "Tarjeta",
  reference: "Referencia",
  ending: "{brand} terminada en {last4}",
  failed: "El pago no se realizó.",
  failedStore: "La tarjeta no se guardó.",
  cancelled: "Este pago fue cancelado.",
  expiredSession: "El plazo para este pago ha terminado.",
  over: "Este pago ha terminado.",
  missing: "Este pago no existe.",
  away: "Esta página no está disponible ahora. Vuelva a cargarla en un momento.",
  noScript: "Esta página necesita JavaScript para recibir una tarjeta.",
  test: "Modo de prueba: no se mueve dinero.",
};

const FR: Texts = {
  title: "Payer {merchant}",
  titleStore: "Enregistrer une carte chez {merchant}",
  pay: "Payer {amount}",
  store: "Enregistrer la carte",
  formPay: "Paiement par carte",
  formStore: "Carte à enregistrer",
  accepted: "Cartes acceptées",
  number: "Numéro de carte",
  expiry: "Date d’expiration",
  expiryExample: "MM / AA",
  cvv: "Code de sécurité",
  cvvBack: "3 chiffres au dos de la carte",
  cvvFront: "4 chiffres au recto de la carte",
  zip: "Code postal",
  name: "Nom sur la carte",
  lock: "Envoi chiffré. Le numéro n’est pas conservé ici.",
  numberWrong: "Vérifiez le numéro de la carte.",
  numberShort: "Indiquez le numéro complet de la carte.",
  brandWrong: "Ce type de carte n’est pas accepté ici.",
  expiryWrong: "Indiquez le mois et l’année, par exemple 04\u00a0/\u00a030.",
  expired: "Cette carte a expiré.",
  cvvWrong: "Indiquez les 3 ou 4 chiffres du code de sécurité.",
  cvvWrongBack: "Indiquez les 3 chiffres au dos de la carte.",
  cvvWrongFront: "Indiquez les 4 chiffres au recto de la carte.",
  zipWrong: "Indiquez le code postal.",
  nameWrong: "Indiquez le nom qui figure sur la carte.",
  sending: "Traitement en cours …",
  checking: "Nous interrogeons encore votre banque. Ne fermez pas cette page et ne payez pas une seconde fois.",
  anotherCard: "Utilisez une autre carte ou contactez votre banque. Essais restants : {count}.",
  correct: "Corrigez le champ indiqué ou utilisez une autre carte. Essais restants : {count}.",
  again: "Le paiement n’a pas abouti. Vous pouvez réessayer ; essais restants : {count}.",
  wait: "Trop d’essais en peu de temps. Attendez {seconds} secondes.",
  waitOne: "Trop d’essais en peu de temps. Attendez 1 seconde.",
  unreachable: "Pas de connexion. Nouvel essai …",
  paid: "Merci. Votre paiement de {amount} a été effectué.",
  authorized: "Merci. Votre paiement de {amount} a été autorisé.",
  stored: "Merci. Votre carte a été enregistrée.",
  card: "Carte",
  reference: "Référence",
  ending: "{brand} se terminant par {last4}",
  failed: "Le paiement n’a pas été effectué.",
  failedStore: "La carte n’a pas été enregistrée.",
  cancelled: "Ce paiement a été annulé.",
  expiredSession: "Le délai de ce paiement est écoulé.",
  over: "Ce paiement est terminé.",
  missing: "Ce paiement n’existe pas.",
  away: "Cette page est indisponible pour le moment. Rechargez-la dans un instant.",
  noScript: "Cette page a besoin de JavaScript pour recevoir une carte.",
  test: "Mode test : aucun argent ne circule.",
};

/**
 * What a decline is called; in English the others are what the service says, in other languages `card_declined`. Who may have paid is told
 * not to pay again (kernel/payment.ts, mayHaveMoved), and nobody is told of the merchant's settings.
 */
type Declines = Readonly<Partial<Record<DeclineCode, string>>>;

const EN_NOT_PROCESSED = "The payment could not be processed.";
const EN_NOT_AGAIN = "Please do not pay again yet.";
const EN_DECLINES: Declines = {
  held_for_review: `The payment is held for review, and your bank may hold the money. ${EN_NOT_AGAIN}`,
  authentication_required: "The bank wants a check that cannot be done here.",
  duplicate_transaction: `The same payment was made a moment ago, so this one was refused. ${EN_NOT_AGAIN}`,
  gateway_credentials_invalid: EN_NOT_PROCESSED,
  gateway_misconfigured: EN_NOT_PROCESSED,
  outcome_unknown: `The payment is not completed. ${EN_NOT_AGAIN} You will be told how it ended.`,
  webhook_gateway_error: `${EN_NOT_PROCESSED} ${EN_NOT_AGAIN}`,
};

const ES_NOT_PROCESSED = "El pago no se pudo procesar.";
const ES_NOT_AGAIN = "Por favor, no pague otra vez todavía.";
const ES_DECLINES: Declines = {
  card_declined: "La tarjeta fue rechazada.",
  insufficient_funds: "La tarjeta no tiene fondos suficientes.",
  expired_card: "La tarjeta está vencida.",
  incorrect_number: "El número de la tarjeta es incorrecto.",
  incorrect_cvc: "El código CVV es incorrecto.",
  incorrect_zip: "El código postal es incorrecto.",
  invalid_expiry: "La fecha de vencimiento no es válida.",
  card_not_supported: "Esta tarjeta no se acepta.",
  held_for_review: `El pago está en revisión, y su banco puede retener el dinero. ${ES_NOT_AGAIN}`,
  authentication_required: "El banco pide una verificación que aquí no es posible.",
  duplicate_transaction: `El mismo pago se hizo hace un momento, así que este fue rechazado. ${ES_NOT_AGAIN}`,
  processing_error: ES_NOT_PROCESSED,
  gateway_credentials_invalid: ES_NOT_PROCESSED,
  gateway_misconfigured: ES_NOT_PROCESSED,
  outcome_unknown: `El pago no se ha completado. ${ES_NOT_AGAIN} Se le avisará cómo terminó.`,
  webhook_gateway_error: `${ES_NOT_PROCESSED} ${ES_NOT_AGAIN}`,
  gateway_unavailable: "El servicio de pago no está disponible; no se cobró nada.",
};

const FR_NOT_PROCESSED = "Le paiement n’a pas pu être traité.";
const FR_NOT_AGAIN = "Veuillez ne pas payer de nouveau pour l’instant.";
const FR_DECLINES: Declines = {
  card_declined: "La carte a été refusée.",
  insufficient_funds: "La carte n’est pas suffisamment approvisionnée.",
  expired_card: "La carte a expiré.",
  incorrect_number: "Le numéro de la carte est incorrect.",
  incorrect_cvc: "Le code de sécurité est incorrect.",
  incorrect_zip: "Le code postal est incorrect.",
  invalid_expiry: "La date d’expiration n’est pas valable.",
  card_not_supported: "Cette carte n’est pas acceptée.",
  held_for_review: `Le paiement est en cours de vérification, et votre banque peut retenir l’argent. ${FR_NOT_AGAIN}`,
  authentication_required: "La banque demande une vérification impossible ici.",
  duplicate_transaction: `Le même paiement a été fait il y a un instant, alors celui-ci a été refusé. ${FR_NOT_AGAIN}`,
  processing_error: FR_NOT_PROCESSED,
  gateway_credentials_invalid: FR_NOT_PROCESSED,
  gateway_misconfigured: FR_NOT_PROCESSED,
  outcome_unknown: `Le paiement n’est pas terminé. ${FR_NOT_AGAIN} On vous dira comment il s’est terminé.`,
  webhook_gateway_error: `${FR_NOT_PROCESSED} ${FR_NOT_AGAIN}`,
  gateway_unavailable: "Le service de paiement est indisponible ; rien n’a été débité.",
};

interface Language {
  /** BCP 47: how amounts are written. */
  locale: string;
  texts: Texts;
  declines: Declines;
}

const LANGUAGES = {
  en: { locale: "en-US", texts: EN, declines: EN_DECLINES },
  es: { locale: "es-US", texts: ES, declines: ES_DECLINES },
  fr: { locale: "fr-CA", texts: FR, declines: FR_DECLINES },
} as const satisfies Record<string, Language>;

export type LanguageCode = keyof typeof LANGUAGES;

export const languageOf = (code: LanguageCode): Language => LANGUAGES[code];

const MOST_PREFERENCES = 20;

/**
 * The first language of a list that is spoken here, else English: of a `lang` value ("fr-CA") or an Accept-Language header
 * ("fr-CA,fr;q=0.9,en;q=0.8", RFC 9110 section 12.5.4; its order is trusted, as every browser writes it by weight).
 */
export function chooseLanguage(...wanted: readonly (string | undefined)[]): LanguageCode {
  const codes = wanted.flatMap((list) => (list ?? "").split(",", MOST_PREFERENCES)).map((tag) => tag.trim().slice(0, 2).toLowerCase());
  return codes.find((code): code is LanguageCode => Object.hasOwn(LANGUAGES, code)) ?? "en";
}

export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{([a-z0-9]+)\}/g, (whole, key: string) => values[key] ?? whole);
}
