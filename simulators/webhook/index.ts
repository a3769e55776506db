import { brandOf, defineSimulator, digits, header, hmac, isCardNumber, isSame, issuer, json, matching, orNull } from "../kit/index.ts";
import { refused, rules, text, textOf } from "../kit/index.ts";
import type { Answer, Call, Incoming, Refusal } from "../kit/index.ts";

/** A merchant's card-forwarding endpoint (docs/interface.md, Card forwarding): verifies the signature, decides by the uniform cards. */

/** The signing secret of `signing_secret` in card-forwarding settings that point at this receiver. */
const SIGNING_SECRET = "whsec_c2ltdWxhdG9yIHNlY3JldCBvZiBjYXJkIGZvcndhcmRpbmc=";
const TOLERANCE_SECONDS = 300;

/** The receiver answers in our own codes. */
const ISSUER = issuer(
  `
    card_declined card_declined, insufficient_funds insufficient_funds, expired_card expired_card, incorrect_cvc incorrect_cvc
    processing_error processing_error, lost_or_stolen lost_or_stolen
  `,
  String,
);

/** As the interface counts: characters, whatever their script, not halves of them. */
const DESCRIPTION = orNull(matching(/^.{1,500}$/su, "1 to 500 characters"));
/** Elo's ranges lie inside those of other brands, which is all that a receiver may know of them. */
const ANY_NUMBERS = ["elo", "unknown"];
const CALLER = orNull(matching(/^\+[0-9]{7,15}$/, "E.164"));
const COLLECTED = rules`
  type! is payment_method.collected, session_id! uuid, environment! is test|live, mode! is charge|tokenize, amount! whole
  currency! currency, description! ${DESCRIPTION}, caller! ${CALLER}
  card: number! digits 12-19, exp_month! month, exp_year! year4, cvv! ${orNull(digits(3, 4))}, brand! 32, last4! digits 4
  card: cardholder_name! ${orNull(text(255))}, postal_code! ${orNull(text(32))}
`;

export const simulator = defineSimulator({
  body: "json",
  authenticate,
  // The session's id is the idempotency key: a repeat gets the first decision and charges nothing.
  idempotency: { keyOf: ({ fields }) => textOf(fields, "session_id") },
  reference: "session_id",
  recorded: ["environment", "card.cardholder_name"],
  endpoints: { "POST /": { rules: COLLECTED, run: decide } },
  refuse: {
    malformed: (_request, isOtherType) =>
      isOtherType ? refusal(415, "the content type is not application/json") : refusal(400, "the body is not JSON"),
    path: (_request, isKnown) => (isKnown ? refusal(405, "only POST is taken") : refusal(404, "no such page")),
    field: ({ field, words }) => refusal(400, `${field} ${words}`),
  },
});

const refusal = (status: number, error: string): Refusal => refused(error, status, { error });

function authenticate(request: Incoming): string {
  if (!request.secure) throw refusal(403, "card data came over plain HTTP");
  const parts = header(request, "x-signature")
    .split(",")
    .map((part) => part.split("="));
  const valuesOf = (name: string) => parts.filter((part) => part[0] === name).map((part) => part[1] ?? "");
  const [time = ""] = valuesOf("t");
  const expected = hmac("sha256", SIGNING_SECRET, Buffer.concat([Buffer.from(`${time}.`), request.body]));
  if (!valuesOf("v1").some((given) => isSame(given, expected))) throw refusal(401, "the signature does not fit");
  if (Math.abs(request.tools.now() / 1000 - Number(time)) > TOLERANCE_SECONDS) throw refusal(401, "the signature is too old");
  return "merchant";
}

function decide(call: Call<object, object>): Answer {
  const { tools } = call;
  const number = call.text("card.number");
  if (!isCardNumber(number)) throw refusal(400, "card.number is no card number");
  if (call.text("card.last4") !== number.slice(-4)) throw refusal(400, "card.last4 does not fit card.number");
  if (![brandOf(number), ...ANY_NUMBERS].includes(call.text("card.brand"))) throw refusal(400, "card.brand does not fit card.number");
  const no = call.decide(ISSUER, number);
  const id = tools.id("sim_", 16);
  const isCharge = call.text("mode") === "charge";
  const amount = { amountMinor: call.number("amount"), currency: call.text("currency") };
  call.take({ id, kind: isCharge ? "charge" : "token", no, ...amount, card: number, details: {} });
  if (no !== null)
    return json(200, { success: false, error_code: no, error_message: `The card was declined: ${no.replaceAll("_", " ")}.` });
  return json(200, { success: true, transaction_id: id, ...(!isCharge && { token: tools.id("tok_", 16) }) });
}
