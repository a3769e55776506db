import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewayRequest, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const stripe = GATEWAYS_BUILT.stripe!;
const settings = settingsOf(stripe);

const PAYMENT_METHOD = { id: "pm_1Nabc", object: "payment_method" };
const PAID = {
  id: "pi_3Nx",
  object: "payment_intent",
  status: "succeeded",
  amount: 4995,
  amount_received: 4995,
  currency: "usd",
  latest_charge: { id: "ch_3Nx", receipt_url: "https://pay.stripe.com/receipts/payment/CAca" },
  metadata: { session_id: SESSION, attempt: "1" },
};
const STORED = { id: "seti_1Nx", object: "setup_intent", status: "succeeded", customer: "cus_Nff", payment_method: "pm_1Nabc" };
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const NOT_SENT: GatewayAnswer = { kind: "not sent", reason: "connection refused" };

type Script = (request: GatewayRequest, money: number) => GatewayAnswer;

/** An adapter's io against a scripted vendor: the harmless steps succeed, `script` answers the rest; `money` counts its calls. */
function ioWith(script: Script, changes: Partial<typeof settings> = {}, deadlineMs?: number, removal?: GatewayAnswer) {
  let money = 0;
  const answer = (request: GatewayRequest) => {
    if (request.method === "DELETE" && removal) return removal;
    if (request.url.endsWith("/v1/payment_methods")) return answered(200, PAYMENT_METHOD);
    if (request.url.endsWith("/v1/customers")) return answered(200, { id: "cus_Nff", object: "customer" });
    if (request.method === "DELETE") return answered(200, { id: "cus_Nff", object: "customer", deleted: true });
    if (request.url.endsWith("/cancel")) return answered(200, { ...PAID, status: "canceled" });
    return script(request, ++money);
  };
  return testIo({ ...settings, ...changes }, (request) => Promise.resolve(answer(request)), deadlineMs);
}

const charge = (script: Script, order: Partial<Order> = {}): Promise<Outcome> => stripe.charge(orderOf(order), ioWith(script));

function cardError(code: string, declineCode?: string): object {
  return { error: { type: "card_error", code, ...(declineCode && { decline_code: declineCode }), message: "Your card was declined." } };
}

describe("stripe requests", () => {
  test("a charge is two requests, byte for byte as the sheet has them", async () => {
    const io = ioWith(() => answered(200, PAID));
    await stripe.charge(orderOf({ card: cardOf("4242424242424242", { year: "2030", name: "Ada Byron" }) }), io);
    const [first, second] = io.sent;
    assert.equal(first?.request.url, "https://api.stripe.com/v1/payment_methods");
    assert.deepEqual(first?.request.headers, {
      Authorization: "Bearer sk_test_simulator",
      "Stripe-Version": "2022-11-15",
      Accept: "application/json",
      "Idempotency-Key": `${SESSION}-pm-1`,
      "Content-Type": "application/x-www-form-urlencoded",
    });
    assert.equal(
      first?.body,
      "type=card&card%5Bnumber%5D=4242424242424242&card%5Bexp_month%5D=03&card%5Bexp_year%5D=2030&card%5Bcvc%5D=123" +
        "&billing_details%5Bname%5D=Ada%20Byron&billing_details%5Baddress%5D%5Bpostal_code%5D=44628",
    );
    assert.equal(second?.request.url, "https://api.stripe.com/v1/payment_intents");
    assert.equal(second?.request.headers["Idempotency-Key"], `${SESSION}-pi-1`);
    assert.equal(
      second?.body,
      "amount=4995&currency=usd&confirm=true&capture_method=automatic&payment_method=pm_1Nabc&payment_method_types%5B0%5D=card" +
        "&payment_method_options%5Bcard%5D%5Bmoto%5D=true&description=Invoice%201001" +
        `&metadata%5Bsession_id%5D=${SESSION}&metadata%5Battempt%5D=1&error_on_requires_action=true&expand%5B0%5D=latest_charge`,
    );
    assert.deepEqual(io.notes, {}, "the look-up goes by the metadata: nothing has to be written down between the two");
  });

  test("storing a card is PaymentMethod, Customer, SetupIntent", async () => {
    const io = ioWith(() => answered(200, STORED));
    const outcome = await stripe.tokenize(orderOf({ mode: "tokenize", amountMinor: 0, description: null }), io);
    assert.deepEqual(outcome, {
      outcome: "approved",
      capture: "captured",
      processor: { payment_method_id: "pm_1Nabc", stripe_customer_id: "cus_Nff" },
    });
    assert.deepEqual(
      io.sent.map(({ request }) => request.headers["Idempotency-Key"]),
      [`${SESSION}-pm-1`, `${SESSION}-cus-1`, `${SESSION}-si-1`],
    );
    assert.equal(
      io.sent[2]?.body,
      "confirm=true&customer=cus_Nff&payment_method=pm_1Nabc&payment_method_types%5B0%5D=card" +
        `&payment_method_options%5Bcard%5D%5Bmoto%5D=true&usage=off_session&metadata%5Bsession_id%5D=${SESSION}&metadata%5Battempt%5D=1&expand%5B0%5D=latest_attempt`,
    );
    assert.deepEqual(io.notes, { payment_method: "pm_1Nabc", customer: "cus_Nff" });
  });

  test("the widget, and a project with `moto` off, send no MOTO flag; a missing code and ZIP are left out", async () => {
    for (const [order, options] of [
      [{ channel: "widget" as const }, { moto: true }],
      [{}, { moto: false }],
    ] as const) {
      const io = ioWith(() => answered(200, PAID), { options });
      await stripe.charge(orderOf({ ...order, card: cardOf("4242424242424242", { cvv: "", zip: null }) }), io);
      assert.ok(io.sent.every(({ body }) => !body.includes("moto") && !body.includes("cvc") && !body.includes("postal_code")));
    }
  });

  test("platform mode names the connected account on every call, and a session with one needs it", async () => {
    const order = orderOf({ connectedAccount: "acct_1Ab" });
    const io = ioWith(() => answered(200, PAID), { options: { platform: true } });
    assert.equal((await stripe.charge(order, io)).outcome, "approved");
    assert.ok(io.sent.length > 1 && io.sent.every(({ request }) => request.headers["Stripe-Account"] === "acct_1Ab"));
    const without = ioWith(() => answered(200, PAID));
    const outcome = await stripe.charge(order, without);
    assert.equal(outcome.outcome === "declined" && outcome.code, "gateway_misconfigured");
    assert.equal(without.sent.length, 0);
  });

  test("ISK and UGX are counted in hundredths at Stripe, JPY and MGA in whole ones", async () => {
    for (const [currency, amountMinor, sent] of [
      ["ISK", 500, 50_000],
      ["UGX", 700, 70_000],
      ["JPY", 500, 500],
      ["MGA", 50_000, 500],
      ["BHD", 5000, 5000],
    ] as const) {
      const io = ioWith(() => answered(200, { ...PAID, currency: currency.toLowerCase(), amount_received: sent }));
      assert.equal((await stripe.charge(orderOf({ currency, amountMinor }), io)).outcome, "approved");
      assert.match(io.sent[1]?.body ?? "", new RegExp(`^amount=${sent}&currency=${currency.toLowerCase()}&`));
    }
  });

  test("parts of a currency that Stripe does not count are refused before anything is sent; it rounds nothing", async () => {
    for (const currency of ["KWD", "BHD", "TND", "MGA"]) {
      const io = ioWith(() => answered(200, PAID));
      const outcome = await stripe.charge(orderOf({ currency, amountMinor: 1_255 }), io);
      assert.equal(outcome.outcome === "declined" && outcome.code, "gateway_misconfigured");
      assert.equal(io.sent.length, 0);
    }
  });

  test("the last Request-Id is kept for the operator, whatever the outcome", async () => {
    const approved = await charge(() => answered(200, PAID, { "request-id": "req_1" }));
    const refused = await charge(() => answered(402, cardError("card_declined"), { "request-id": "req_2" }));
    const lost = await charge(() => answered(500, {}, { "request-id": "req_\u00003" }));
    assert.deepEqual([approved.supportId, refused.supportId, lost.supportId], ["req_1", "req_2", undefined]);
  });

  test("a step before the charge that 409 and 424 refuse to the end is gateway_unavailable", async () => {
    for (const status of [409, 424]) {
      const io = testIo(settings, () => Promise.resolve(answered(status, { error: { type: "api_error", message: "later" } })));
      const outcome = await stripe.charge(orderOf(), io);
      assert.deepEqual([outcome.outcome === "declined" && outcome.code, io.sent.length], ["gateway_unavailable", 5]);
    }
  });

  test("keys are checked when they are saved: publishable, malformed and the other environment's are named", () => {
    const fault = (key: string, environment: "test" | "live") =>
      stripe.checkSettings({ ...settings, environment, credentials: { secret_key: new Secret(key) } });
    assert.equal(fault("sk_test_x", "test"), null);
    assert.equal(fault("rk_live_x", "live"), null);
    assert.match(fault("pk_test_x", "test") ?? "", /publishable/);
    assert.match(fault("sk_live_x", "test") ?? "", /live key, but these are the test settings/);
    assert.match(fault("sk_test_x", "live") ?? "", /test key, but these are the live settings/);
    assert.match(fault("sk_test_x\r\nX: y", "test") ?? "", /not a Stripe secret key/);
    assert.match(stripe.checkSettings({ ...settings, credentials: {} }) ?? "", /secret_key is missing/);
  });
});

/** The sheet's section 6, row by row. */
const MAPPING: readonly (readonly [ours: string, codes: string])[] = [
  [
    "card_declined",
    "generic_decline card_declined revocation_of_authorization revocation_of_all_authorizations stop_payment_order new_account_information_available something_new",
  ],
  [
    "do_not_honor",
    "do_not_honor call_issuer no_action_taken do_not_try_again try_again_later not_permitted service_not_allowed approve_with_id",
  ],
  ["insufficient_funds", "insufficient_funds"],
  [
    "limit_exceeded",
    "withdrawal_count_limit_exceeded card_velocity_exceeded card_decline_rate_limit_exceeded payment_intent_rate_limit_exceeded",
  ],
  ["expired_card", "expired_card expired_payment_method"],
  ["incorrect_number", "incorrect_number invalid_number invalid_account testmode_decline live_mode_test_card test_mode_live_card"],
  ["incorrect_cvc", "incorrect_cvc invalid_cvc"],
  ["incorrect_zip", "incorrect_zip incorrect_postal_code incorrect_address postal_code_invalid"],
  ["invalid_expiry", "invalid_expiry_month invalid_expiry_year"],
  ["card_not_supported", "card_not_supported currency_not_supported transaction_not_allowed invalid_card_type payment_method_restricted"],
  ["lost_or_stolen", "lost_card stolen_card pickup_card restricted_card"],
  ["fraud_suspected", "fraudulent merchant_blacklist security_violation request_blocked"],
  [
    "authentication_required",
    "authentication_required authentication_failure authentication_not_handled payment_intent_authentication_failure",
  ],
  ["duplicate_transaction", "duplicate_transaction"],
  ["processing_error", "processing_error issuer_not_available reenter_transaction invalid_amount"],
];

describe("stripe responses", () => {
  for (const [ours, codes] of MAPPING) {
    test(`${ours}: every code of the sheet, as code and as decline_code (R-417)`, async () => {
      for (const code of codes.split(" ")) {
        for (const body of [cardError(code), cardError("card_declined", code)]) {
          const outcome = await charge(() => answered(402, body));
          assert.equal(outcome.outcome === "declined" && outcome.code, ours, code);
        }
      }
    });
  }

  const REFUSED: readonly (readonly [status: number, error: object, ours: string])[] = [
    [401, { type: "invalid_request_error", message: "Invalid API Key provided: sk_test_*******MPLE" }, "gateway_credentials_invalid"],
    [401, { type: "invalid_request_error", code: "platform_api_key_expired" }, "gateway_credentials_invalid"],
    [400, { type: "invalid_request_error", code: "secret_key_required" }, "gateway_credentials_invalid"],
    [403, { type: "invalid_request_error", code: "account_invalid", message: "no access" }, "gateway_misconfigured"],
    [
      400,
      { type: "invalid_request_error", code: "parameter_unknown", param: "payment_method_options[card][moto]" },
      "gateway_misconfigured",
    ],
    [404, { type: "invalid_request_error", code: "resource_missing" }, "gateway_misconfigured"],
    [400, { type: "invalid_request_error", code: "amount_too_small" }, "gateway_misconfigured"],
    [400, { type: "idempotency_error", message: "Keys for idempotent requests..." }, "gateway_misconfigured"],
    [
      400,
      { type: "invalid_request_error", message: "Sending credit card numbers directly to the Stripe API is generally unsafe. ..." },
      "gateway_misconfigured",
    ],
    [
      402,
      { type: "invalid_request_error", message: "Sending credit card numbers directly to the Stripe API is generally unsafe. ..." },
      "gateway_misconfigured",
    ],
    [
      402,
      {
        type: "card_error",
        message: "This payment required an authentication action to complete, but `error_on_requires_action` was set.",
      },
      "authentication_required",
    ],
    [429, { type: "invalid_request_error", code: "rate_limit" }, "gateway_unavailable"],
  ];
  for (const [index, [status, error, ours]] of REFUSED.entries()) {
    test(`refusal ${index + 1}: status ${status} is ${ours} (R-417)`, async () => {
      const outcome = await charge(() => answered(status, { error }));
      assert.equal(outcome.outcome === "declined" && outcome.code, ours);
    });
  }

  test("a refusal for want of a switch names it: raw card data, or MOTO and the option that does without it", async () => {
    const refusal = async (error: object) => {
      const outcome = await charge(() => answered(400, { error: { type: "invalid_request_error", ...error } }));
      return outcome.outcome === "declined" && `${outcome.code}: ${outcome.reason ?? ""}`;
    };
    assert.match(
      (await refusal({ message: "Sending credit card numbers directly to the Stripe API is generally unsafe." })) || "",
      /misconf.*raw card/,
    );
    assert.match(
      (await refusal({ code: "parameter_unknown", param: "payment_method_options[card][moto]" })) || "",
      /misconf.*set moto to false/,
    );
    assert.match((await refusal({ message: "Your account cannot use `moto`." })) || "", /misconf.*set moto to false/);
    assert.match((await refusal({ code: "amount_too_small", message: "Too small." })) || "", /misconfigured: $/);
  });

  test("a decline keeps the ids of the refused payment; its words lose long digit runs and end at 255 (R-423, R-436)", async () => {
    const error = {
      type: "card_error",
      code: "card_declined",
      message: `Card 4242 4242 4242 4242 and 4242424242424242 refused\u0007. ${"x".repeat(900)}`,
      charge: "ch_3Nx",
      payment_intent: { id: "pi_3Nx", object: "payment_intent", status: "requires_payment_method", latest_charge: "ch_3Nx" },
    };
    const outcome = await charge(() => answered(402, { error }));
    assert.ok(outcome.outcome === "declined");
    assert.deepEqual(outcome.processor, { stripe_payment_intent_id: "pi_3Nx", stripe_charge_id: "ch_3Nx" });
    assert.equal(outcome.message?.length, 255);
    assert.ok(!/\d/.test(outcome.message) && !outcome.message.includes("\u0007"));
  });

  test("held for review succeeds; a charge that was not expanded still gives its id; a long receipt is dropped", async () => {
    const review = {
      ...PAID,
      latest_charge: { id: "ch_1", outcome: { type: "manual_review" }, receipt_url: `https://x/${"y".repeat(255)}` },
    };
    for (const intent of [review, { ...PAID, latest_charge: "ch_1" }]) {
      const outcome = await charge(() => answered(200, intent));
      assert.deepEqual(outcome.outcome === "approved" && outcome.processor, {
        stripe_payment_intent_id: "pi_3Nx",
        stripe_charge_id: "ch_1",
      });
    }
  });

  test("a held authorization is reported as authorized", async () => {
    const outcome = await charge(() => answered(200, { ...PAID, status: "requires_capture", amount_received: 0, amount_capturable: 4995 }));
    assert.equal(outcome.outcome === "approved" && outcome.capture, "authorized");
  });

  test("a demand for authentication is cancelled and declined, also when storing a card", async () => {
    for (const mode of ["charge", "tokenize"] as const) {
      const intent = mode === "charge" ? PAID : STORED;
      const io = ioWith(() => answered(200, { ...intent, status: "requires_action" }));
      const outcome = await stripe[mode](orderOf({ mode }), io);
      assert.equal(outcome.outcome === "declined" && outcome.code, "authentication_required");
      assert.equal(io.sent.filter(({ request }) => request.url.endsWith(`/v1/${intent.object}s/${intent.id}/cancel`)).length, 1);
    }
  });

  test("a refused tokenization leaves no empty customer behind", async () => {
    const io = ioWith(() => answered(402, cardError("card_declined", "insufficient_funds")));
    const outcome = await stripe.tokenize(orderOf({ mode: "tokenize" }), io);
    assert.equal(outcome.outcome === "declined" && outcome.code, "insufficient_funds");
    assert.equal(io.sent.at(-1)?.request.method, "DELETE");
    assert.equal(io.sent.at(-1)?.request.url, "https://api.stripe.com/v1/customers/cus_Nff");
    assert.equal(outcome.reason, undefined);
  });

  test("a customer that could not be removed after a refused tokenization is told to the operator, and the refusal stays what it is", async () => {
    for (const removal of [LOST, NOT_SENT, answered(500, ""), answered(403, { error: { type: "invalid_request_error" } })]) {
      const io = ioWith(() => answered(402, cardError("card_declined", "insufficient_funds")), {}, undefined, removal);
      const outcome = await stripe.tokenize(orderOf({ mode: "tokenize" }), io);
      assert.equal(outcome.outcome === "declined" && outcome.code, "insufficient_funds");
      assert.equal(outcome.reason, "a customer without a card is left at Stripe: it could not be removed");
    }
    const gone = ioWith(
      () => answered(402, cardError("card_declined")),
      {},
      undefined,
      answered(404, { error: { code: "resource_missing" } }),
    );
    assert.equal((await stripe.tokenize(orderOf({ mode: "tokenize" }), gone)).reason, undefined);
  });

  test("a payment in process is read again until it is settled, and is unknown when the deadline comes first", async () => {
    const processing = answered(200, { ...PAID, status: "processing" });
    assert.equal((await charge((_request, money) => (money < 4 ? processing : answered(200, PAID)))).outcome, "approved");
    const io = ioWith(() => processing);
    assert.equal((await stripe.charge(orderOf(), io)).outcome, "unknown");
    assert.equal(io.notes["payment_intent"], "pi_3Nx");
  });
});

describe("stripe, lost answers", () => {
  test("the same bytes are sent again with the same key at 1, 2, 4 and 8 s, and the replay is the outcome", async () => {
    const io = ioWith((_request, money) => (money < 5 ? LOST : answered(200, PAID)));
    assert.equal((await stripe.charge(orderOf(), io)).outcome, "approved");
    const payments = io.sent.slice(1);
    assert.equal(payments.length, 5);
    assert.equal(new Set(payments.map(({ body }) => body)).size, 1);
    assert.equal(new Set(payments.map(({ request }) => request.headers["Idempotency-Key"])).size, 1);
    assert.equal(io.clock.monotonic(), 15_000);
  });

  test("the card's own request is rebuilt for each try although its body was wiped", async () => {
    let tries = 0;
    const io = testIo(settings, (request) => {
      if (request.url.endsWith("/v1/payment_methods")) return Promise.resolve(++tries < 3 ? LOST : answered(200, PAYMENT_METHOD));
      return Promise.resolve(answered(200, PAID));
    });
    assert.equal((await stripe.charge(orderOf(), io)).outcome, "approved");
    assert.ok(io.sent.slice(0, 3).every(({ body }) => body.includes("card%5Bnumber%5D=4242424242424242")));
  });

  test("an answer that never comes is unknown; one that was never sent is not", async () => {
    assert.equal((await charge(() => LOST)).outcome, "unknown");
    const unsent = await charge(() => NOT_SENT);
    assert.equal(unsent.outcome === "declined" && unsent.code, "gateway_unavailable");
    const mixed = await charge((_request, money) => (money === 2 ? LOST : NOT_SENT));
    assert.equal(mixed.outcome, "unknown");
  });

  test("after a lost answer only what Stripe keeps under the key is believed", async () => {
    const refusals = [
      [400, "idempotency_error"],
      [401, "api_key_expired"],
      [403, "account_invalid"],
      [404, "resource_missing"],
    ] as const;
    for (const [status, code] of refusals) {
      const outcome = await charge((_request, money) =>
        money === 1 ? LOST : answered(status, { error: { type: "invalid_request_error", code } }),
      );
      assert.equal(outcome.outcome, "unknown", String(status));
    }
    const declined = await charge((_request, money) => (money === 1 ? LOST : answered(402, cardError("card_declined"))));
    assert.equal(declined.outcome, "declined");
  });

  test("Stripe's own advice on retrying comes first", async () => {
    for (const [advice, status, tries] of [
      ["true", 402, 5],
      ["false", 500, 1],
      ["false", 409, 1],
    ] as const) {
      const io = ioWith(() => answered(status, cardError("card_declined"), { "stripe-should-retry": advice }));
      await stripe.charge(orderOf(), io);
      assert.equal(io.sent.length - 1, tries, `${advice} ${status}`);
    }
  });

  test("409, 424 and 5xx are tried again and end unknown; 429 ends as unavailable because nothing ran", async () => {
    for (const status of [409, 424, 500, 502, 503, 504]) {
      const io = ioWith(() => answered(status, { error: { type: "api_error", message: "x" } }));
      assert.equal((await stripe.charge(orderOf(), io)).outcome, "unknown", String(status));
      assert.equal(io.sent.length, 6);
    }
    const limited = await charge(() => answered(429, { error: { type: "invalid_request_error", code: "rate_limit" } }));
    assert.equal(limited.outcome === "declined" && limited.code, "gateway_unavailable");
  });

  test("a status that says nothing about the payment is no refusal, even where Stripe advises against a retry", async () => {
    for (const status of [408, 409, 410, 424, 425, 500]) {
      const error = { type: "api_error", code: "card_declined", message: "x" };
      const outcome = await charge(() => answered(status, { error }, { "stripe-should-retry": "false" }));
      assert.equal(outcome.outcome, "unknown", String(status));
      const io = testIo(settings, () => Promise.resolve(answered(status, { error }, { "stripe-should-retry": "false" })));
      const before = await stripe.charge(orderOf(), io);
      assert.deepEqual([before.outcome === "declined" && before.code, io.sent.length], ["gateway_unavailable", 1], String(status));
    }
  });

  test("an intent that could still take money is refused once it is cancelled, and unknown before", async () => {
    const cases = [
      ["requires_action", answered(200, { ...PAID, status: "canceled" }), "declined"],
      ["requires_action", LOST, "unknown"],
      ["requires_confirmation", answered(409, { error: { type: "invalid_request_error", code: "lock_timeout" } }), "unknown"],
      ["requires_confirmation", answered(200, { ...PAID, status: "succeeded" }), "unknown"],
      ["requires_payment_method", LOST, "declined"],
    ] as const;
    for (const [status, cancelled, outcome] of cases) {
      const io = testIo(settings, ({ url }) =>
        Promise.resolve(
          url.endsWith("/cancel")
            ? cancelled
            : answered(200, {
                object: "list",
                has_more: false,
                data: [{ ...PAID, status, last_payment_error: { code: "card_declined" } }],
              }),
        ),
      );
      assert.equal((await stripe.lookUp!(traceOf(orderOf()), io)).outcome, outcome, status);
    }
  });

  test("a refund that Stripe says has failed sends nothing back; of what was refunded before nothing is left", async () => {
    const refund = (status: string) => answered(200, { id: "re_1", object: "refund", status });
    const no = (code: string) => answered(400, { error: { type: "invalid_request_error", code } });
    for (const [answer, outcome] of [
      [refund("succeeded"), "voided"],
      [refund("pending"), "voided"],
      [refund("failed"), "unknown"],
      [refund("canceled"), "unknown"],
      [refund("requires_action"), "unknown"],
      [no("charge_already_refunded"), "voided"],
      [no("charge_disputed"), "unknown"],
    ] as const) {
      const io = testIo(settings, ({ url }) =>
        Promise.resolve(url.endsWith("/v1/refunds") ? answer : answered(200, { object: "list", has_more: false, data: [PAID] })),
      );
      assert.equal((await stripe.void!(traceOf(orderOf()), io)).outcome, outcome, JSON.stringify(answer));
    }
  });

  test("a refund that was answered and not made is asked for under another key: for a day its own would be answered the same (R-422)", async () => {
    const notes: Record<string, string> = {};
    const keys = async (answer: GatewayAnswer) => {
      const io = testIo(settings, ({ url }) =>
        Promise.resolve(url.endsWith("/v1/refunds") ? answer : answered(200, { object: "list", has_more: false, data: [PAID] })),
      );
      const { outcome } = await stripe.void!(traceOf(orderOf(), { ...notes }), io);
      Object.assign(notes, io.notes);
      return [outcome, ...new Set(io.sent.slice(1).map(({ request }) => request.headers["Idempotency-Key"]))];
    };
    assert.deepEqual(await keys(LOST), ["unknown", `${SESSION}-refund-1`]);
    assert.deepEqual(await keys(answered(500, { error: { type: "api_error" } })), ["unknown", `${SESSION}-refund-1`]);
    assert.deepEqual(await keys(answered(200, { id: "re_1", object: "refund", status: "failed" })), ["unknown", `${SESSION}-refund1-1`]);
    assert.deepEqual(await keys(answered(200, { id: "re_2", object: "refund", status: "succeeded" })), ["voided", `${SESSION}-refund2-1`]);
  });

  test("an intent whose cancellation was answered with a fault is cancelled under another key the next time", async () => {
    const keys = new Set<string | undefined>();
    const io = testIo(settings, ({ url, headers }) => {
      const isCancel = url.endsWith("/cancel");
      if (isCancel) keys.add(headers["Idempotency-Key"]);
      const waiting = { ...PAID, status: "requires_action" };
      return Promise.resolve(isCancel ? answered(500, { error: {} }) : answered(200, { object: "list", has_more: false, data: [waiting] }));
    });
    for (let round = 0; round < 2; round++) assert.equal((await stripe.lookUp!(traceOf(orderOf()), io)).outcome, "unknown");
    assert.equal(keys.size, 2);
  });

  test("a payment that was refunded whole is taken back, whoever did it", async () => {
    const found = (charge: object) =>
      stripe.lookUp!(
        traceOf(orderOf()),
        ioWith(() =>
          answered(200, { object: "list", has_more: false, data: [{ ...PAID, latest_charge: { ...PAID.latest_charge, ...charge } }] }),
        ),
      );
    assert.partialDeepStrictEqual(await found({ refunded: true, amount_refunded: 4995 }), {
      outcome: "declined",
      code: "processing_error",
    });
    assert.equal((await found({ refunded: false, amount_refunded: 100 })).outcome, "approved");
  });

  test("no try begins past the deadline", async () => {
    const io = ioWith(() => LOST, {}, 4_000);
    assert.equal((await stripe.charge(orderOf(), io)).outcome, "unknown");
    assert.equal(io.sent.length - 1, 3);
  });
});

describe("stripe look-up", () => {
  const list = (items: object[], more = false) =>
    answered(200, { object: "list", url: "/v1/payment_intents", has_more: more, data: items });
  const lookUp = (script: Script, notes = {}) => stripe.lookUp!(traceOf(orderOf(), notes, 1_795_000_000_000), ioWith(script));

  test("a payment is found where the vendor's clock is minutes from the database's, one way or the other (R-288)", async () => {
    const began = 1_795_000_000_000;
    for (const apartS of [-840, 0, 840]) {
      const created = began / 1000 + apartS;
      const io = ioWith(({ url }) => {
        const bound = (name: string) => Number(new URL(url).searchParams.get(`created[${name}]`));
        return list(created >= bound("gte") && created <= bound("lte") ? [{ ...PAID, created }] : []);
      });
      assert.equal((await stripe.lookUp!(traceOf(orderOf(), {}, began), io)).outcome, "approved", String(apartS));
    }
  });

  test("asks for the intents made while the attempt ran", async () => {
    const io = ioWith(() => list([]));
    assert.deepEqual(await stripe.lookUp!(traceOf(orderOf(), {}, 1_795_000_000_000), io), { outcome: "absent" });
    assert.equal(
      io.sent[0]?.request.url,
      "https://api.stripe.com/v1/payment_intents?created%5Bgte%5D=1794999100&created%5Blte%5D=1795000960&limit=100&expand%5B%5D=data.latest_charge",
    );
    assert.equal(io.sent[0]?.request.headers["Idempotency-Key"], undefined);
  });

  test("only this session and this attempt match", async () => {
    const other = { ...PAID, metadata: { session_id: SESSION, attempt: "2" } };
    assert.equal((await lookUp(() => list([other]))).outcome, "absent");
    assert.equal((await lookUp(() => list([other, PAID]))).outcome, "approved");
    assert.equal((await lookUp(() => list([PAID, { ...PAID, id: "pi_4" }]))).outcome, "unknown");
  });

  test("goes through all pages, and gives up rather than guess when there are too many", async () => {
    const other = (id: string) => ({ ...PAID, id, metadata: {} });
    const io = ioWith((request) => (request.url.includes("starting_after=pi_1") ? list([PAID]) : list([other("pi_1")], true)));
    assert.equal((await stripe.lookUp!(traceOf(orderOf()), io)).outcome, "approved");
    assert.equal((await lookUp((_request, money) => list([other(`pi_${money}`)], true))).outcome, "unknown");
  });

  test("declined, unfinished and unreadable ones are told apart", async () => {
    const failed = {
      ...PAID,
      status: "requires_payment_method",
      last_payment_error: { code: "card_declined", decline_code: "lost_card", type: "card_error" },
    };
    const declined = await lookUp(() => list([failed]));
    assert.equal(declined.outcome === "declined" && declined.code, "lost_or_stolen");
    assert.equal((await lookUp(() => list([{ ...PAID, status: "processing" }]))).outcome, "pending");
    assert.equal((await lookUp(() => list([{ ...PAID, amount_received: 1 }]))).outcome, "unknown");
    assert.equal((await lookUp(() => LOST)).outcome, "unknown");
    assert.equal((await lookUp(() => answered(401, { error: {} }))).outcome, "unknown");
    assert.equal((await lookUp(() => answered(200, { object: "list", data: [] }))).outcome, "unknown");
  });

  test("an intent that was noted is read by its id", async () => {
    const io = ioWith(() => answered(200, PAID));
    assert.equal((await stripe.lookUp!(traceOf(orderOf(), { payment_intent: "pi_3Nx" }), io)).outcome, "approved");
    assert.equal(io.sent[0]?.request.url, "https://api.stripe.com/v1/payment_intents/pi_3Nx?expand%5B%5D=latest_charge");
  });
});

describe("stripe never takes an odd answer for a success (R-422)", () => {
  const ODD: readonly (readonly [name: string, answer: GatewayAnswer])[] = [
    ["HTML", answered(200, "<html>OK</html>")],
    ["an empty body", answered(200, "")],
    ["a truncated body", answered(200, JSON.stringify(PAID).slice(0, -1))],
    ["an array", answered(200, [PAID])],
    ["an error with status 200", answered(200, { ...PAID, error: { code: "x" } })],
    ["a duplicate key", answered(200, JSON.stringify(PAID).replace("{", '{"status":"canceled",'))],
    [
      "invalid UTF-8",
      { kind: "answered", status: 200, headers: {}, body: Buffer.concat([Buffer.from(JSON.stringify(PAID)), Buffer.from([0xff])]) },
    ],
    [
      "an error about a payment that succeeded",
      answered(402, { error: { type: "card_error", code: "card_declined", payment_intent: PAID } }),
    ],
    ["another status than 200", answered(201, PAID)],
    ["a redirect", answered(302, PAID)],
  ];
  for (const [name, answer] of ODD) {
    test(`${name} is unknown`, async () => {
      assert.equal((await charge(() => answer)).outcome, "unknown");
    });
  }

  const MEMBERS = ["id", "object", "status", "amount_received", "currency", "latest_charge"] as const;
  test("any member replaced by any other JSON value is never approved", async () => {
    const property = fc.asyncProperty(fc.constantFrom(...MEMBERS), fc.jsonValue(), async (member, value) => {
      fc.pre(JSON.stringify(value) !== JSON.stringify(PAID[member]));
      assert.notEqual((await charge(() => answered(200, { ...PAID, [member]: value }))).outcome, "approved");
    });
    await fc.assert(property, { numRuns: 300 });
  });

  test("any bytes and any JSON with any status are never approved, in either mode", async () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
    );
    const property = fc.asyncProperty(fc.integer({ min: 100, max: 599 }), bodies, fc.boolean(), async (status, body, first) => {
      const answer: GatewayAnswer = { kind: "answered", status, headers: {}, body };
      for (const mode of ["charge", "tokenize"] as const) {
        const io = first ? testIo(settings, () => Promise.resolve(answer)) : ioWith(() => answer);
        assert.notEqual((await stripe[mode](orderOf({ mode }), io)).outcome, "approved");
        const found = await stripe.lookUp!(traceOf(orderOf({ mode })), io);
        assert.notEqual(found.outcome, "approved");
      }
    });
    await fc.assert(property, { numRuns: 200 });
  });
});
