import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startSimulators } from "./index.ts";
import type { Simulators } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "simulators-"));
const ledgerFile = join(folder, "ledger.jsonl");
let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1", ledgerFile });
});
after(async () => {
  await simulators.close();
  rmSync(folder, { recursive: true });
});

const HEADERS = { Authorization: "Bearer sk_test_x", "Stripe-Version": "2022-11-15" };
const FORM = { ...HEADERS, "Content-Type": "application/x-www-form-urlencoded" };

/** A payment of 49.95 at the Stripe simulator; answers its status. */
async function pay(reference: string): Promise<number> {
  const post = async (path: string, body: Record<string, string>) =>
    fetch(`${simulators.url}/stripe${path}`, { method: "POST", headers: FORM, body: new URLSearchParams(body) });
  const card = { "card[number]": "4242424242424242", "card[exp_month]": "3", "card[exp_year]": "2060" };
  const { id } = (await (await post("/v1/payment_methods", { type: "card", ...card })).json()) as { id: string };
  const metadata = { "metadata[session_id]": reference, "metadata[attempt]": "1" };
  return (await post("/v1/payment_intents", { amount: "4995", currency: "usd", confirm: "true", payment_method: id, ...metadata })).status;
}

/** GET with a Host header of its own. */
function statusFor(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = simulators;
    httpRequest({ port, path: "/", host: "127.0.0.1", headers: { host }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

async function ledger(gateway: string): Promise<Record<string, unknown>[]> {
  const answer = await fetch(`${simulators.url}/_ledger/${gateway}`);
  return ((await answer.json()) as { entries: Record<string, unknown>[] }).entries;
}

describe("what all simulators share", () => {
  test("the index names them, http and https share one port", async () => {
    const index = (await (await fetch(simulators.url)).json()) as { simulators: string[] };
    const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && entry.name !== "kit",
    );
    assert.deepEqual(index.simulators.toSorted(), folders.map(({ name }) => `/${name}`).toSorted());
    assert.equal(new URL(simulators.url).port, new URL(simulators.httpsUrl).port);
    assert.equal((await fetch(`${simulators.url}/nothing`)).status, 404);
  });

  test("a fault strikes as often as it was armed, on its path and with its text only; `times: 0` takes it back", async () => {
    const arm = (fault: object) =>
      fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway: "stripe", ...fault }) });
    assert.equal((await arm({ kind: "http_500", times: 2, path: "/v1/customers" })).status, 200);
    const statusOf = async (path: string) => (await fetch(`${simulators.url}/stripe${path}`, { headers: HEADERS })).status;
    assert.equal(await statusOf("/v1/payment_intents"), 200);
    assert.deepEqual(
      [await statusOf("/v1/customers/cus_x"), await statusOf("/v1/customers/cus_x"), await statusOf("/v1/customers/cus_x")],
      [500, 500, 404],
    );
    await arm({ kind: "reset_before", times: 9 });
    await assert.rejects(statusOf("/v1/payment_intents"));
    await arm({ kind: "reset_before", times: 0 });
    assert.equal(await statusOf("/v1/payment_intents"), 200);
    await arm({ kind: "http_500", times: 9, path: "/v1/payment_intents", containing: "s-7" });
    const intents = `${simulators.url}/stripe/v1/payment_intents`;
    const answers = async (body: string) => (await fetch(intents, { method: "POST", headers: HEADERS, body })).status;
    assert.deepEqual([await answers("s-8"), await answers("s-7")], [400, 500]);
    await arm({ kind: "http_500", times: 0, path: "/v1/payment_intents", containing: "s-8" });
    assert.equal(await answers("s-7"), 500);
    await arm({ kind: "http_500", times: 0, path: "/v1/payment_intents", containing: "s-7" });
    assert.equal(await answers("s-7"), 400);
    for (const wrong of [{ kind: "fire" }, { gateway: "none", kind: "hang" }, { kind: "hang", times: 1.5 }])
      assert.equal((await arm(wrong)).status, 400);
  });

  test("only loopback names and the listener's own are served, so that no web page's own name reaches them", async () => {
    const { port } = simulators;
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, "LOCALHOST", "127.1.2.3", `[::1]:${port}`, "app.localhost"])
      assert.equal(await statusFor(host), 200, host);
    for (const host of [
      "pages.example",
      `pages.example:${port}`,
      "127.0.0.1.pages.example",
      "localhost.pages.example",
      "10.0.0.1",
      "[::2]",
    ])
      assert.equal(await statusFor(host), 421, host);
  });

  test("the ledger is on the disk and holds no card number", async () => {
    assert.equal(await pay("s-1"), 200);
    const lines = readFileSync(ledgerFile, "utf8").trim().split("\n");
    const last = JSON.parse(lines.at(-1) ?? "") as Record<string, unknown>;
    assert.deepEqual([last["kind"], last["reference"], last["amountMinor"], last["card"]], ["charge", "s-1-1", 4995, "************4242"]);
    assert.equal(lines.length, (await ledger("stripe")).length);
    assert.ok(!/(?<![0-9a-f-])\d{13,19}(?![0-9a-f-])/.test(readFileSync(ledgerFile, "utf8")));
  });
});
