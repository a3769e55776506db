import assert from "node:assert/strict";
import { after, afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { openTelephone } from "#softphone/caller.ts";
import { startSimulators } from "#simulators/index.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { PROMPT_CACHE, stripeAt } from "./installation.ts";
import { during, keyedPayment } from "./paying.ts";
import { approvedCharges, fault, shared, startService, untilCharged } from "./service.ts";

/** PostgreSQL going away, falling silent and losing the answers to commits, in the middle of a payment (E2). */

const withoutPostgres = process.env["TEST_DATABASE_URL"]
  ? false
  : "needs PostgreSQL (TEST_DATABASE_URL): no network leads to the embedded database";

/** Through the conversation and into the payment, which waits for a database that stays away (docs/invariants.md). */
const STORMS = 60;

describe("a database that goes away", { skip: withoutPostgres }, async () => {
  if (withoutPostgres) return;
  const simulators = await shared(startSimulators({ port: 0, host: "127.0.0.1" }));
  const telephone = await shared(openTelephone(PROMPT_CACHE));
  const proxy = await startDatabaseProxy();
  let databaseUrl = "";
  const service = await startService({
    env: { SIMULATORS_PORT: "" },
    project: { gateways: stripeAt(simulators.url) },
    through: (url) => proxy.through((databaseUrl = url)),
  });
  after(async () => {
    await service.close();
    await proxy.close();
  });
  let told = 0;
  beforeEach(() => void (told = service.output().length));
  afterEach(() => proxy.mend());

  /** Resolves when the log has said so in this test. */
  async function untilLogged(event: string): Promise<void> {
    while (!service.output().includes(`"event":"${event}"`, told)) await delay(20);
  }
  const pay = (target: string) => telephone.call({ target, turns: keyedPayment() });

  /** What must be true however it came about: paid once, told once. */
  async function assertPaidOnce(sessionId: string): Promise<void> {
    const session = await service.until(sessionId, "payment-success");
    assert.equal((session["processor"] as { card_last4: string }).card_last4, "4242");
    assert.equal(await approvedCharges(simulators.url, sessionId), 1);
    const { verified, body } = await service.webhook();
    assert.deepEqual([verified, (body as { status: string }).status], [true, "payment-success"]);
    assert.equal(service.webhooks.length, 0);
  }

  test("an answer of the gateway that comes while the database is away is kept and written when it is back: one charge, one webhook (R-286)", async () => {
    const { session_id, sip_uri } = await service.create();
    await fault(simulators.url, "stripe", "slow", "/v1/payment_intents");
    const calling = pay(sip_uri);
    await during(calling, untilCharged(simulators.url, session_id));
    proxy.cut();
    const away = await service.request("GET", `/v1/sessions/${session_id}`);
    assert.deepEqual([away.status, away.body], [503, { detail: "Service unavailable" }]);
    assert.equal((await service.request("POST", "/v1/sessions", {})).status, 503);
    assert.equal((await fetch(`${service.baseUrl}/health/ready`)).status, 503);
    await untilLogged("payment_result_not_written");
    proxy.mend();
    await assertPaidOnce(session_id);
    await calling;
  });

  for (const [what, statement] of [
    ["the claim", "session_claim"],
    ["the intent", "session_charge"],
    ["the result", "session_approve"],
  ] as const) {
    test(`when the answer to the commit of ${what} is lost, the commit is found: one charge, one webhook (R-286)`, async () => {
      const { session_id, sip_uri } = await service.create();
      const lost = proxy.loseAnswerTo(statement);
      const calling = pay(sip_uri);
      await during(calling, lost);
      await assertPaidOnce(session_id);
      await calling;
    });
  }

  test("a payment that is confirmed while the database is away is begun when it is back: one charge, one webhook (R-286)", async () => {
    const { session_id, sip_uri } = await service.create();
    const calling = telephone.call({ target: sip_uri, turns: keyedPayment(), onEvent: (what) => what.startsWith("keyed") && proxy.cut() });
    await during(calling, untilLogged("payment_waits"));
    assert.equal(await approvedCharges(simulators.url, session_id), 0);
    proxy.mend();
    await assertPaidOnce(session_id);
    const { prompts } = await calling;
    assert.match(prompts.join(" "), /approved/);
  });

  for (const [what, statement] of [
    ["the gateway's settings were to be read", "gateway_settings"],
    ["the intent was to be written", "session_charge"],
  ] as const) {
    test(`a payment is made over another connection when one breaks as ${what}: one charge, one webhook (R-286)`, async () => {
      const { session_id, sip_uri } = await service.create();
      const broken = Promise.withResolvers<void>();
      const onEvent = (told: string) => void (told === "answered" && proxy.breakBefore(statement).then(broken.resolve));
      const calling = telephone.call({ target: sip_uri, turns: keyedPayment(), onEvent });
      await during(calling, broken.promise);
      await assertPaidOnce(session_id);
      await calling;
    });
  }

  test("connections that fall silent in mid-charge are given up, and the payment is written over new ones (R-286)", async () => {
    const { session_id, sip_uri } = await service.create();
    await fault(simulators.url, "stripe", "slow", "/v1/payment_intents");
    const calling = pay(sip_uri);
    await during(calling, untilCharged(simulators.url, session_id));
    proxy.silence();
    await untilLogged("database_silent");
    await assertPaidOnce(session_id);
    await calling;
  });

  test("with the server ending every connection again and again, a payment agrees with the gateway's ledger (R-286)", async () => {
    const admin = new Client({ connectionString: databaseUrl });
    await admin.connect();
    try {
      const { session_id, sip_uri } = await service.create();
      let storms = 0;
      let storm: NodeJS.Timeout | undefined;
      let struck: Promise<unknown> = Promise.resolve();
      const strike = () => {
        if (++storms === STORMS) clearInterval(storm);
        struck = admin
          .query("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
          .catch(() => {});
      };
      // From the answer on: a call that cannot be admitted is refused, and then there is no payment.
      const onEvent = (what: string) => void (what === "answered" && (storm = setInterval(strike, 150)));
      await telephone.call({ target: sip_uri, turns: keyedPayment(), onEvent }).catch(() => undefined);
      clearInterval(storm);
      assert.ok(storms > 10, `only ${storms}`);
      await struck;
      const { body } = await service.webhook();
      // The first reads meet connections that the last strike has ended.
      while ((await service.request("GET", `/v1/sessions/${session_id}`)).status === 503);
      const { status } = await service.session(session_id);
      const charges = await approvedCharges(simulators.url, session_id);
      assert.deepEqual([status, charges], [(body as { status: string }).status, status === "payment-success" ? 1 : 0]);
    } finally {
      await admin.end();
    }
  });

  test("a process whose connections to the database have fallen silent ends all the same (R-292)", async () => {
    proxy.silence();
    await service.end();
  });
});
