/** Every word that the frame shows, in one place. `{name}` is filled in. */
export const TEXTS = {
  title: "Pay {merchant}",
  titleStore: "Save a card with {merchant}",
  pay: "Pay {amount}",
  store: "Save card",
  number: "Card number",
  expiry: "Expiry date (MM / YY)",
  cvv: "Security code",
  zip: "ZIP or postal code",
  name: "Name on card",
  numberWrong: "Check the card number.",
  expiryWrong: "Enter month and year, such as 04 / 30.",
  expired: "This card has expired.",
  cvvWrong: "Enter the 3 or 4 digits of the security code.",
  zipWrong: "Enter the ZIP or postal code.",
  nameWrong: "Enter the name on the card.",
  sending: "One moment …",
  checking: "Still checking with your bank. Please do not close this page and do not pay again.",
  attempts: "You can try again; tries left: {count}.",
  again: "The payment was not completed. You can try again; tries left: {count}.",
  wait: "Too many tries in a short time. Please wait {seconds} seconds.",
  unreachable: "No connection. Trying again …",
  paid: "Thank you. Your payment of {amount} has been made.",
  authorized: "Thank you. Your payment of {amount} has been authorized.",
  stored: "Thank you. Your card has been saved.",
  failed: "The payment was not made.",
  failedStore: "The card was not saved.",
  cancelled: "This payment was cancelled.",
  expiredSession: "The time for this payment is over.",
  over: "This payment is over.",
  missing: "There is no such payment.",
  noScript: "This page needs JavaScript to take a card.",
  test: "Test mode: no money moves.",
} as const;

export type TextName = keyof typeof TEXTS;

export function filled(name: TextName, values: Readonly<Record<string, string>> = {}): string {
  return TEXTS[name].replace(/\{([a-z]+)\}/g, (whole, key: string) => values[key] ?? whole);
}
