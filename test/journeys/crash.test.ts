import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { startSimulators } from "#simulators/index.ts";
import { PROMPT_CACHE, run, stripeAt } from "./installation.ts";
import { during, keyedPayment } from "./paying.ts";
import { approvedCharges, fault, ledger, shared, startService, type Service, untilCharged } from "./service.ts";

/** kill -9 of the service at the worst moments. The gateway is a process's worth apart: it keeps its ledger. */

const simulators = await shared(startSimulators({ port: 0, host: "127.0.0.1" }));
const telephone = await shared(openTelephone(PROMPT_CACHE));

async function withService(work: (service: Service) => Promise<void>): Promise<void> {
  const service = await startService({ env: { SIMULATORS_PORT: "" }, project: { gateways: stripeAt(simulators.url) } });
  try {
    await work(service);
  } finally {
    await service.close();
  }
}

/** Each has a service of its own, and mostly waits: what a dead process held is taken over only after a while. */
describe("a service that is killed", { concurrency: true }, () => {
  test("killed between the gateway's charge and our commit, the session is paid after the restart: one charge, one webhook", () =>
    withService(async (service) => {
      const { session_id, sip_uri } = await service.create();
      await fault(simulators.url, "stripe", "hang", "/v1/payment_intents");
      const line = new AbortController();
      const calling = telephone.call({ target: sip_uri, turns: keyedPayment(), signal: line.signal });
      await during(calling, untilCharged(simulators.url, session_id));
      await service.end("SIGKILL");
      line.abort();
      await calling;
      assert.equal(service.webhooks.length, 0);

      await service.restart();
      const session = await service.until(session_id, "payment-success");
      assert.equal((session["processor"] as { card_last4: string }).card_last4, "4242");
      assert.equal(await approvedCharges(simulators.url, session_id), 1);
      const { verified, body } = await service.webhook();
      assert.deepEqual([verified, (body as { status: string }).status], [true, "payment-success"]);
      assert.equal(service.webhooks.length, 0);
    }));

  test("killed while a card is being keyed, the session ends abandoned and the gateway never hears of it", () =>
    withService(async (service) => {
      const { session_id, sip_uri } = await service.create();
      const [keyed, line] = [Promise.withResolvers<void>(), new AbortController()];
      const calling = telephone.call({
        target: sip_uri,
        turns: [
          { do: "wait for", text: "payment line" },
          { do: "dtmf", digits: "42424242" },
          { do: "wait", seconds: 5 },
        ],
        onEvent: (what) => what.startsWith("keyed") && keyed.resolve(),
        signal: line.signal,
      });
      await during(calling, keyed.promise);
      await service.end("SIGKILL");
      line.abort();
      await calling;
      await service.restart();
      await service.until(session_id, "abandoned");
      assert.equal(
        (await ledger(simulators.url, "stripe")).some(({ reference }) => reference?.startsWith(session_id) === true),
        false,
      );
    }));

  test("a session whose creation was answered survives kill -9 right after (R-146)", () =>
    withService(async (service) => {
      const { session_id } = await service.create();
      await service.end("SIGKILL");
      await service.restart();
      assert.equal((await service.session(session_id))["status"], "PENDING");
    }));

  test(
    "a second process on the same embedded folder is refused in one sentence",
    { skip: process.env["TEST_DATABASE_URL"] ? "PostgreSQL takes many" : false },
    () =>
      withService(async (service) => {
        const second = await run(["serve"], { ...service.env, SIP_PORT: "0", PORT: "0" });
        assert.equal(second.status, 1);
        assert.match(second.stderr, /in use by another/);
        assert.equal(second.stderr.trim().split("\n").length, 1);
      }),
  );
});
