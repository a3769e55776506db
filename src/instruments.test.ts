import assert from "node:assert/strict";
import { test } from "node:test";
import type { Payments } from "./payments/index.ts";
import { createMetrics } from "./platform/index.ts";
import type { Sessions } from "./sessions/index.ts";
import { createInstruments } from "./instruments.ts";

const session = { gateway: "stripe", mode: "charge", environment: "test" };

test("sessions, charges, webhook tries and requests are counted, and pass unchanged", async () => {
  const metrics = createMetrics();
  const instruments = createInstruments(metrics);
  const once = [{ replayed: false }, { replayed: true }, null];
  const made = once.values();
  const sessions = instruments.sessions<Pick<Sessions, "create" | "createIdempotent">>({
    create: async () => session as never,
    createIdempotent: async () => made.next().value as never,
  });
  assert.equal(await sessions.create({} as never, session as never), session);
  for (const expected of once) assert.equal(await sessions.createIdempotent(session as never, {} as never), expected);

  const results = [{ kind: "declined" }, { kind: "approved" }, { kind: "unknown" }];
  const result = results.values();
  let now = 0;
  const payments = instruments.payments({ settle: async () => result.next().value } as unknown as Payments, () => (now += 250));
  for (const expected of results) assert.equal(await payments.settle({ session } as never), expected);
  instruments.countReconciled("stripe", "approved");

  const answers = [{ kind: "answered", status: 503 }, { kind: "lost" }, { kind: "answered", status: 204 }];
  const answer = answers.values();
  const webhooks = instruments.webhooks({ send: async () => answer.next().value as never });
  for (const expected of answers) assert.equal(await webhooks.send({} as never), expected);

  instruments.observe("POST /v1/sessions", 201, 0.012);
  instruments.countCall();
  for (const what of ["reached", "repeated", "left"] as const) instruments.countStep("asking_cvv", what);

  instruments.countCode("wrong");

  const text = await metrics.text();
  for (const line of [
    'steps_total{step="asking_cvv",what="repeated"} 1',
    'sessions_created_total{gateway="stripe",mode="charge",environment="test"} 2',
    'charges_total{gateway="stripe",outcome="declined",by="answer"} 1',
    'charges_total{gateway="stripe",outcome="approved",by="answer"} 1',
    'charges_total{gateway="stripe",outcome="unknown",by="answer"} 1',
    'charges_total{gateway="stripe",outcome="approved",by="reconciliation"} 1',
    'charge_seconds_sum{gateway="stripe"} 0.75',
    'webhook_tries_total{outcome="5xx"} 1',
    'webhook_tries_total{outcome="no answer"} 1',
    'webhook_tries_total{outcome="2xx"} 1',
    'http_request_seconds_count{endpoint="POST /v1/sessions",status="201"} 1',
    "calls_total 1",
    'short_codes_total{result="wrong"} 1',
  ]) {
    assert.ok(text.includes(`voicetill_${line}\n`), line);
  }
});
