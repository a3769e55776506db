import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, test } from "node:test";
import { run } from "./installation.ts";

/** The main job with nobody at the phone, as a newcomer runs it. It brings its own database, whichever this leg is for. */

interface Demo {
  session: Record<string, unknown> & { processor: Record<string, unknown> | null; error: { code: string } | null };
  webhook: { verified: boolean; body: Record<string, unknown> };
  transfer: { answered: boolean; headers: Record<string, string> };
  result?: Record<string, string>;
  timeline: { at_ms: number; what: string }[];
}

const elsewhere = process.env["TEST_DATABASE_URL"] ? "runs on the embedded database, in the other leg" : false;

/** What a machine is set to whose service is not embedded: none of it is the demo's. */
const OF_THE_SERVICE = {
  DATABASE_URL: "postgres://voicetill:voicetill@127.0.0.1/voicetill",
  MASTER_KEY_FILE: "/none",
  BASE_URL: "https://pay.example.com",
  ROLES: "worker",
  SIP_HOST: "0.0.0.0",
  SIP_PUBLIC_HOST: "203.0.113.10",
  SIP_TRUNKS: "198.51.100.0/24",
};

function demo(name: string, args: string[], check: (demo: Demo) => void): void {
  // Who only keys needs no recognisers: they would be a third of what the run costs.
  const env: Record<string, string> = args.includes("keypad") ? { SPEECH: "off", ...OF_THE_SERVICE } : {};
  test(name, { skip: elsewhere }, async () => {
    const { status, stdout, stderr } = await run(["demo", "--json", ...args], env);
    assert.equal(status, 0, stderr);
    const result = JSON.parse(stdout) as Demo;
    assert.equal(result.webhook.verified, true);
    assert.equal(result.webhook.body["session_id"], result.session["session_id"]);
    assert.equal(result.webhook.body["status"], result.session["status"]);
    assert.equal(result.transfer.answered, true);
    assert.equal(result.session["transfer_status"], "completed");
    assert.ok(result.timeline.length > 5);
    const said = result.timeline.map(({ what }) => what);
    const at = said.findIndex((what) => what.startsWith("rendering the service's sentences"));
    assert.ok(at !== -1 && at < said.indexOf("INVITE sent"), "what a first call waits for is said");
    check(result);
  });
}

/** Callers mostly wait: several at a time, of those who speak one. */
describe("voicetill demo", { concurrency: 2 }, () => {
  describe("by voice", { concurrency: 1 }, () => {
    demo("a card given partly by voice and partly on the keypad is charged", [], ({ session }) => {
      assert.equal(session["status"], "payment-success");
      assert.match(String(session.processor?.["stripe_charge_id"]), /^ch_/);
    });

    demo("a second spoken card after a declined one is charged", ["--input", "speech", "--outcome", "retry"], ({ session, timeline }) => {
      assert.equal(session["status"], "payment-success");
      assert.equal(
        timeline.some(({ what }) => what.startsWith("keyed")),
        false,
      );
    });
  });

  describe("with keys, or the test word", { concurrency: 2 }, () => {
    for (const [via, gateway] of [
      ["alpha", "stripe"],
      ["beta", "webhook"],
    ] as const) {
      const paid = gateway === "webhook" ? "the card is sent to the merchant's own endpoint over TLS" : "the card is charged";
      demo(
        `the agent of voice platform ${via} calls the tool, transfers the call, ${paid}, and the agent gets the caller back with the result, and asks what became of it (R-380, R-381, R-325)`,
        ["--input", "keypad", "--via", via, "--gateway", gateway],
        ({ session, transfer, result, timeline }) => {
          if (gateway === "webhook") assert.ok(session.processor?.["webhook_transaction_id"]);
          assert.partialDeepStrictEqual(session, {
            status: "payment-success",
            amount: "49.95",
            caller: "+14155550100",
            memory: "order 118",
          });
          const headers = {
            "X-Session-Id": session["session_id"],
            "X-payment_status": "success",
            "X-payment_amount": "49.95",
            "X-Memory": "order 118",
          };
          assert.partialDeepStrictEqual(transfer.headers, headers);
          assert.partialDeepStrictEqual(result, {
            status: "success",
            session_id: session["session_id"],
            amount: "49.95",
            card_last4: "4242",
          });
          assert.match(String(result?.["say"]), /^Your payment of 49\.95 USD with the card ending in 4242 went through\.$/);
          const steps = timeline.map(({ what }) => what).filter((what) => / answered(?:$|:)/.test(what));
          const transferred = via === "alpha" ? ["transfer destination answered"] : [];
          const tool = via === "alpha" ? "tool call" : "function";
          assert.deepEqual(steps, [`${tool} collect_payment answered: ready`, ...transferred, "get_payment_result answered: success"]);
        },
      );
    }

    demo(
      "a declined card fails the session with its reason, the caller goes back to the agent, who learns of it as he did (R-323)",
      ["--input", "keypad", "--via", "beta", "--outcome", "decline"],
      ({ session, transfer, result }) => {
        assert.equal(session["status"], "payment-failed");
        assert.equal(session.error?.code, "card_declined");
        assert.equal(transfer.headers["X-payment_error_code"], "card_declined");
        assert.partialDeepStrictEqual(result, { status: "failed", error_code: "card_declined" });
      },
    );

    test("a demo whose call is refused ends at once, with a sentence and status 1", { skip: elsewhere }, async () => {
      const taken = createSocket("udp4").bind(0);
      await once(taken, "listening");
      const { port } = taken.address();
      try {
        // One port is none for a call: it takes two, RTP and RTCP.
        const { status, stderr, stdout } = await run(["demo"], { RTP_PORTS: `${port & ~1}-${port | 1}` });
        assert.equal(status, 1, stdout);
        assert.match(stderr, /^The demo failed: the service refused its call with SIP status 503; .+\.$/m);
      } finally {
        taken.close();
      }
    });

    demo("the test word skips the card on a test key (R-234)", ["--outcome", "mango"], ({ session, webhook }) => {
      assert.deepEqual(
        [session["status"], session.processor?.["card_last4"], session.processor?.["test_skip"]],
        ["payment-success", "0000", true],
      );
      assert.match(String((webhook.body["processor"] as Record<string, unknown>)["transaction_id"]), /^test_skip_[0-9]+$/);
    });

    demo("a card is stored and nothing is charged in mode tokenize", ["--input", "keypad", "--mode", "tokenize"], ({ session }) => {
      assert.match(String(session.processor?.["payment_method_id"]), /^pm_/);
      assert.match(String(session.processor?.["stripe_customer_id"]), /^cus_/);
      assert.equal(session.processor?.["stripe_charge_id"] ?? null, null);
    });
  });
});
