/** Terms of payment that several modules share. Spellings are the interface's own (docs/interface.md, R-417). */

export const MODES = ["charge", "tokenize"] as const;
export type Mode = (typeof MODES)[number];

/** Which credentials and which hosts: a border as hard as the one between two organisations. */
export type Environment = "test" | "live";

/** In the order of the interface: the order shows in its error messages. */
export const GATEWAYS = [
  "stripe",
  "authorizenet",
  "braintree",
  "shift4",
  "fiserv",
  "jpmorgan",
  "webhook",
  "nmi",
  "qualpay",
  "clover",
  "adyen",
  "checkoutcom",
  "cybersource",
  "worldpay",
  "usaepay",
  "moneris",
  "globalpayments",
  "cardconnect",
  "paysafe",
  "fortis",
  "payflow",
  "opayo",
  "fatzebra",
  "trustpayments",
  "quickbooks",
  "ecommpay",
] as const;
export type GatewayName = (typeof GATEWAYS)[number];

export function isGatewayName(text: string): text is GatewayName {
  return (GATEWAYS as readonly string[]).includes(text);
}

/**
 * Why a payment did not happen, the same codes over all gateways. `callerMayRetry`: another try in the same call can
 * help, with the named field typed again or with another card; everything else ends the session.
 */
export const DECLINES = {
  card_declined: { callerMayRetry: true, fix: "number", message: "The card was declined." },
  insufficient_funds: { callerMayRetry: true, fix: "number", message: "The card has insufficient funds." },
  expired_card: { callerMayRetry: true, fix: "expiry", message: "The card has expired." },
  incorrect_number: { callerMayRetry: true, fix: "number", message: "The card number is incorrect." },
  incorrect_cvc: { callerMayRetry: true, fix: "cvv", message: "The security code is incorrect." },
  incorrect_zip: { callerMayRetry: true, fix: "zip", message: "The postal code is incorrect." },
  invalid_expiry: { callerMayRetry: true, fix: "expiry", message: "The expiry date is invalid." },
  card_not_supported: { callerMayRetry: true, fix: "number", message: "The card is not supported." },
  do_not_honor: { callerMayRetry: true, fix: "number", message: "The card issuer refused the payment." },
  lost_or_stolen: { callerMayRetry: true, fix: "number", message: "The card was declined." },
  fraud_suspected: { callerMayRetry: false, fix: null, message: "The card was declined." },
  held_for_review: { callerMayRetry: false, fix: null, message: "The payment is held for review; funds may be held on the card." },
  limit_exceeded: { callerMayRetry: false, fix: null, message: "The card's limit is exceeded." },
  authentication_required: {
    callerMayRetry: false,
    fix: null,
    message: "The card issuer demands an authentication that a call cannot give.",
  },
  duplicate_transaction: { callerMayRetry: false, fix: null, message: "The gateway refused the payment as a duplicate." },
  processing_error: { callerMayRetry: false, fix: null, message: "The payment could not be processed." },
  gateway_unavailable: { callerMayRetry: false, fix: null, message: "The payment gateway is unavailable; nothing was charged." },
  gateway_credentials_invalid: { callerMayRetry: false, fix: null, message: "The payment gateway refused the project's credentials." },
  gateway_misconfigured: { callerMayRetry: false, fix: null, message: "The payment gateway is not set up for this payment." },
  outcome_unknown: { callerMayRetry: false, fix: null, message: "The gateway's answer was lost and the outcome could not be established." },
  webhook_gateway_error: { callerMayRetry: false, fix: null, message: "The card forwarding endpoint did not give a valid answer." },
  attempts_exhausted: { callerMayRetry: false, fix: null, message: "The card could not be collected within the allowed number of tries." },
} as const satisfies Record<string, { callerMayRetry: boolean; fix: "number" | "expiry" | "cvv" | "zip" | null; message: string }>;

export type DeclineCode = keyof typeof DECLINES;

const MAY_HAVE_MOVED: ReadonlySet<string> = new Set<DeclineCode>([
  "held_for_review",
  "duplicate_transaction",
  "outcome_unknown",
  "webhook_gateway_error",
]);

/** Whether money may have moved although the payment failed for this: whoever pays is told not to pay a second time. */
export function mayHaveMoved(errorCode: string | null): boolean {
  return errorCode !== null && MAY_HAVE_MOVED.has(errorCode);
}

export function isDeclineCode(text: string): text is DeclineCode {
  return Object.hasOwn(DECLINES, text);
}

/** Postal address of the card holder, as the merchant gave it (docs/interface.md, Billing address). */
export interface BillingAddress {
  street: string;
  city: string;
  state: string;
  zip: string;
  country: string;
  first_name: string | null;
  last_name: string | null;
}
