import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SETTINGS, forwardCard } from "#src/gateways/webhook/requests.ts";
import { gateway as webhook } from "#src/gateways/webhook/index.ts";
import { cardOf, orderOf, resolvedOf, settingsOf } from "#src/gateways/testing.ts";
import { Secret } from "#src/kernel/secret.ts";
import { createOutbound } from "#src/platform/index.ts";
import { signatureHeaders } from "../../src/webhooks/signature.ts";
import { createIdentity } from "#simulators/tls.ts";
import { freePort } from "../free-port.ts";
import { WEBHOOK_SECRET as SECRET } from "./installation.ts";
import { shared, startService } from "./service.ts";

/** Every file of `examples/` as its first comment says to run it. */

const NEWER = "whsec_IAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const example = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

const service = await shared(startService());
const { folder } = service;
const running: ChildProcess[] = [];
after(() => {
  for (const child of running) child.kill();
});

/** Runs an example; `line` resolves with the first line it prints that matches. */
function start(name: string, env: Record<string, string>): { line(pattern: RegExp): Promise<RegExpExecArray> } {
  const child = spawn(process.execPath, [example(name)], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  running.push(child);
  const lines: string[] = [];
  const wakes = new Set<() => void>();
  const note = (text: string) => {
    lines.push(text);
    for (const wake of wakes) wake();
  };
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", note);
  child.on("exit", (code) => note(`ended with status ${code}`));
  return {
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.map((text) => pattern.exec(text)).find((match) => match !== null);
          if (found) resolve(found);
          else if (lines.at(-1)?.startsWith("ended with")) reject(new Error(lines.join("\n")));
          else return;
          wakes.delete(look);
        };
        wakes.add(look);
        look();
      }),
  };
}

test("examples/verify-webhook.ts takes a genuine webhook, once, and refuses others (R-348)", async () => {
  const program = start("verify-webhook.ts", { PORT: "0", WEBHOOK_SECRET: SECRET });
  const [, address = ""] = await program.line(/(http:\/\/\S+);/);
  const body = JSON.stringify({ id: "evt_1", event: "payment.success", session_id: "s1", error: null });
  const post = async (secret: string, atSeconds = Math.floor(Date.now() / 1000)) => {
    const headers = signatureHeaders([new Secret(secret)], "evt_1", atSeconds, body);
    return (await fetch(address, { method: "POST", headers, body })).status;
  };
  assert.deepEqual([await post(NEWER), await post(SECRET, 1_000_000), await post(SECRET), await post(SECRET)], [400, 400, 204, 204]);
  await program.line(/^evt_1: payment\.success of s1$/);
});

test("while a secret is rolled, examples/verify-webhook.ts takes a webhook with the new secret and with the old one (R-348)", async () => {
  for (const [index, known] of [NEWER, SECRET].entries()) {
    const program = start("verify-webhook.ts", { PORT: "0", WEBHOOK_SECRET: known });
    const [, address = ""] = await program.line(/(http:\/\/\S+);/);
    const body = JSON.stringify({ id: `evt_roll${index}`, event: "payment.success", session_id: "s1", error: null });
    const headers = signatureHeaders([new Secret(NEWER), new Secret(SECRET)], `evt_roll${index}`, Math.floor(Date.now() / 1000), body);
    assert.equal((await fetch(address, { method: "POST", headers, body })).status, 204);
    await program.line(new RegExp(`^evt_roll${index}: payment\\.success of s1$`));
  }
});

test("examples/apply.yaml applies, twice, and examples/merchant-server.ts makes a session and hears its end", async () => {
  const port = await freePort();
  const file = join(folder, "apply.yaml");
  writeFileSync(file, readFileSync(example("apply.yaml"), "utf8").replace("127.0.0.1:9000", `127.0.0.1:${port}`));
  const first = JSON.stringify(await service.json("apply", file));
  const [apiKey = ""] = /svc_test_[A-Za-z0-9]{32}/.exec(first) ?? [];
  assert.notEqual(apiKey, "", first);
  assert.doesNotMatch(JSON.stringify(await service.json("apply", file)), /svc_test_/);

  const program = start("merchant-server.ts", { BASE_URL: service.baseUrl, API_KEY: apiKey, PORT: String(port), WEBHOOK_SECRET: SECRET });
  const [, id = ""] = await program.line(/Transfer the caller to sip:([0-9a-f-]+)@/);
  const cancelled = await fetch(`${service.baseUrl}/v1/sessions/${id}/cancel`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
  });
  assert.equal(cancelled.status, 204);
  await program.line(new RegExp(`^payment\\.cancelled: 49\\.95 USD, session ${id}$`));
  // A currency without a fraction has no hundredths.
  const yen = { id: "evt_yen", event: "payment.success", session_id: "s1", amount: 4995, amount_cents: 4995, currency: "JPY", error: null };
  const body = JSON.stringify(yen);
  const headers = signatureHeaders([new Secret(SECRET)], "evt_yen", Math.floor(Date.now() / 1000), body);
  assert.equal((await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body })).status, 204);
  await program.line(/^payment\.success: 4995 JPY, session s1$/);
});

test("examples/card-receiver.ts takes a forwarded card over TLS, and refuses a forged one (R-240)", async () => {
  const { cert, key, ca } = createIdentity(["localhost", "127.0.0.1"]);
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const program = start("card-receiver.ts", { TLS_CERT: certFile, TLS_KEY: keyFile, SIGNING_SECRET: SECRET, PORT: "0" });
  const [, port] = await program.line(/port (\d+)/);
  const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [ca] });
  const forward = async (secret: string) => {
    const credentials = { url: new Secret(`https://127.0.0.1:${port}/`), signing_secret: new Secret(secret) };
    const settings = resolvedOf(SETTINGS, settingsOf(webhook, { credentials }));
    const answer = await outbound.send(forwardCard(orderOf({ mode: "tokenize", card: cardOf("4242424242424242") }), settings, Date.now()));
    assert.ok(answer.kind === "answered", JSON.stringify(answer));
    return { status: answer.status, body: Buffer.from(answer.body).toString() };
  };
  const { status, body } = await forward(SECRET);
  assert.equal(status, 200);
  const { session_id: _, ...decision } = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(decision), ["success", "transaction_id", "token"]);
  assert.equal((await forward("whsec_another_secret_of_a_good_length_")).status, 401);
  await program.line(/^tokenize of 4995 for .*, card ending in 4242$/);
});
