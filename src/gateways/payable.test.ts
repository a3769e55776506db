import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { GatewayName } from "#src/kernel/payment.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { createOutbound } from "#src/platform/index.ts";
import { startSimulators } from "#simulators/index.ts";
import type { Simulators } from "#simulators/index.ts";
import type { Gateway, Order } from "./contract.ts";
import { GATEWAYS_BUILT } from "./registry.ts";
import { cardOf, orderOf, settingsOf, testIo } from "./testing.ts";

/** What the interface takes, at every gateway, against its simulator: it is paid, or the vendor's sheet says why not. */

const sum = (amountMinor: number, currency = "USD") => ({ amountMinor, currency });
const described = (description: string) => ({ description });
const VISA = "4242424242424242";
const named = (name: string) => () => ({ card: cardOf(VISA, { name }) });
/** Each card has an amount of its own: the same one for the same amount is a duplicate to some vendors. */
const card =
  (number: string, amountMinor: number, cvv = "123") =>
  () => ({ card: cardOf(number, { cvv }), amountMinor });

const CASES: Readonly<Record<string, Partial<Order> | (() => Partial<Order>)>> = {
  "999999.99 USD": sum(99_999_999),
  "0.01 USD": sum(1),
  "49.95 EUR": sum(4995, "EUR"),
  "999999 JPY": sum(999_999, "JPY"),
  "1 JPY": sum(1, "JPY"),
  "999999.990 KWD": sum(999_999_990, "KWD"),
  "0.010 KWD": sum(10, "KWD"),
  "0.001 KWD": sum(1, "KWD"),
  "999 CLP": sum(999, "CLP"),
  "25.00 HUF": sum(2500, "HUF"),
  "500 emoji": described("😀".repeat(500)),
  "250 emoji of two characters": described("🎟️".repeat(250)),
  "500 Han characters": described("漢".repeat(500)),
  "500 Arabic letters": described("م".repeat(500)),
  "500 characters that grow when they are folded": described("ﷺ".repeat(500)),
  "250 letters with a combining accent": described("e\u0301".repeat(250)),
  "a description with marks of every form": described("a\nb\u2028c\u0000d<>&\"'%=;|[]{}\\"),
  "a name with accents": named("María-José O'Neill"),
  "a Han name": named("山田太郎"),
  "an Arabic name": named("محمد علي"),
  "a name of one letter": named("X"),
  "a name of 100 emoji": named("😀".repeat(100)),
  "a name of 100 letters": named("Maximiliane ".repeat(9).slice(0, 100)),
  visa: card("4012888888881881", 100),
  "visa of 13 digits": card("4222222222222", 200),
  "visa of 19 digits": card("4000000000000000006", 300),
  mastercard: card("5555555555554444", 400),
  "mastercard that begins with 2": card("2223003122003222", 500),
  amex: card("378282246310005", 600, "1234"),
  discover: card("6011111111111117", 700),
  diners: card("36227206271667", 800),
  "diners that begins with 30": card("30569309025904", 900),
  jcb: card("3530111333300000", 1000),
  unionpay: card("6200000000000005", 1100),
  "unionpay of 19 digits": card("6205500000000000004", 1200),
  maestro: card("6759649826438453", 1300),
  "maestro of 12 digits": card("676770000005", 1400),
  "maestro of 19 digits": card("6304000000000000000", 1500),
  elo: card("6362970000457013", 1600),
};

/** Several cases of one refusal: their names between semicolons. */
const refused = (code: string, cases: string): Record<string, string> =>
  Object.fromEntries(cases.split(";").map((name) => [name.trim(), code]));
const MISCONFIGURED = "gateway_misconfigured";
/** The account is in dollars, and every other currency a fault of the project's settings. */
const DOLLARS = refused(MISCONFIGURED, "49.95 EUR; 999999 JPY; 1 JPY; 999999.990 KWD; 0.010 KWD; 0.001 KWD; 999 CLP; 25.00 HUF");
const THOUSANDTHS = { "0.001 KWD": MISCONFIGURED };
/** Nobody tells in which decimals the vendor counts them. */
const UNCERTAIN = "999 CLP; 25.00 HUF";
const DISPUTED = refused(MISCONFIGURED, UNCERTAIN);
const THIRDS = "999999.990 KWD; 0.010 KWD; 0.001 KWD";
const NO_12_DIGITS = { "maestro of 12 digits": "incorrect_number" };

const NO_19_DIGITS = (code: string) => refused(code, "visa of 19 digits; unionpay of 19 digits; maestro of 19 digits");

/** What a vendor refuses by its sheet; all else is approved. */
const REFUSED: Partial<Record<GatewayName, Readonly<Record<string, string>>>> = {
  // The account's currency alone (reason 39), two decimals, card numbers of 13 to 16 digits.
  authorizenet: { ...DOLLARS, ...NO_19_DIGITS("card_not_supported") },
  // Two decimals of a currency with three, the last digit is 0.
  checkoutcom: THOUSANDTHS,
  // The merchant account decides the currency.
  braintree: DOLLARS,
  // The merchant's own currency (PPS 32); the emulator's prefixes, and 13 digits at least.
  cardconnect: {
    ...DOLLARS,
    ...NO_12_DIGITS,
    ...NO_19_DIGITS("card_not_supported"),
    ...refused(
      "card_not_supported",
      "visa of 13 digits; mastercard that begins with 2; diners that begins with 30; unionpay; maestro; elo",
    ),
  },
  // US and Canadian dollars.
  clover: DOLLARS,
  // The vendor's own programs count in hundredths what ISO 4217 counts in thousandths.
  ecommpay: refused(MISCONFIGURED, THIRDS),
  fatzebra: DISPUTED,
  fiserv: { ...THOUSANDTHS, ...NO_12_DIGITS },
  // The products' currency; 13 to 19 digits.
  fortis: { ...DOLLARS, ...NO_12_DIGITS },
  globalpayments: { "999 CLP": MISCONFIGURED },
  jpmorgan: DISPUTED,
  // The store settles in one currency.
  moneris: DOLLARS,
  // Test mode declines whatever is below 1.00.
  nmi: { ...THOUSANDTHS, ...refused("card_declined", "0.01 USD; 0.010 KWD") },
  // 100,000.00 at the most, two decimals, and brands that it has a name for.
  opayo: {
    ...refused(MISCONFIGURED, "999999.99 USD; 999999 JPY; 999999.990 KWD; 0.001 KWD"),
    ...refused("card_not_supported", "unionpay; unionpay of 19 digits; elo"),
  },
  // Test mode declines from 1,001.00 up; currencies of the processor (RESULT 6).
  payflow: {
    ...refused("card_declined", "999999.99 USD; 999999 JPY"),
    ...refused(MISCONFIGURED, "999999.990 KWD; 0.010 KWD; 0.001 KWD; 999 CLP"),
  },
  // The account's currency.
  paysafe: DOLLARS,
  // Two decimals.
  qualpay: THOUSANDTHS,
  // 99,999.99 at the most.
  quickbooks: { ...DOLLARS, ...refused(MISCONFIGURED, "999999.99 USD") },
  // Eight digits, and about half a dollar at the least.
  stripe: refused(MISCONFIGURED, "0.01 USD; 1 JPY; 999999.990 KWD; 0.010 KWD; 0.001 KWD"),
  trustpayments: DISPUTED,
  // 99,999 at the most; other currencies for multi-currency merchants alone; 13 to 16 digits.
  usaepay: { ...DOLLARS, ...refused(MISCONFIGURED, "999999.99 USD; 999999 JPY"), ...NO_19_DIGITS("incorrect_number") },
  worldpay: DISPUTED,
};

const OTHER_CURRENCIES = Object.keys(DOLLARS).join("; ");
/** What can be known without the vendor: no session is made for it. */
const REFUSED_AT_CREATION: Partial<Record<GatewayName, string>> = {
  authorizenet: "0.001 KWD",
  cardconnect: "0.001 KWD",
  checkoutcom: "0.001 KWD",
  clover: OTHER_CURRENCIES,
  ecommpay: THIRDS,
  fatzebra: UNCERTAIN,
  fiserv: "0.001 KWD",
  fortis: OTHER_CURRENCIES,
  globalpayments: "999 CLP",
  jpmorgan: UNCERTAIN,
  moneris: OTHER_CURRENCIES,
  nmi: "0.001 KWD",
  opayo: "999999.99 USD; 999999 JPY; 999999.990 KWD; 0.001 KWD",
  payflow: "0.001 KWD",
  paysafe: OTHER_CURRENCIES,
  qualpay: "0.001 KWD",
  quickbooks: `999999.99 USD; ${OTHER_CURRENCIES}`,
  stripe: "999999.990 KWD; 0.001 KWD",
  trustpayments: UNCERTAIN,
  usaepay: "999999.99 USD; 999999 JPY; 999999.990 KWD; 0.001 KWD",
  worldpay: UNCERTAIN,
};

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

/** The gateway's outcome: `approved`, the code of a refusal, or that nothing is known. */
async function outcomeOf(gateway: Gateway, change: Partial<Order>): Promise<string> {
  const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] });
  const settings = settingsOf(gateway, { endpoint: `${simulators.url}/${gateway.name}` });
  const order = orderOf({ sessionId: systemRandom.uuid(), ...change });
  const outcome = await gateway[order.mode](
    order,
    testIo(settings, (request) => outbound.send(request)),
  );
  return outcome.outcome === "declined" ? outcome.code : outcome.outcome;
}

describe("what the interface takes is paid at every gateway, but for what its vendor refuses", { concurrency: 8 }, () => {
  for (const [name, gateway] of Object.entries(GATEWAYS_BUILT) as [GatewayName, Gateway][])
    for (const [what, change] of Object.entries(CASES))
      test(`${name}: ${what}`, async () => {
        const changes = () => (typeof change === "function" ? change() : change);
        const refusal = REFUSED[name]?.[what];
        const isKnown = (gateway.refusalOf?.(orderOf(changes()), settingsOf(gateway)) ?? null) !== null;
        assert.equal(isKnown, REFUSED_AT_CREATION[name]?.split("; ").includes(what) ?? false);
        assert.equal(await outcomeOf(gateway, changes()), refusal ?? "approved");
        const stored = await outcomeOf(gateway, { ...changes(), mode: "tokenize" });
        // A check of the card has an amount of its own; its currency is the session's.
        assert.ok(stored === "approved" || (refusal !== undefined && [refusal, MISCONFIGURED].includes(stored)), stored);
      });
});
