import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CallOptions, type CallReport, openTelephone } from "#softphone/caller.ts";
import { type Turn, turnsOfDigits } from "#softphone/script.ts";
import { CARD, during, keyedPayment } from "./paying.ts";
import { API_KEY, organization, PROMPT_CACHE } from "./installation.ts";
import { openStream } from "./processes.ts";
import { chargesOf, fault, ledger, shared, startService } from "./service.ts";

/** Calls over real SIP and RTP to a service that runs as a process of its own. */

const ANSWERS = "1230#123#94105#1#";

const telephone = await shared(openTelephone(PROMPT_CACHE));
const NUMBER = "+15550001111";
const service = await shared(startService({ project: { phone_numbers: [NUMBER], voice: { short_code: true } } }));

function call(target: string, turns: string | Turn[], options: Partial<CallOptions> = {}): Promise<CallReport> {
  return telephone.call({ target, turns: typeof turns === "string" ? turnsOfDigits(turns) : turns, ...options });
}

/** An address that names no session. */
const PAYMENT_LINE = `sip:pay@${service.sip.host}:${service.sip.port}`;

/** Callers mostly wait: for prompts, and for their agents. */
describe("calls that leave one another alone", { concurrency: 3 }, () => {
  test("a keyed card is charged once, and webhook, polling and stream tell the same, the stream its steps in order (R-401, R-434)", async () => {
    const { session_id, sip_uri } = await service.create({ memory: "order 118", description: "Order 118" });
    const stream = await openStream(`${service.baseUrl}/v1/sessions/${session_id}/stream`, API_KEY);
    const streamed = stream.until("payment-success");
    const report = await call(sip_uri, `${CARD}#${ANSWERS}`);
    assert.equal(report.endedBy, "service");
    let { verified, body } = await service.webhook();
    while ((body as { session_id: string }).session_id !== session_id) ({ verified, body } = await service.webhook());
    assert.equal(verified, true);
    const polled = await service.session(session_id);
    const session = await streamed;
    assert.deepEqual({ ...session, updated_at: null, step: null }, { ...polled, updated_at: null });
    const steps = ["asking_number", "asking_expiry", "asking_cvv", "asking_zip", "confirming", "charging"];
    assert.deepEqual(
      stream.progress,
      steps.map((step) => ({ session_id, step, try: 1 })),
    );
    const event = body as Record<string, unknown>;
    assert.deepEqual(
      [event["event"], event["session_id"], event["status"], event["amount"], event["card_last4"]],
      ["payment.success", session_id, "payment-success", 49.95, "4242"],
    );
    assert.equal((await chargesOf(service.simulatorsUrl, session_id)).length, 1);
  });

  test("a call finds its session by header, by caller, by address and by caller id, in this order (R-210)", async () => {
    const byHeader = await service.create({ caller: "+14155550111" });
    const byCaller = await service.create({ caller: "+14155550112" });
    const byAddress = await service.create({ caller: "+14155550113" });
    const byFrom = await service.create({ caller: "+14155550114" });
    const hangUp: Turn[] = [{ do: "wait for a prompt" }, { do: "hang up" }];
    const calls: [string, Partial<CallOptions>][] = [
      [
        byHeader.session_id,
        {
          headers: [
            ["X-Session-Id", byHeader.session_id.toUpperCase()],
            ["X-Caller", "+14155550112"],
          ],
          from: "sip:+14155550114@127.0.0.1",
        },
      ],
      [byCaller.session_id, { headers: [["X-Caller", "+14155550112"]], from: "sip:+14155550114@127.0.0.1" }],
      [byFrom.session_id, { from: "sip:4155550114@127.0.0.1" }],
    ];
    for (const [id, options] of calls) {
      await call(PAYMENT_LINE, hangUp, options);
      await service.until(id, "abandoned");
    }
    await call(byAddress.sip_uri, hangUp, { from: "sip:+14155550114@127.0.0.1" });
    await service.until(byAddress.session_id, "abandoned");
  });

  test("a call that no session waits for is refused with 404, without media (R-218)", async () => {
    const report = await call(PAYMENT_LINE, []);
    assert.deepEqual([report.answered, report.status], [false, 404]);
  });

  test("a caller whose call names no session keys its short code, and pays; a wrong code is counted (R-218)", async () => {
    const created = await service.create();
    const { session_id, short_code: code } = created as typeof created & { short_code: string };
    const wrong = code === "12345678" ? "12345679" : "12345678";
    const report = await call(
      `sip:${NUMBER}@${service.sip.host}:${service.sip.port}`,
      [
        { do: "wait for", text: "payment code" },
        { do: "dtmf", digits: `${wrong}#` },
        { do: "wait for", text: "I don't know that code" },
        { do: "dtmf", digits: `${code}#` },
        ...keyedPayment(),
      ],
      { from: "sip:anonymous@anonymous.invalid" },
    );
    assert.ok(report.prompts.includes("Thank you. Your payment was approved."), report.prompts.join(" "));
    assert.equal((await service.session(session_id))["status"], "payment-success");
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
    for (const result of ["wrong", "matched"])
      assert.match(metrics, new RegExp(`^voicetill_short_codes_total\\{result="${result}"\\} 1$`, "m"));
    assert.doesNotMatch(service.output(), new RegExp(`\\b${code}\\b`));
  });

  test("a second call for a session being collected gets 486 and the first goes on; a third, after its end, 410 (R-219, R-278)", async () => {
    const { session_id, sip_uri } = await service.create();
    const asked = Promise.withResolvers<void>();
    const first = call(sip_uri, [{ do: "wait for a prompt" }, { do: "wait", seconds: 1 }, ...keyedPayment().slice(1)], {
      onEvent: (what) => what.startsWith("heard") && asked.resolve(),
    });
    await during(first, asked.promise);
    assert.equal((await call(sip_uri, [])).status, 486);
    await first;
    assert.equal((await service.session(session_id))["status"], "payment-success");
    assert.equal((await call(sip_uri, [])).status, 410);
  });

  test("a caller who hangs up before the gateway is called leaves an abandoned session and no charge (R-224)", async () => {
    const { session_id, sip_uri } = await service.create();
    await call(sip_uri, [{ do: "wait for a prompt" }, { do: "dtmf", digits: "42424242" }, { do: "hang up" }]);
    await service.until(session_id, "abandoned");
    assert.equal(
      (await ledger(service.simulatorsUrl, "stripe")).some(({ reference }) => reference?.startsWith(session_id)),
      false,
    );
  });

  test("a declined card may be followed by another in the same call, and each is tried once (R-192)", async () => {
    const { session_id, sip_uri } = await service.create();
    await call(sip_uri, `4000000000000002#${ANSWERS}${CARD}#${ANSWERS}`);
    assert.equal((await service.session(session_id))["status"], "payment-success");
    assert.deepEqual(
      (await chargesOf(service.simulatorsUrl, session_id)).map(({ outcome }) => outcome),
      ["declined", "approved"],
    );
  });

  describe("with an agent", { concurrency: 1 }, () => {
    test("a caller whose session is cancelled in mid-call is told, never charged, and taken back to the agent (R-181, R-323)", async () => {
      const answered = telephone.answerNext();
      const { session_id, sip_uri } = await service.create({ callback: telephone.address });
      const asked = Promise.withResolvers<void>();
      const calling = call(sip_uri, [{ do: "wait for", text: "cancelled" }], {
        onEvent: (what) => what.startsWith("heard") && asked.resolve(),
      });
      await during(calling, asked.promise);
      assert.equal((await service.request("POST", `/v1/sessions/${session_id}/cancel`)).status, 204);
      const agent = await during(calling, answered);
      const headers = Object.fromEntries(Object.entries(agent.headers).map(([name, value]) => [name.toLowerCase(), value]));
      assert.equal(headers["x-payment-status"], "cancelled");
      await agent.hangUp();
      assert.equal((await calling).endedBy, "service");
      const session = await service.session(session_id);
      assert.deepEqual([session["status"], session["transfer_status"]], ["cancelled", "completed"]);
    });

    test("a caller whose agent does not come to the telephone hears why, how the payment ended, and goodbye (R-321, R-323)", async () => {
      const { session_id, sip_uri } = await service.create({ callback: telephone.address });
      const report = await call(sip_uri, [{ do: "wait for a prompt" }, { do: "dtmf", digits: "**" }]);
      const session = await service.session(session_id);
      assert.deepEqual([session["status"], session["transfer_status"]], ["abandoned", "no_answer"]);
      const said = report.prompts.join(" ");
      assert.match(said, /we'll stop here.*Nobody's answering.*call back later.*Goodbye/);
    });

    test("the caller is handed back to the callback with the result in the headers, after payment and after failure (R-320 to R-325)", async () => {
      const answered = telephone.answerNext();
      const { session_id, sip_uri } = await service.create({ callback: telephone.address, memory: "order 118" });
      const calling = call(sip_uri, keyedPayment());
      const agent = await during(calling, answered);
      const headers = Object.fromEntries(Object.entries(agent.headers).map(([name, value]) => [name.toLowerCase(), value]));
      assert.deepEqual(
        [headers["x-session-id"], headers["x-payment-status"], headers["x-memory"], headers["x-payment_card_last4"]],
        [session_id, "payment-success", "order 118", "4242"],
      );
      await agent.hangUp();
      await calling;
      assert.equal((await service.session(session_id))["transfer_status"], "completed");

      const busy = await service.create({ callback: "sip:nobody@127.0.0.1:9;transport=tcp" });
      await call(busy.sip_uri, keyedPayment());
      assert.equal((await service.session(busy.session_id))["transfer_status"], "failed");
    });
  });
});

test("a caller who hangs up while the gateway is called has paid all the same (R-225)", async () => {
  const { session_id, sip_uri } = await service.create({ callback: "sip:agent@127.0.0.1:9" });
  await fault(service.simulatorsUrl, "stripe", "slow");
  await call(sip_uri, [...keyedPayment(), { do: "wait for", text: "One moment" }, { do: "hang up" }]);
  const session = await service.until(session_id, "payment-success");
  assert.equal(session["card_last4"] ?? (session["processor"] as { card_last4: string }).card_last4, "4242");
});

test("a lost answer is found at the gateway and the card is charged once (I2, I3)", async () => {
  const { session_id, sip_uri } = await service.create();
  await fault(service.simulatorsUrl, "stripe", "reset_after", "/v1/payment_intents");
  await call(sip_uri, keyedPayment());
  await service.until(session_id, "payment-success");
  const charges = await chargesOf(service.simulatorsUrl, session_id);
  assert.equal(charges.filter(({ outcome }) => outcome === "approved").length, 1);
});

test("of many calls at once for one session exactly one is answered (R-220)", async () => {
  const { session_id, sip_uri } = await service.create();
  // Fewer than ten: a service on a busy machine turns nobody away for being late with its work.
  const reports = await Promise.all(Array.from({ length: 9 }, () => call(sip_uri, [{ do: "wait for a prompt" }, { do: "hang up" }])));
  assert.equal(reports.filter(({ answered }) => answered).length, 1);
  assert.ok(reports.every(({ answered, status }) => answered || status === 486 || status === 410));
  await service.until(session_id, "abandoned");
});

test("a name that is spelled by keys is in the forwarded card, and the service writes it nowhere (R-242, R-434)", async () => {
  // The last test: the project's other settings are gone after it.
  await service.apply(organization({ voice: { collect: ["number", "expiry", "name"] } }));
  const { session_id, sip_uri } = await service.create({ gateway: "webhook" });
  await call(sip_uri, [
    { do: "wait for", text: "payment line" },
    { do: "dtmf", digits: `${CARD}#1230#56664466077776444844#1` },
  ]);
  assert.equal((await service.session(session_id))["status"], "payment-success");
  const [forwarded] = (await ledger(service.simulatorsUrl, "webhook")).filter(({ reference }) => reference === session_id);
  assert.equal(forwarded?.details?.["cardholder_name"], "JOHN SMITH");
  assert.doesNotMatch(service.output(), /JOHN SMITH/i);
});
