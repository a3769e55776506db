import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { APPROVED, declined, FakeGateway } from "#src/payments/testing.ts";
import { BODY, callerOf, KEYS, startTestApi, testWidget, type TestApi } from "../testing.ts";

/** The link by which a voice session may be paid in a browser, as merchants and browsers meet it. */

const CARD = { number: "4242424242424242", exp_month: "12", exp_year: "2060", cvv: "123" };
const MISSING = [404, '{"detail":"Session not found"}'];

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
const apps: TestApi["app"][] = [];
after(async () => {
  for (const app of apps) await app.close();
  await api.close();
});

async function service({ payUrl = true } = {}) {
  const voice = JSON.stringify({ pay_url: payUrl });
  const setSwitch = (value: string) => api.database.db.updateTable("projects").set({ voice: value }).where("slug", "=", "shop").execute();
  await setSwitch(voice);
  const gateway = new FakeGateway();
  const app = api.another({ deps: { widget: testWidget({ ...api, clock: new ManualClock() }, gateway) } });
  apps.push(app);
  const call = callerOf(app);
  const headersOf = (nonce?: string) => (nonce === undefined ? {} : { "x-widget-nonce": nonce });
  return {
    call,
    gateway,
    switchOff: () => setSwitch("{}"),
    create: async (key: string = KEYS.test) => (await call("POST", "/v1/sessions", { body: BODY, key })).json<Record<string, string>>(),
    read: async (id: string) => (await call("GET", `/v1/sessions/${id}`)).json<Record<string, unknown>>(),
    /** The page at a link: its status and its nonce. */
    open: async (link: string) => {
      const { statusCode, payload } = await call("GET", link.replace("http://127.0.0.1:8080", ""), { key: null });
      return { status: statusCode, nonce: /widget-nonce" content="([^"]+)"/.exec(payload)?.[1] };
    },
    frame: (id: string, nonce?: string) => call("GET", `/v1/widget-sessions/${id}`, { key: null, headers: headersOf(nonce) }),
    charge: (id: string, nonce?: string, card: object = CARD) =>
      call("POST", `/v1/widget-sessions/${id}/charge`, {
        key: null,
        body: { card },
        headers: { "sec-fetch-site": "same-origin", ...headersOf(nonce) },
      }),
  };
}

const phone = { owner: "process-1", callId: "call-1" };
const brief = ({ statusCode, payload }: { statusCode: number; payload: string }) => [statusCode, payload];

test("without the project's switch no answer has the field, and no token opens the session (R-435, R-281)", async () => {
  const { create, read, open } = await service({ payUrl: false });
  const made = await create();
  const id = made["session_id"]!;
  assert.deepEqual(["pay_url" in made, "pay_url" in (await read(id))], [false, false]);
  const on = await service();
  const { pay_url: link } = await on.read(id);
  assert.equal((await open(String(link))).status, 200);
  const { nonce } = await open(String(link));
  await on.switchOff();
  assert.equal((await open(String(link))).status, 404);
  assert.deepEqual(brief(await on.charge(id, nonce)), MISSING);
  assert.deepEqual([on.gateway.charges.length, (await on.read(id))["status"]], [0, "PENDING"]);
});

test("create and detail tell the same link until the session is final; widget sessions have none (R-435)", async () => {
  const { call, create, read } = await service();
  const { session_id: id = "", pay_url: link } = await create();
  assert.match(link ?? "", new RegExp(`^http://127\\.0\\.0\\.1:8080/widget/${id}\\?t=[A-Za-z0-9_-]{43}$`));
  assert.equal((await read(id))["pay_url"], link);
  await call("POST", `/v1/sessions/${id}/cancel`);
  assert.equal("pay_url" in (await read(id)), false);
  const widget = await call("POST", "/v1/widget-sessions", { body: { project: "shop", amount_cents: 100, gateway: "stripe" } });
  assert.equal("pay_url" in (await read(widget.json<{ session_id: string }>().session_id)), false);
});

test("the id alone, and another session's token or nonce, open nothing of a voice session (R-281, R-435)", async () => {
  const { create, open, frame, charge } = await service();
  const [{ session_id: id = "", pay_url: link = "" }, other] = [await create(), await create()];
  const { nonce } = await open(link);
  const { nonce: others } = await open(other["pay_url"]!);
  assert.ok(nonce !== undefined && others !== undefined);
  const token = new URL(link).searchParams.get("t")!;
  const wrong = [undefined, "", "x", token.slice(1), `${token}A`, new URL(other["pay_url"]!).searchParams.get("t")!];
  for (const t of wrong) assert.equal((await open(`/widget/${id}${t === undefined ? "" : `?t=${t}`}`)).status, 404);
  assert.equal((await open(`/widget/${id}?t=${token}&t=${token}`)).status, 404);
  for (const shown of [undefined, "x", others, token]) {
    assert.deepEqual(brief(await frame(id, shown)), MISSING);
    assert.deepEqual(brief(await charge(id, shown)), MISSING);
  }
  assert.equal((await frame(id, nonce)).statusCode, 200);
});

test("before anybody calls the link pays; a call comes too late then (R-435)", async () => {
  const { create, open, charge, read, gateway } = await service();
  const { session_id: id = "", pay_url: link = "" } = await create();
  const { nonce } = await open(link);
  const paid = await charge(id, nonce);
  assert.deepEqual([paid.statusCode, paid.json<{ status: string }>().status], [200, "payment-success"]);
  assert.deepEqual([(await read(id))["status"], gateway.charges.length], ["payment-success", 1]);
  assert.deepEqual(await api.sessions.claim(id, phone), { kind: "gone", status: "payment-success" });
  const again = await charge(id, nonce);
  assert.equal(again.statusCode, 410);
  assert.match(String(again.headers["x-widget-result"]), /^payment-success; /);
  assert.equal((await open(link)).status, 410);
});

test("a declined card before the call, or what is no card, leaves the session for a call (R-435)", async () => {
  const { create, open, charge, read, gateway } = await service();
  gateway.onCharge = async () => declined("incorrect_cvc");
  const { session_id: id = "", pay_url: link = "" } = await create();
  const first = (await open(link)).nonce;
  assert.equal((await charge(id, first)).statusCode, 402);
  assert.equal((await read(id))["status"], "PENDING");
  assert.equal((await charge(id, first)).statusCode, 403, "a used nonce");
  assert.equal((await charge(id, (await open(link)).nonce, { ...CARD, number: "1" })).statusCode, 422);
  assert.equal((await read(id))["status"], "PENDING");
  assert.equal((await api.sessions.claim(id, phone)).kind, "claimed");
  gateway.onCharge = async () => APPROVED;
  assert.equal((await charge(id, (await open(link)).nonce)).statusCode, 200);
});

test("a link that is used up leaves the call alone (R-435, R-367)", async () => {
  const { create, open, charge, read } = await service();
  const { session_id: id = "", pay_url: link = "" } = await create();
  assert.equal((await api.sessions.claim(id, phone)).kind, "claimed");
  let { nonce } = await open(link);
  for (let number = 1; number <= 5; number++) {
    const answer = await charge(id, nonce, { ...CARD, number: "1" });
    assert.equal(answer.statusCode, 422);
    nonce = String(answer.headers["x-widget-nonce"]);
  }
  assert.equal((await charge(id, nonce)).statusCode, 410);
  assert.equal((await open(link)).status, 410);
  assert.equal((await read(id))["status"], "COLLECTING");
});

test("under a call the link works past the time in which the call had to come; without one it does not (R-435, R-197)", async () => {
  const { create, open, charge, gateway } = await service();
  const pastItsTime = (id: string) =>
    api.database.db
      .updateTable("sessions")
      .set({ expires_at: sql<Date>`clock_timestamp() - interval '1 second'` })
      .where("id", "=", id)
      .execute();
  const [called, left] = [await create(), await create()];
  await api.sessions.claim(called["session_id"]!, phone);
  const { nonce } = await open(left["pay_url"]!);
  for (const { session_id: id } of [called, left]) await pastItsTime(id!);
  assert.equal((await charge(left["session_id"]!, nonce)).statusCode, 410);
  assert.equal((await open(left["pay_url"]!)).status, 410);
  assert.equal((await charge(called["session_id"]!, (await open(called["pay_url"]!)).nonce)).statusCode, 200);
  assert.equal(gateway.charges.length, 1);
});

test("of pages and calls at once one charges: one gateway call, round after round (R-435, R-282)", async () => {
  for (let round = 0; round < 10; round++) {
    const { create, open, charge, gateway, read } = await service();
    const { session_id: id = "", pay_url: link = "" } = await create();
    const nonces = await Promise.all(Array.from({ length: 5 }, async () => (await open(link)).nonce));
    const [claim, ...answers] = await Promise.all([
      api.sessions.claim(id, phone),
      ...nonces.flatMap((nonce) => [charge(id, nonce), charge(id, nonce)]),
    ]);
    const paid = answers.filter(({ statusCode }) => statusCode === 200);
    assert.ok(paid.length <= 1, "one payment");
    assert.ok(answers.every(({ statusCode }) => [200, 403, 409, 410].includes(statusCode)));
    assert.equal(gateway.charges.length, paid.length);
    const { status } = await read(id);
    assert.equal(status, paid.length === 1 ? "payment-success" : "COLLECTING", claim.kind);
    assert.ok(paid.length === 1 || claim.kind === "claimed", "somebody got it");
  }
});
