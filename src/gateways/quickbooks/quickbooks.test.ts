import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewayRequest, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { requestId } from "./requests.ts";

const quickbooks = GATEWAYS_BUILT.quickbooks!;
const settings = settingsOf(quickbooks);
const ID = requestId(orderOf());
const CHARGES = "/quickbooks/v4/payments/charges";

const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const TOKENS = {
  token_type: "bearer",
  access_token: "eyJ-1",
  expires_in: 3600,
  refresh_token: "RT1-next",
  x_refresh_token_expires_in: 8_719_040,
};
const PAID = {
  created: "2026-10-17T15:40:44Z",
  status: "CAPTURED",
  amount: "49.95",
  currency: "USD",
  card: { number: "xxxxxxxxxxxx4242", cardType: "Visa" },
  id: "ES2Q849Y8KQ9",
  authCode: "574943",
};
const errors = (code: string, message = "No.", detail?: string, status = 400) =>
  answered(status, { errors: [{ code, type: "t", message, detail, infoLink: "https://developer.intuit.com/x" }] });
const EXPIRED = answered(401, { code: "AuthenticationFailed", type: "INPUT", message: null, detail: null, moreInfo: null });

type Script = (request: GatewayRequest, count: number) => GatewayAnswer;

/** An io against a scripted vendor: the token endpoint gives a new pair each time, `script` answers the rest. */
function ioWith(script: Script, refresh: Script = (_request, count) => answered(200, { ...TOKENS, access_token: `eyJ-${count}` })) {
  const counts = { token: 0, other: 0 };
  return testIo(settings, (request) => {
    const isToken = request.url.endsWith("/oauth2/v1/tokens/bearer");
    return Promise.resolve(isToken ? refresh(request, ++counts.token) : script(request, ++counts.other));
  });
}
const charge = (script: Script, order: Partial<Order> = {}): Promise<Outcome> => quickbooks.charge(orderOf(order), ioWith(script));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const pathsOf = (io: ReturnType<typeof ioWith>) => io.sent.map(({ request }) => `${request.method} ${new URL(request.url).pathname}`);

describe("quickbooks requests", () => {
  test("a charge is a refresh at Intuit's other host and one request under a Request-Id", async () => {
    const io = ioWith(() => answered(201, PAID));
    const outcome = await quickbooks.charge(orderOf({ card: cardOf("4242424242424242", { year: "2030", name: "Jane Smith" }) }), io);
    assert.deepEqual(outcome, {
      outcome: "approved",
      capture: "captured",
      processor: { quickbooks_charge_id: "ES2Q849Y8KQ9" },
      webhookProcessor: { auth_code: "574943", response_code: "CAPTURED" },
    });
    const [refresh, sale] = io.sent;
    assert.equal(refresh?.request.url, "https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer");
    assert.equal(refresh.request.headers["Authorization"], `Basic ${Buffer.from("ABsimulator:simulatorsClientSecret").toString("base64")}`);
    assert.equal(refresh.body, "grant_type=refresh_token&refresh_token=RT1-simulator");
    assert.equal(sale?.request.url, `https://sandbox.api.intuit.com${CHARGES}`);
    assert.deepEqual(sale.request.headers, {
      "Content-Type": "application/json",
      Accept: "application/json",
      Authorization: "Bearer eyJ-1",
      "Request-Id": ID,
    });
    assert.equal(
      sale.body,
      '{"amount":"49.95","currency":"USD","capture":true,"description":"Invoice 1001",' +
        '"card":{"number":"4242424242424242","expMonth":"03","expYear":"2030","cvc":"123","name":"Jane Smith","address":{"postalCode":"44628"}},' +
        '"context":{"mobile":false,"isEcommerce":false}}',
    );
  });

  test("an empty field is never sent, and the widget is known by isEcommerce", async () => {
    const io = ioWith(() => answered(201, PAID));
    const card = cardOf("4242424242424242", { cvv: "", zip: null });
    await quickbooks.charge(orderOf({ channel: "widget", description: " ", card }), io);
    assert.ok(io.sent[1]!.body.includes('"isEcommerce":true') && !/cvc|address|name|description|""/.test(io.sent[1]!.body));
  });

  test("other currencies are refused before anything is sent", async () => {
    const io = ioWith(() => answered(201, PAID));
    assert.equal(codeOf(await quickbooks.charge(orderOf({ currency: "CAD" }), io)), "gateway_misconfigured");
    assert.equal(io.sent.length, 0);
  });

  test("each attempt has a Request-Id and a customer of its own, and every step another Request-Id", async () => {
    const ids = ["", "-void", "-refund"].flatMap((step) => [1, 2].map((attempt) => requestId(orderOf({ attempt }), step)));
    assert.ok(new Set(ids).size === 6 && ids.every((id) => id.length <= 50));
    const io = ioWith(() => answered(201, { id: "1089000123456" }));
    const outcome = await quickbooks.tokenize(orderOf({ mode: "tokenize", attempt: 2 }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { quickbooks_card_id: "1089000123456" });
    assert.equal(pathsOf(io)[1], `POST /quickbooks/v4/customers/${orderOf().sessionId.replaceAll("-", "")}-2/cards`);
  });
});

describe("quickbooks, tokens", () => {
  test("the new refresh token is kept before the access token is used", async () => {
    const steps: string[] = [];
    const io = ioWith(() => {
      steps.push("charged");
      return answered(201, PAID);
    });
    io.rotateCredentials = async (change) => {
      const kept = await change({ refresh_token: new Secret("RT1-newest") });
      steps.push(`kept ${kept?.["refresh_token"]?.reveal()}`);
      return kept!;
    };
    assert.equal((await quickbooks.charge(orderOf(), io)).outcome, "approved");
    assert.deepEqual(steps, ["kept RT1-next", "charged"]);
    assert.match(io.sent[0]!.body, /refresh_token=RT1-newest/);
  });

  test("credentials that could not be kept are not used: nothing is charged", async () => {
    const io = ioWith(() => answered(201, PAID));
    io.rotateCredentials = async (change) => {
      await change({});
      throw new Error("the database is gone");
    };
    assert.equal(codeOf(await quickbooks.charge(orderOf(), io)), "gateway_unavailable");
    assert.equal(io.sent.length, 1);
  });

  test("an access token that Intuit no longer takes is renewed once, under the same Request-Id", async () => {
    const io = ioWith((request) => (request.headers["Authorization"] === "Bearer eyJ-1" ? EXPIRED : answered(201, PAID)));
    assert.equal((await quickbooks.charge(orderOf(), io)).outcome, "approved");
    const sales = io.sent.filter(({ request }) => request.url.endsWith("/charges"));
    assert.deepEqual(
      sales.map(({ request }) => [request.headers["Authorization"], request.headers["Request-Id"]]),
      [
        ["Bearer eyJ-1", ID],
        ["Bearer eyJ-2", ID],
      ],
    );
    const refused = ioWith(() => EXPIRED);
    assert.equal(codeOf(await quickbooks.charge(orderOf(), refused)), "gateway_credentials_invalid");
    assert.equal(refused.sent.filter(({ request }) => request.url.endsWith("/charges")).length, 2);
  });

  test("a refresh that is refused or lost charges nothing and says why", async () => {
    const cases: readonly (readonly [GatewayAnswer, string])[] = [
      [answered(400, { error: "invalid_grant" }), "gateway_credentials_invalid"],
      [answered(401, { error: "invalid_client" }), "gateway_credentials_invalid"],
      [answered(503, ""), "gateway_unavailable"],
      [LOST, "gateway_unavailable"],
      [answered(200, { ...TOKENS, refresh_token: undefined }), "gateway_unavailable"],
    ];
    for (const [answer, code] of cases) {
      const io = ioWith(
        () => answered(201, PAID),
        () => answer,
      );
      assert.equal(codeOf(await quickbooks.charge(orderOf(), io)), code);
      assert.equal(io.sent.length, 1);
    }
  });
});

/** Intuit's error codes in our words. */
const CODES: readonly (readonly [ours: string, code: string, message?: string, detail?: string])[] = [
  ["card_declined", "PMT-5000", "The request to process this transaction has been declined."],
  ["insufficient_funds", "PMT-5000", "Declined: insufficient funds."],
  ["expired_card", "PMT-5000", "Declined: expired card."],
  ["card_not_supported", "PMT-5001"],
  ["incorrect_cvc", "PMT-2000"],
  ["incorrect_cvc", "PMT-2001"],
  ["incorrect_zip", "PMT-2002"],
  ["incorrect_zip", "PMT-2003"],
  ["fraud_suspected", "PMT-2999"],
  ["incorrect_number", "PMT-4000", "card.number is invalid.", "card.number"],
  ["incorrect_number", "PMT-4000", "The card number is invalid."],
  ["gateway_credentials_invalid", "AuthorizationFailed"],
  ["invalid_expiry", "PMT-4000", "card.expMonth is invalid.", "card.expMonth"],
  ["invalid_expiry", "PMT-4000", "Invalid.", "expYear"],
  ["incorrect_cvc", "PMT-4000", "card.cvc is invalid.", "card.cvc"],
  ["incorrect_zip", "PMT-4000", "card.address.postalCode is invalid.", "card.address.postalCode"],
  ["gateway_misconfigured", "PMT-4000", "Amount.", "Amount."],
  ["card_declined", "PMT-4000", "the request to process this transaction has been declined.", "Amount."],
  ["gateway_misconfigured", "PMT-4001"],
  ["gateway_misconfigured", "PMT-3000"],
  ["unknown", "PMT-7000"],
  // Codes of five digits are of none of the ranges.
  ["unknown", "PMT-10305", "No records found."],
  ["unknown", "PMT-20305"],
  ["unknown", "PMT-40305", "card.number is invalid.", "card.number"],
  ["unknown", "PMT-500"],
  ["unknown", "constructor"],
];

describe("quickbooks responses", () => {
  for (const [ours, code, message, detail] of CODES) {
    test(`${code} ${detail ?? message ?? ""} is ${ours} (R-417)`, async () => {
      assert.equal(codeOf(await charge(() => errors(code, message, detail))), ours);
      const store = ioWith(() => errors(code, message, detail));
      assert.equal(codeOf(await quickbooks.tokenize(orderOf({ mode: "tokenize" }), store)), ours);
    });
  }

  test("an error that comes with 201 is the same refusal; with a charge beside it, or without sense, it is unknown", async () => {
    for (const [code, ours] of [
      ["PMT-5000", "card_declined"],
      ["PMT-2000", "incorrect_cvc"],
      ["PMT-2999", "fraud_suspected"],
    ] as const)
      assert.equal(codeOf(await charge(() => errors(code, "No.", undefined, 201))), ours);
    assert.equal(codeOf(await charge(() => answered(201, { ...PAID, errors: [{ code: "PMT-5000" }] }))), "unknown");
    assert.equal(codeOf(await charge((_request, count) => (count === 1 ? LOST : errors("PMT-4000", "No.", undefined, 201)))), "unknown");
    const store = ioWith(() => answered(201, { id: "1089", errors: [{ code: "PMT-5000" }] }));
    assert.notEqual((await quickbooks.tokenize(orderOf({ mode: "tokenize" }), store)).outcome, "approved");
  });

  test("keys that may not charge are refused whatever the body says, and the request is not repeated for it", async () => {
    for (const body of ["<html>", "", { code: "AuthorizationFailed" }, { code: "ApplicationAuthorizationFailed" }]) {
      const io = ioWith(() => answered(403, body));
      assert.equal(codeOf(await quickbooks.charge(orderOf(), io)), "gateway_credentials_invalid");
      assert.equal(io.sent.filter(({ request }) => request.url.endsWith("/charges")).length, 1);
    }
    assert.equal(codeOf(await charge(() => answered(401, "<html>"))), "gateway_credentials_invalid");
    assert.equal(codeOf(await charge((_request, count) => (count === 1 ? LOST : answered(403, "")))), "unknown");
  });

  test("a decline is a charge of that status, whose id is kept", async () => {
    for (const status of ["DECLINED", "CANCELLED"]) {
      const outcome = await charge(() => answered(201, { ...PAID, status, authCode: undefined }));
      assert.deepEqual(outcome.outcome === "declined" && [outcome.code, outcome.processor], [
        "card_declined",
        { quickbooks_charge_id: "ES2Q849Y8KQ9" },
      ]);
    }
  });

  test("an error beside a charge that was declined or cancelled says why", async () => {
    const declined = (status: string, code: string, message = "No.") => answered(201, { ...PAID, status, errors: [{ code, message }] });
    for (const [answer, code] of [
      [declined("CANCELLED", "PMT-2000"), "incorrect_cvc"],
      [declined("DECLINED", "PMT-5000", "insufficient funds"), "insufficient_funds"],
    ] as const) {
      const outcome = await charge(() => answer);
      assert.deepEqual(outcome.outcome === "declined" && [outcome.code, outcome.processor], [
        code,
        { quickbooks_charge_id: "ES2Q849Y8KQ9" },
      ]);
    }
    assert.equal(codeOf(await charge(() => declined("DECLINED", "PMT-6000"))), "unknown");
  });

  test("money that Intuit could not cancel, or only held, is released first and unknown when that fails", async () => {
    const cases = [
      [errors("PMT-1001"), "incorrect_cvc"],
      [errors("PMT-1000"), "fraud_suspected"],
      [answered(201, { ...PAID, status: "AUTHORIZED" }), "gateway_misconfigured"],
    ] as const;
    for (const [answer, code] of cases) {
      const io = ioWith((request) => (request.url.endsWith("/void") ? answered(201, { id: "V1", status: "ISSUED" }) : answer));
      assert.equal(codeOf(await quickbooks.charge(orderOf(), io)), code);
      assert.equal(pathsOf(io).at(-1), `POST /quickbooks/v4/payments/txn-requests/${ID}/void`);
      assert.equal(codeOf(await charge((request) => (request.url.endsWith("/void") ? LOST : answer))), "unknown");
    }
  });

  test("what is no code of an approval that could not be cancelled is not voided", async () => {
    const io = ioWith((request) => (request.url.endsWith("/void") ? answered(201, { id: "V1", status: "ISSUED" }) : errors("PMT-10305")));
    assert.equal(codeOf(await quickbooks.charge(orderOf(), io)), "unknown");
    assert.ok(pathsOf(io).every((path) => !path.endsWith("/void")));
  });

  test("a lost answer and a fault are asked again under the Request-Id; only what Intuit keeps under it counts after that", async () => {
    for (const first of [LOST, answered(503, ""), answered(200, "<html>"), errors("PMT-6000"), answered(429, "")]) {
      const io = ioWith((_request, count) => (count === 1 ? first : answered(201, PAID)));
      assert.equal((await quickbooks.charge(orderOf(), io)).outcome, "approved");
      const sales = io.sent.filter(({ request }) => request.url.endsWith("/charges"));
      assert.equal(new Set(sales.map(({ request, body }) => `${request.headers["Request-Id"]} ${body}`)).size, 1);
    }
    assert.equal(codeOf(await charge((_request, count) => (count === 1 ? LOST : errors("PMT-4000")))), "unknown");
    assert.equal(codeOf(await charge((_request, count) => (count === 1 ? LOST : errors("PMT-20305")))), "unknown");
    assert.equal(codeOf(await charge((_request, count) => (count === 1 ? LOST : errors("PMT-5000")))), "card_declined");
    for (const answer of [errors("PMT-6000"), answered(429, ""), answered(503, "")])
      assert.equal(codeOf(await charge(() => answer)), "unknown", JSON.stringify(answer));
  });

  test("a fault of Intuit's own is what a payment ends with that is found not to have been made, and no other doubt is (R-417)", async () => {
    const refusedAs = async (script: Script, verb: "charge" | "tokenize" = "charge") => {
      const io = ioWith(script);
      assert.equal((await quickbooks[verb](orderOf({ mode: verb }), io)).outcome, "unknown");
      return io.notes["refused_as"];
    };
    for (const fault of [errors("PMT-6000"), errors("PMT-6999", "No.", undefined, 500)])
      for (const verb of ["charge", "tokenize"] as const) assert.equal(await refusedAs(() => fault, verb), "processing_error");
    assert.equal(await refusedAs((_request, count) => (count < 3 ? errors("PMT-6000") : LOST)), "processing_error");
    for (const other of [LOST, answered(429, ""), answered(503, ""), answered(200, "<html>")])
      assert.equal(await refusedAs(() => other), undefined);
    assert.equal(await refusedAs((_request, count) => (count === 1 ? errors("PMT-6000") : errors("PMT-4000"))), undefined);
  });

  test("any other amount, currency, status or id is never approved (R-422)", async () => {
    const odd = [
      { amount: "49.94" },
      { amount: 49.95 + 1 },
      { currency: "CAD" },
      { status: "GREAT" },
      { status: "constructor" },
      { id: "a b" },
      { id: null },
    ];
    for (const change of odd) assert.equal(codeOf(await charge(() => answered(201, { ...PAID, ...change }))), "unknown");
  });
});

describe("quickbooks, reversals", () => {
  const VOIDED = answered(201, { id: "V1", status: "ISSUED" });
  const NONE = errors("PMT-10305", "No records found.", undefined, 404);
  const KNOWN = { quickbooks_charge_id: "ES2Q849Y8KQ9" };
  const reverse = (script: Script, notes: Record<string, string> = {}) => quickbooks.void!(traceOf(orderOf(), notes), ioWith(script));

  test("a charge is voided by its Request-Id, and refunded by its id once it has settled", async () => {
    assert.deepEqual(await reverse(() => VOIDED), { outcome: "voided" });
    assert.deepEqual(await reverse(() => NONE), { outcome: "absent" });
    const settled: Script = (request) => (request.url.endsWith("/void") ? errors("PMT-4000") : VOIDED);
    assert.equal((await reverse(settled)).outcome, "unknown");
    assert.deepEqual(await reverse(settled, KNOWN), { outcome: "voided" });
    assert.equal((await reverse(() => LOST, KNOWN)).outcome, "unknown");
  });

  test("a reversal that Intuit tells as voided or succeeded is made; settled is what a charge is, too", async () => {
    for (const [status, outcome] of [
      ["VOIDED", "voided"],
      ["SUCCEEDED", "voided"],
      ["SETTLED", "unknown"],
      ["PENDING", "unknown"],
    ] as const) {
      const made = answered(201, { id: "V1", status, type: "VOID" });
      assert.equal((await reverse(() => made)).outcome, outcome, `void ${status}`);
      const refund: Script = ({ url, method }) =>
        method === "GET" ? answered(200, PAID) : url.endsWith("/void") ? errors("PMT-4000") : made;
      assert.equal((await reverse(refund, KNOWN)).outcome, outcome, `refund ${status}`);
    }
  });

  test("only a refused void is followed by a refund, and no other answer to that counts as done (R-422)", async () => {
    const pathsAfter = async (voidAnswer: GatewayAnswer, refundAnswer = VOIDED) => {
      const io = ioWith((request) => (request.url.endsWith("/void") ? voidAnswer : refundAnswer));
      const { outcome } = await quickbooks.void!(traceOf(orderOf(), KNOWN), io);
      return [outcome, io.sent.some(({ request }) => request.url.endsWith("/refunds"))];
    };
    for (const unclear of [LOST, errors("PMT-6000"), errors("PMT-4000", "No.", undefined, 500), answered(403, {}), answered(400, "")])
      assert.deepEqual(await pathsAfter(unclear), ["unknown", false]);
    for (const refusal of [LOST, errors("PMT-4000"), errors("PMT-6000"), NONE, answered(201, { id: "R1", status: "DECLINED" })])
      assert.deepEqual(await pathsAfter(errors("PMT-4000"), refusal), ["unknown", true]);
    // The charge was answered: that there is no record of it to void does not mean that nothing was taken.
    assert.deepEqual(await pathsAfter(NONE), ["voided", true]);
    assert.deepEqual(await pathsAfter(NONE, NONE), ["unknown", true]);
  });

  /** One reversal after the other, each with the notes that the ones before left: what came of it, and the requests it made. */
  async function reversals(...tries: { status: string; refund?: GatewayAnswer }[]): Promise<[outcome: string, requests: string][]> {
    const [results, notes]: [[string, string][], Record<string, string>] = [[], { ...KNOWN }];
    for (const { status, refund = VOIDED } of tries) {
      const io = ioWith(({ method, url }) => {
        if (method === "GET") return answered(200, { ...PAID, status });
        return url.endsWith("/void") ? errors("PMT-4000") : refund;
      });
      const { outcome } = await quickbooks.void!(traceOf(orderOf(), { ...notes }), io);
      Object.assign(notes, io.notes);
      const names = io.sent.map(({ request: { method, url } }) => (method === "GET" ? "read" : (/(void|refunds)$/.exec(url)?.[0] ?? "")));
      results.push([outcome, names.filter(Boolean).join("+")]);
    }
    return results;
  }

  test("a refund without a clear answer is not sent again: Intuit does not say that it would refuse it, but the charge tells of it (R-422)", async () => {
    for (const refund of [LOST, errors("PMT-6000"), answered(400, "")])
      assert.deepEqual(await reversals({ status: "SETTLED", refund }, { status: "SETTLED" }, { status: "REFUNDED" }), [
        ["unknown", "read+void+refunds"],
        ["unknown", "read+void"],
        ["voided", "read"],
      ]);
  });

  test("a refund that was refused, or that these credentials may not make, is sent again", async () => {
    for (const refund of [errors("PMT-4000"), EXPIRED, answered(403, {}), answered(201, { id: "R1", status: "DECLINED" })])
      assert.deepEqual((await reversals({ status: "SETTLED", refund }, { status: "SETTLED" })).at(-1), ["voided", "read+void+refunds"]);
  });

  test("a void or refund that was refused is asked for under another Request-Id: under its own the refusal would come back (R-422)", async () => {
    // What a Request-Id was answered first it is answered ever after; a lost answer is kept as well.
    const kept = new Map<string, GatewayAnswer>();
    const notes: Record<string, string> = { ...KNOWN };
    const next = async (voidAnswer: GatewayAnswer, refundAnswer: GatewayAnswer, isLost = false) => {
      const io = ioWith(({ method, url, headers }) => {
        if (method === "GET") return answered(200, PAID);
        const key = headers["Request-Id"]!;
        kept.set(key, kept.get(key) ?? (url.endsWith("/void") ? voidAnswer : refundAnswer));
        return isLost ? LOST : kept.get(key)!;
      });
      const { outcome } = await quickbooks.void!(traceOf(orderOf(), { ...notes }), io);
      Object.assign(notes, io.notes);
      return outcome;
    };
    assert.equal(await next(NONE, errors("PMT-4000")), "unknown");
    assert.equal(await next(errors("PMT-4000"), answered(201, { id: "R1", status: "DECLINED" })), "unknown");
    assert.equal(await next(errors("PMT-4000"), VOIDED), "voided");
    assert.equal(kept.size, 6);
    kept.clear();
    for (const name of Object.keys(notes)) if (!(name in KNOWN)) delete notes[name];
    assert.equal(await next(VOIDED, NONE, true), "unknown");
    assert.equal(await next(NONE, NONE), "voided");
    assert.equal(kept.size, 1);
  });

  test("a charge that was cancelled or refunded is not asked for once more, and only its own status counts", async () => {
    for (const status of ["CANCELLED", "REFUNDED"]) assert.deepEqual(await reversals({ status }), [["voided", "read"]]);
    for (const other of [
      LOST,
      answered(200, { ...PAID, id: "OTHER", status: "REFUNDED" }),
      answered(404, { ...PAID, status: "REFUNDED" }),
    ]) {
      const io = ioWith(({ method }) => (method === "GET" ? other : VOIDED));
      await quickbooks.void!(traceOf(orderOf(), KNOWN), io);
      assert.match(pathsOf(io).at(-1) ?? "", /\/void$/);
    }
  });

  test("a charge of which only a part was refunded is not taken for sent back", async () => {
    const refunds = (...all: [amount: string, status: string][]) => all.map(([amount, status]) => ({ id: "R1", amount, status }));
    for (const [refundDetail, isBack] of [
      [refunds(["49.95", "ISSUED"]), true],
      [refunds(["20.00", "SETTLED"], ["29.95", "ISSUED"]), true],
      [refunds(["20.00", "ISSUED"]), false],
      [refunds(["49.95", "DECLINED"]), false],
      [[{ id: "R1" }], false],
    ] as const) {
      const charged = answered(200, { ...PAID, status: "REFUNDED", refundDetail });
      const io = ioWith(({ method, url }) =>
        method === "GET" ? charged : url.endsWith("/void") ? errors("PMT-4000") : errors("PMT-4000"),
      );
      assert.equal(
        (await quickbooks.void!(traceOf(orderOf(), KNOWN), io)).outcome,
        isBack ? "voided" : "unknown",
        JSON.stringify(refundDetail),
      );
    }
  });

  test("a stored card is deleted from the attempt's customer", async () => {
    const trace = traceOf(orderOf({ mode: "tokenize" }));
    const io = ioWith((request) =>
      request.method === "GET" ? answered(200, [{ id: "1089" }]) : { kind: "answered", status: 204, headers: {}, body: Buffer.of() },
    );
    assert.deepEqual(await quickbooks.void!(trace, io), { outcome: "voided" });
    assert.match(pathsOf(io).at(-1) ?? "", /^DELETE \/quickbooks\/v4\/customers\/[0-9a-f]{32}-1\/cards\/1089$/);
    assert.deepEqual(
      await quickbooks.void!(
        trace,
        ioWith(() => answered(200, [])),
      ),
      { outcome: "nothing to void" },
    );
    for (const answer of [LOST, answered(500, ""), answered(200, {}), answered(200, [{}])])
      assert.equal(
        (
          await quickbooks.void!(
            trace,
            ioWith(() => answer),
          )
        ).outcome,
        "unknown",
      );
  });
});
