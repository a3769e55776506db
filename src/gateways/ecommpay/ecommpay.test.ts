import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { parseJson } from "#src/kernel/json.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewayRequest, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { sign } from "./signature.ts";

const ecommpay = GATEWAYS_BUILT.ecommpay!;
const KEY = new Secret("demo-secret-key");
const settings = settingsOf(ecommpay);
const ID = orderOf().reference;
const OPERATION = "5028800010128225";

const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
const QUEUED = answered(200, { status: "success", request_id: "r", project_id: 12345, payment_id: ID });
const ABSENT = answered(400, { status: "error", code: "3061", message: "Payment not found" });
const refused = (code: string | number, status = 400) => answered(status, { status: "error", code, message: "No" });

/** A status answer as the vendor signs it. JSON text, because ids have more digits than a test should trust a double with. */
function status(
  changes: { payment?: object; operation?: object; rest?: object; type?: string; operations?: object[] } = {},
): GatewayAnswer {
  const sum = { amount: 4995, currency: "USD" };
  const operation = {
    id: 0,
    type: changes.type ?? "sale",
    status: "success",
    created_date: "2026-11-20T21:00:01+0000",
    sum_initial: sum,
    code: "0",
    message: "Success",
    provider: { payment_id: "", auth_code: "563253" },
    ...changes.operation,
  };
  const body = {
    project_id: 12345,
    payment: { id: ID, type: "purchase", status: "success", sum, description: null, ...changes.payment },
    operations: [operation, ...(changes.operations ?? [])],
    ...changes.rest,
  };
  const text = JSON.stringify(body).replace('"id":0', `"id":${OPERATION}`).replaceAll("/", "\\/");
  const signature = sign(parseJson(text, { numbers: "text" }), KEY);
  return answered(200, `${text.slice(0, -1)},"signature":"${signature}"}`);
}
const declined = (code: string) =>
  status({ payment: { status: "decline" }, operation: { status: "decline", code, message: "Refused", provider: {} } });
const WORKING = status({ payment: { status: "processing" }, operation: { status: "processing", code: "9999" } });
const verified = (rest: object, amount = 0) => {
  const sum = { amount, currency: "USD" };
  return status({ type: "account verification", payment: { sum }, operation: { sum_initial: sum }, rest });
};

type Script = (request: GatewayRequest, count: number) => GatewayAnswer;

/** An io against a scripted vendor: `payments` answers requests that pay, `polls` status requests; `count` is each one's own. */
function ioWith(polls: Script, payments: Script = () => QUEUED, changes: Partial<GatewaySettings> = {}, deadlineMs = 90_000) {
  const counts = { status: 0, payment: 0 };
  const answer = (request: GatewayRequest) =>
    request.url.endsWith("/v2/payment/status") ? polls(request, ++counts.status) : payments(request, ++counts.payment);
  return testIo({ ...settings, ...changes }, (request) => Promise.resolve(answer(request)), deadlineMs);
}
const charge = (polls: Script, payments?: Script): Promise<Outcome> => ecommpay.charge(orderOf(), ioWith(polls, payments));
const tokenize = (polls: Script, payments?: Script): Promise<Outcome> =>
  ecommpay.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), ioWith(polls, payments));
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);
const pathsOf = (io: ReturnType<typeof ioWith>) => io.sent.map(({ request }) => new URL(request.url).pathname);

describe("ecommpay requests", () => {
  test("a telephone sale, byte for byte, signed over what is sent", async () => {
    const io = ioWith(() => status());
    const card = cardOf("4000000000000077", { year: "2030", month: "09", zip: "SW1A 1AA", name: "JANE DOE" });
    await ecommpay.charge(orderOf({ card }), io);
    const { request, body } = io.sent[0]!;
    assert.equal(request.url, "https://api.ecommpay.com/v2/payment/card/sale");
    assert.deepEqual(request.headers, { "Content-Type": "application/json", Accept: "application/json" });
    const { signature } = (JSON.parse(body) as { general: { signature: string } }).general;
    assert.equal(
      body,
      `{"general":{"project_id":12345,"payment_id":"${ID}","signature":"${signature}"},"customer":{"id":"${SESSION}","ip_address":"203.0.113.10"},` +
        '"payment":{"amount":4995,"currency":"USD","description":"Invoice 1001","moto_type":2},' +
        '"card":{"pan":"4000000000000077","year":2030,"month":9,"card_holder":"JANE DOE","cvv":"123"},"avs_data":{"avs_post_code":"SW1A 1AA"}}',
    );
    assert.equal(signature, sign(JSON.parse(body), KEY));
  });

  test("the widget sends the shopper's address and no MOTO type; what was not collected is left out or neutral", async () => {
    const io = ioWith(() => status());
    const card = cardOf("4000000000000077", { cvv: "", zip: null });
    await ecommpay.charge(orderOf({ card, channel: "widget", customerIp: "2001:db8::1", description: "x".repeat(120) }), io);
    const body = io.sent[0]!.body;
    assert.ok(body.includes('"ip_address":"2001:db8::1"') && body.includes('"card_holder":"CARDHOLDER"'));
    assert.ok(!/moto_type|cvv|avs_data|save/.test(body));
    assert.ok(body.includes(`"${"x".repeat(100)}"`));
  });

  test("a telephone payment goes with the project's public address, else with this service's; with live money none is made up", async () => {
    const { ip_address: _none, ...without } = settings.credentials;
    const sentFor = async (changes: Partial<GatewaySettings>, egressIp: string | null) => {
      const io = ioWith(() => status(), undefined, changes);
      const outcome = await ecommpay.charge(orderOf(), { ...io, egressIp });
      return /"ip_address":"([^"]*)"/.exec(io.sent[0]?.body ?? "")?.[1] ?? codeOf(outcome);
    };
    const own = { ...without, ip_address: new Secret("198.51.100.7") };
    assert.equal(await sentFor({ credentials: own }, "198.51.100.8"), "198.51.100.7");
    assert.equal(await sentFor({ credentials: without }, "198.51.100.8"), "198.51.100.8");
    assert.equal(await sentFor({ credentials: without, environment: "live" }, null), "gateway_misconfigured");
  });

  test("a name is sent in Latin letters, or not at all: the vendor takes no other script", async () => {
    for (const [name, sent] of [
      ["Zoë Müller-Ó Dónaill", "Zoe Muller-O Donaill"],
      ["Жан Поль", "CARDHOLDER"],
      ["山田", "CARDHOLDER"],
      ["X", "CARDHOLDER"],
    ] as const) {
      const io = ioWith(() => status());
      await ecommpay.charge(orderOf({ card: cardOf("4000000000000077", { name }) }), io);
      assert.equal(/"card_holder":"([^"]*)"/.exec(io.sent[0]!.body)?.[1], sent);
    }
  });

  test("storing a card is a verification for nothing that keeps it", async () => {
    const io = ioWith(() => verified({ account: { token: "t".repeat(64) } }));
    const outcome = await ecommpay.tokenize(orderOf({ mode: "tokenize", amountMinor: 0 }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { ecommpay_payment_id: ID, ecommpay_operation_id: OPERATION });
    assert.deepEqual(pathsOf(io), ["/v2/payment/card/account_verification", "/v2/payment/status"]);
    assert.ok(io.sent[0]!.body.includes('"amount":0,') && io.sent[0]!.body.includes('"save":true'));
    assert.equal((await tokenize(() => verified({ account: { id: 77 } }, 100))).outcome, "approved");
  });

  test("a verification is known whatever its operation's type is called, the newest one if there are more", async () => {
    const account = { account: { id: 77 } };
    for (const type of ["account verification", "verify", "auth", "check"]) {
      const sum = { amount: 0, currency: "USD" };
      const older = { id: 1, type, status: "decline", code: "10105", created_date: "2026-11-20T20:00:00+0000" };
      const answer = status({ type, payment: { sum }, operation: { sum_initial: sum }, operations: [older], rest: account });
      assert.equal((await tokenize(() => answer)).outcome, "approved", type);
    }
  });

  test("a card that the verification did not keep is kept by a request of its own, whose token goes into the webhook", async () => {
    const token = "k".repeat(64);
    const io = ioWith(
      () => verified({}),
      (request) => (request.url.endsWith("/tokenize") ? answered(200, { status: "success", token }) : QUEUED),
    );
    const outcome = await ecommpay.tokenize(orderOf({ mode: "tokenize" }), io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.webhookProcessor, { auth_code: "563253", token });
    assert.equal(pathsOf(io).at(-1), "/v2/customer/card/tokenize");
    assert.ok(!io.sent.at(-1)!.body.includes("cvv"));
    assert.equal(
      codeOf(
        await tokenize(
          () => verified({}),
          (_request, count) => (count === 1 ? QUEUED : LOST),
        ),
      ),
      "gateway_misconfigured",
    );
  });

  test("settings that cannot work are named", () => {
    const fault = (credentials: Record<string, string>) => {
      const secrets = Object.fromEntries(Object.entries(credentials).map(([name, value]) => [name, new Secret(value)]));
      return ecommpay.checkSettings({ ...settings, credentials: secrets });
    };
    assert.equal(fault({ project_id: "12345", secret_key: "abc" }), null);
    assert.match(fault({ project_id: "p-1", secret_key: "abc" }) ?? "", /project_id/);
    assert.match(fault({ project_id: "12345" }) ?? "", /secret_key/);
    assert.match(fault({ project_id: "12345", secret_key: "abc", base_url: "http://x" }) ?? "", /base_url/);
  });
});

/** The sheet's section 6, row by row. */
const MAPPING: readonly (readonly [ours: string, codes: string])[] = [
  ["insufficient_funds", "10105 10112 10113"],
  ["expired_card", "3021 3029 10106"],
  ["invalid_expiry", "3020"],
  ["incorrect_number", "10102 10805"],
  ["incorrect_cvc", "10103 3141"],
  ["incorrect_zip", "109 2061"],
  ["card_not_supported", "3105 3356 3360 10108 10204 1461 1462"],
  ["do_not_honor", "10201 10806 10811"],
  ["lost_or_stolen", "10203 1408"],
  ["fraud_suspected", "402 1401 1404 1407 1409 1415 1431 1432 1435 1450 1460 1463 1499 10401 10402 10404 10405 10807 3199"],
  ["limit_exceeded", "309 1421 1422 1433 10101 10107 2642 3297 3298 3355 3357 3358"],
  ["authentication_required", "104 108 10104 10114 10205 10403 10709 10722"],
  ["card_declined", "100 603 10000 10100 10206 10704 10810 10812 301 10301"],
  ["processing_error", "10202 10502 10602 10603 601 602 10501 10601 2147 3062 3081 3201 3027 3101 3221 3241 3181 3183 3184"],
  ["gateway_unavailable", "314 10505"],
  ["gateway_credentials_invalid", "3261 3262 2442 3123 3124"],
  [
    "gateway_misconfigured",
    "303 310 318 319 502 702 2003 2004 2123 2124 2154 2426 2541 2610 2611 3022 3023 3024 3026 3060 3119 3121 3161 3162 3191 3291 3299 10503 10701 10703 10705 10708",
  ],
];

describe("ecommpay responses", () => {
  for (const [ours, codes] of MAPPING) {
    test(`${ours}: every code of the sheet, declined and refused, as text and as number (R-417)`, async () => {
      for (const code of codes.split(" ")) {
        assert.equal(codeOf(await charge(() => declined(code))), ours, code);
        assert.equal(
          codeOf(
            await charge(
              () => ABSENT,
              () => refused(code),
            ),
          ),
          ours,
          code,
        );
        const inErrors = answered(400, { errors: [{ code: Number(code), message: "No" }] });
        assert.equal(
          codeOf(
            await charge(
              () => ABSENT,
              () => inErrors,
            ),
          ),
          ours,
          code,
        );
      }
    });
  }

  test("the risk system's duplicate counts where the payment shows it; one that only refuses the request is looked for", async () => {
    for (const code of ["1434", "3613"]) {
      assert.equal(codeOf(await charge(() => declined(code))), "duplicate_transaction");
      assert.equal(
        codeOf(
          await charge(
            () => ABSENT,
            () => refused(code),
          ),
        ),
        "unknown",
      );
    }
  });

  test("10801, approved but not processed, is looked at again and final two minutes after sending", async () => {
    assert.equal((await charge((_request, count) => (count < 3 ? declined("10801") : status()))).outcome, "approved");
    assert.equal((await charge(() => declined("10801"))).outcome, "unknown");
    const after = (ageMs: number) => {
      const io = ioWith(() => declined("10801"));
      return ecommpay.lookUp!(traceOf(orderOf(), {}, io.clock.now() - ageMs), io);
    };
    assert.equal((await after(110_000)).outcome, "pending");
    assert.equal(codeOf(await after(120_000)), "processing_error");
  });

  test("an unknown code is card_declined where the issuer spoke, processing_error where the vendor refused", async () => {
    assert.equal(codeOf(await charge(() => declined("77777"))), "card_declined");
    assert.equal(
      codeOf(
        await charge(
          () => ABSENT,
          () => refused("77777"),
        ),
      ),
      "processing_error",
    );
    assert.equal(
      codeOf(
        await charge(
          () => ABSENT,
          () => answered(403, "<html>"),
        ),
      ),
      "gateway_misconfigured",
    );
    assert.equal(
      codeOf(await charge(() => status({ payment: { status: "error" }, operation: { status: "error", code: "10202" } }))),
      "processing_error",
    );
  });

  test("accepted is no approval: it is polled until it is final, the operation's id kept to its last digit", async () => {
    const io = ioWith((_request, count) => (count === 1 ? ABSENT : count < 4 ? WORKING : status()));
    assert.deepEqual(await ecommpay.charge(orderOf(), io), {
      outcome: "approved",
      capture: "captured",
      processor: { ecommpay_payment_id: ID, ecommpay_operation_id: OPERATION },
      webhookProcessor: { auth_code: "563253" },
    });
    assert.equal(io.clock.monotonic(), 1_000 + 2_000 + 3_000 + 5_000);
    assert.equal((await charge(() => WORKING)).outcome, "unknown");
    const only = ioWith(() => WORKING);
    await ecommpay.charge(orderOf(), only);
    assert.equal(pathsOf(only).filter((path) => path.endsWith("/sale")).length, 1);
  });

  test("a code that is no result leaves it open whatever the state says: still at work, or our own id used before", async () => {
    for (const code of ["9999", "19999", "29999", "3041"]) {
      assert.equal((await charge((_request, count) => (count === 1 ? declined(code) : status()))).outcome, "approved", code);
      const failed = status({ payment: { status: "error" }, operation: { status: "error", code: "" }, rest: { errors: [{ code }] } });
      assert.equal((await charge((_request, count) => (count === 1 ? failed : status()))).outcome, "approved", code);
    }
    assert.equal((await charge(() => status({ payment: { status: "error" } }))).outcome, "unknown", "an error whose operation succeeded");
  });

  test("a conflict or a time-out at the vendor is no refusal of the payment, whatever code stands there: it is polled", async () => {
    for (const code of [408, 409, 425]) {
      const outcome = await charge(
        () => status(),
        () => refused("501", code),
      );
      assert.equal(outcome.outcome, "approved", String(code));
    }
  });

  test("an internal error of the vendor is no refusal, whatever its status: the payment may be in the queue, and is polled", async () => {
    for (const code of ["501", 501]) {
      for (const http of [200, 400]) {
        const outcome = await charge(
          () => status(),
          () => refused(code, http),
        );
        assert.equal(outcome.outcome, "approved", `${http} ${code}`);
      }
    }
    const never = ioWith(
      () => refused("3061"),
      () => refused("501", 200),
    );
    assert.equal((await ecommpay.charge(orderOf(), never)).outcome, "unknown");
    assert.deepEqual(never.notes, { refused_as: "processing_error" }, "what it is when the payment never appears");
    assert.equal(codeOf(await charge(() => declined("501"))), "processing_error");
  });

  test("states that wait for what a call cannot give end it (no money moves until it is given)", async () => {
    for (const [state, code] of [
      ["awaiting 3ds result", "authentication_required"],
      ["awaiting redirect result", "authentication_required"],
      ["awaiting clarification", "gateway_misconfigured"],
      ["refunded", "processing_error"],
      ["cancelled", "processing_error"],
      ["canceled", "processing_error"],
    ] as const)
      assert.equal(codeOf(await charge(() => status({ payment: { status: state } }))), code);
  });

  test("a payment that failed on the way is polled while it may come right, and then declined", async () => {
    for (const state of ["expired", "internal error", "external error"]) {
      const failed = status({ payment: { status: state }, operation: { status: state, code: "602" } });
      assert.equal((await charge((_request, count) => (count === 1 ? failed : status()))).outcome, "approved", state);
      assert.equal((await charge(() => failed)).outcome, "unknown", state);
      const late = { ...traceOf(orderOf()), startedAtMs: -120_000 };
      assert.equal(
        codeOf(
          await ecommpay.lookUp!(
            late,
            ioWith(() => failed),
          ),
        ),
        "processing_error",
        state,
      );
      const succeeded = status({ payment: { status: state } });
      assert.equal(
        (
          await ecommpay.lookUp!(
            late,
            ioWith(() => succeeded),
          )
        ).outcome,
        "unknown",
        state,
      );
    }
    const outside = status({ payment: { status: "external processing" }, operation: { status: "external processing", code: "" } });
    assert.equal(
      (
        await ecommpay.lookUp!(
          traceOf(orderOf()),
          ioWith(() => outside),
        )
      ).outcome,
      "pending",
    );
  });

  test("the newest operation of the attempt's kind decides", async () => {
    const older = { id: 1, type: "sale", status: "decline", code: "10105", created_date: "2026-11-20T20:00:00+0000" };
    const other = { id: 2, type: "refund", status: "decline", code: "10000", created_date: "2026-11-20T22:00:00+0000" };
    assert.equal((await charge(() => status({ operations: [older, other] }))).outcome, "approved");
    // A second delivery that was refused for the first one's sake, should it be listed.
    const twin = { id: 3, type: "sale", status: "decline", code: "3041", created_date: "2026-11-20T22:00:00+0000" };
    assert.equal((await charge(() => status({ operations: [twin] }))).outcome, "approved");
  });

  test("a part of the amount is refunded, a hold is released, and then the payment is declined", async () => {
    const part = { amount: 2000, currency: "USD" };
    const cases = [
      [status({ payment: { sum: part } }), "/v2/payment/card/refund", "refunded", "insufficient_funds"],
      [status({ operation: { sum_initial: part } }), "/v2/payment/card/refund", "refunded", "insufficient_funds"],
      [status({ payment: { status: "awaiting capture" } }), "/v2/payment/card/cancel", "cancelled", "gateway_misconfigured"],
      [status({ payment: { status: "awaiting capture" } }), "/v2/payment/card/cancel", "canceled", "gateway_misconfigured"],
    ] as const;
    for (const [answer, path, state, code] of cases) {
      const io = ioWith((_request, count) => (count === 1 ? answer : count === 2 ? WORKING : status({ payment: { status: state } })));
      assert.equal(codeOf(await ecommpay.charge(orderOf(), io)), code);
      assert.ok(pathsOf(io).includes(path));
      if (path.endsWith("refund")) assert.ok(io.sent.some(({ body }) => body.includes('"amount":2000,')));
      assert.equal(
        (
          await charge(
            () => answer,
            (_request, count) => (count === 1 ? QUEUED : refused("3023")),
          )
        ).outcome,
        "unknown",
      );
    }
  });
});

describe("ecommpay, lost answers", () => {
  test("a lost answer is polled; a payment that has not arrived in 30 s is sent again with the same bytes", async () => {
    const found = ioWith(
      () => status(),
      () => LOST,
    );
    assert.equal((await ecommpay.charge(orderOf(), found)).outcome, "approved");
    assert.equal(found.sent.length, 2);
    for (const second of [QUEUED, refused("3041")]) {
      let sent = 0;
      const io = ioWith(
        () => (sent < 2 ? ABSENT : status()),
        () => (++sent === 1 ? LOST : second),
      );
      assert.equal((await ecommpay.charge(orderOf(), io)).outcome, "approved");
      const sales = io.sent.filter(({ request }) => request.url.endsWith("/sale"));
      assert.equal(sales.length, 2);
      assert.equal(new Set(sales.map(({ body }) => body)).size, 1);
      assert.ok(io.clock.monotonic() >= 30_000);
    }
  });

  test("a payment that is turned away (429) is sent again under its id, and unknown when it never gets through", async () => {
    let sent = 0;
    const io = ioWith(
      () => (sent < 2 ? ABSENT : status()),
      () => (++sent === 1 ? answered(429, "<html>") : QUEUED),
    );
    assert.equal((await ecommpay.charge(orderOf(), io)).outcome, "approved");
    assert.equal(new Set(io.sent.filter(({ request }) => request.url.endsWith("/sale")).map(({ body }) => body)).size, 1);
    const never = await charge(
      () => ABSENT,
      () => refused("309", 429),
    );
    assert.equal(never.outcome, "unknown");
  });

  test("our own id used before means that the first request arrived", async () => {
    assert.equal(
      (
        await charge(
          () => status(),
          () => refused("3041"),
        )
      ).outcome,
      "approved",
    );
    assert.equal(
      (
        await charge(
          () => status(),
          () => answered(200, { errors: [{ code: 3041 }] }),
        )
      ).outcome,
      "approved",
    );
  });

  test("5xx, garbage and a cut answer are polled; what never arrives is unknown, and no repeat begins near the deadline", async () => {
    for (const answer of [answered(500, "<html>"), answered(200, "{"), answered(400, "<html>"), answered(200, { status: "maybe" })]) {
      assert.equal(
        (
          await charge(
            () => status(),
            () => answer,
          )
        ).outcome,
        "approved",
      );
    }
    const io = ioWith(
      () => ABSENT,
      () => LOST,
    );
    assert.equal((await ecommpay.charge(orderOf(), io)).outcome, "unknown");
    assert.equal(pathsOf(io).filter((path) => path.endsWith("/sale")).length, 2);
  });

  test("nothing was sent: nothing was charged", async () => {
    const io = ioWith(
      () => ABSENT,
      () => ({ kind: "not sent", reason: "refused" }),
    );
    assert.equal(codeOf(await ecommpay.charge(orderOf(), io)), "gateway_unavailable");
    assert.equal(io.sent.length, 1);
  });
});

describe("ecommpay look-up and void", () => {
  const lookUp = (answer: GatewayAnswer) =>
    ecommpay.lookUp!(
      traceOf(orderOf()),
      ioWith(() => answer),
    );

  test("the look-up is one signed status request", async () => {
    const io = ioWith(() => ABSENT);
    assert.deepEqual(await ecommpay.lookUp!(traceOf(orderOf()), io), { outcome: "absent" });
    assert.equal(io.sent.length, 1);
    const body = JSON.parse(io.sent[0]!.body) as { general: { payment_id: string; signature: string } };
    assert.equal(body.general.payment_id, ID);
    assert.equal(body.general.signature, sign(body, KEY));
  });

  test("found, declined, at work and unclear are told apart", async () => {
    assert.equal((await lookUp(status())).outcome, "approved");
    assert.equal(codeOf(await lookUp(declined("10105"))), "insufficient_funds");
    assert.equal((await lookUp(WORKING)).outcome, "pending");
    for (const answer of [LOST, refused("3261"), answered(500, ""), answered(200, { payment: {} })])
      assert.equal((await lookUp(answer)).outcome, "unknown");
  });

  test("a stored card that only the verification knows of is not stored", async () => {
    const found = (answer: GatewayAnswer) =>
      ecommpay.lookUp!(
        traceOf(orderOf({ mode: "tokenize" })),
        ioWith(() => answer),
      );
    assert.equal(codeOf(await found(verified({}))), "gateway_misconfigured");
    assert.equal((await found(verified({ account: { id: 77 } }))).outcome, "approved");
  });

  test("a void is a refund that is followed to its end; a kept card stays", async () => {
    const io = ioWith((_request, count) => (count === 1 ? status() : count < 4 ? WORKING : status({ payment: { status: "refunded" } })));
    assert.deepEqual(await ecommpay.void!(traceOf(orderOf()), io), { outcome: "voided" });
    assert.ok(io.sent[1]!.body.includes('"amount":4995,"currency":"USD"'));
    const reverse = (answer: GatewayAnswer) =>
      ecommpay.void!(
        traceOf(orderOf()),
        ioWith(() => answer),
      );
    assert.equal((await reverse(ABSENT)).outcome, "absent");
    for (const answer of [declined("10105"), status({ payment: { status: "refunded" } })])
      assert.equal((await reverse(answer)).outcome, "nothing to void");
    for (const answer of [WORKING, LOST]) assert.equal((await reverse(answer)).outcome, "unknown");
    const kept = ioWith(() => verified({ account: { id: 77 } }));
    assert.equal((await ecommpay.void!(traceOf(orderOf({ mode: "tokenize" })), kept)).outcome, "unknown");
  });

  test("a refund that was queued, or may have been, is not queued again while the status does not show it (R-422)", async () => {
    const refused = answered(400, { status: "error", code: "3000", message: "no" });
    for (const [first, again] of [
      [QUEUED, 0],
      [LOST, 0],
      [refused, 1],
      [answered(429, ""), 0],
      [answered(400, { status: "error", code: "3613", message: "duplicate" }), 0],
    ] as const) {
      const still = () => status();
      const io = ioWith(still, () => first);
      assert.equal((await ecommpay.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith(still);
      assert.equal((await ecommpay.void!(traceOf(orderOf(), io.notes), later)).outcome, "unknown");
      assert.equal(later.sent.filter(({ request }) => request.url.endsWith("/refund")).length, again);
    }
  });
});

describe("ecommpay, refunds that are declined", () => {
  const refundOf = (...states: string[]) =>
    status({
      operations: states.map((state, index) => ({
        id: index + 7,
        type: "refund",
        status: state,
        created_date: "2026-11-21T21:00:00+0000",
      })),
    });
  const refunds = (io: ReturnType<typeof ioWith>) => io.sent.filter(({ request }) => request.url.endsWith("/refund")).length;
  const later = async (notes: Record<string, string>, ...shown: string[]) => {
    const io = ioWith(() => refundOf(...shown));
    assert.equal((await ecommpay.void!(traceOf(orderOf(), notes), io)).outcome, "unknown");
    return { notes: { ...notes, ...io.notes }, sent: refunds(io) };
  };

  test("a refund that was queued and then declined is queued again, once for each decline (R-422)", async () => {
    const first = await later({});
    assert.equal(first.sent, 1);
    const waiting = await later(first.notes, "processing");
    assert.equal(waiting.sent, 0);
    const second = await later(waiting.notes, "decline");
    assert.equal(second.sent, 1);
    // The status does not show the second one yet, then at work, then declined as well.
    const third = await later(second.notes, "decline");
    assert.equal(third.sent, 0);
    assert.equal((await later(third.notes, "decline", "processing")).sent, 0);
    assert.equal((await later(third.notes, "decline", "success")).sent, 0);
    assert.equal((await later(third.notes, "decline", "decline")).sent, 1);
    // Within the same day the vendor calls it a reversal.
    const reversed = (state: string) => status({ operations: [{ id: 7, type: "reversal", status: state }] });
    for (const [state, count] of [
      ["decline", 1],
      ["processing", 0],
    ] as const) {
      const io = ioWith(() => reversed(state));
      await ecommpay.void!(traceOf(orderOf(), first.notes), io);
      assert.equal(refunds(io), count, state);
    }
  });

  test("a refund that is declined while it is followed is not waited for any longer", async () => {
    const io = ioWith((_request, count) => (count === 1 ? status() : refundOf("decline")));
    const begun = io.clock.monotonic();
    assert.equal((await ecommpay.void!(traceOf(orderOf()), io)).outcome, "unknown");
    assert.ok(io.clock.monotonic() - begun < 5_000);
    assert.equal((await later(io.notes, "decline")).sent, 1);
  });
});

describe("ecommpay never takes an odd answer for a success (R-422)", () => {
  const body = (answer: GatewayAnswer) => (answer.kind === "answered" ? Buffer.from(answer.body).toString() : "");
  const SIGNED = body(status());
  const ODD: readonly (readonly [name: string, answer: GatewayAnswer])[] = [
    ["a wrong signature", answered(200, SIGNED.replace('"signature":"', '"signature":"A'))],
    ["no signature", answered(200, SIGNED.replace(/,"signature":"[^"]*"/, ""))],
    ["a changed amount", answered(200, SIGNED.replaceAll("4995", "4994"))],
    ["another payment", status({ payment: { id: "another" } })],
    ["another currency", status({ payment: { sum: { amount: 4995, currency: "EUR" } } })],
    ["more than was asked for", status({ payment: { sum: { amount: 5000, currency: "USD" } } })],
    ["no amount", status({ payment: { sum: undefined }, operation: { sum_initial: undefined } })],
    ["an operation that did not succeed", status({ operation: { status: "processing" } })],
    ["another code than 0", status({ operation: { code: "9999" } })],
    ["a declined payment whose operation succeeded", status({ payment: { status: "decline" } })],
    ["no operation of ours", status({ type: "refund" })],
    ["a state that nobody knows", status({ payment: { status: "great" } })],
    ["partially refunded", status({ payment: { status: "partially refunded" } })],
    ["another status than 200", { ...status(), status: 201 } as GatewayAnswer],
    ["a duplicate key", answered(200, SIGNED.replace("{", '{"payment":1,'))],
    ["the words of the queue", QUEUED],
  ];
  for (const [name, answer] of ODD) {
    test(`${name} is unknown`, async () => {
      assert.equal((await charge(() => answer)).outcome, "unknown");
    });
  }

  test("any bytes and any JSON with any status are never approved, in either mode", async () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
    );
    const property = fc.asyncProperty(fc.integer({ min: 100, max: 599 }), bodies, async (code, bytes) => {
      const answer: GatewayAnswer = { kind: "answered", status: code, headers: {}, body: bytes };
      for (const outcome of [
        await charge(() => answer),
        await charge(
          () => answer,
          () => answer,
        ),
        await tokenize(() => answer),
      ]) {
        assert.notEqual(outcome.outcome, "approved");
      }
      assert.ok(
        !["approved", "absent"].includes(
          (
            await ecommpay.lookUp!(
              traceOf(orderOf()),
              ioWith(() => answer),
            )
          ).outcome,
        ),
      );
    });
    await fc.assert(property, { numRuns: 100 });
  });
});
