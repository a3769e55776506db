import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, watch } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { run, WEBHOOK_SECRET } from "./installation.ts";
import { shared, startService } from "./service.ts";

/** The master key replaced under a running service, the audit log's chain over all of it, and a webhook's secret rolled. */

const EMBEDDED = !process.env["TEST_DATABASE_URL"];
const NEWER = "whsec_IAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

const service = await shared(startService());
const { json } = service;

const apply = (...projects: object[]) => service.apply({ slug: "acme", projects });

/** A session that ends at once, and its webhook as the receiver verified it. */
async function cancelled(): Promise<void> {
  const { session_id } = await service.create();
  assert.equal((await service.request("POST", `/v1/sessions/${session_id}/cancel`)).status, 204);
  const { verified } = await service.webhook();
  assert.equal(verified, true);
}

interface Rotation {
  moved: number;
  older: string[];
  stuck: string[];
}

interface Verification {
  ok: boolean;
  verified: number;
  head: string;
  fault: string | null;
}

const keyFile = () => join(service.folder, "data", "master.key");
const linesOf = () => readFileSync(keyFile(), "utf8").trim().split("\n");

test("the audit log tells who did what from where, and its chain is whole (S-16, R-415)", async () => {
  await cancelled();
  const rows = await json<{ action: string; actor: string; source: string | null; result: string }[]>("audit", "list");
  const cancel = rows.find(({ action }) => action === "session.cancel");
  assert.match(cancel?.actor ?? "", /^key:[0-9a-f-]{36}$/);
  assert.deepEqual([cancel?.source, cancel?.result], ["127.0.0.1", "done"]);
  assert.ok(rows.some(({ action, actor }) => action === "service.start" && actor === "service"));
  const { ok, fault } = await json<Verification>("audit", "verify");
  assert.deepEqual({ ok, fault }, { ok: true, fault: null });
});

test("the master key is replaced while requests run: none fails, and nothing is left under the old one (S-31)", async () => {
  const noted = (await json<Verification>("audit", "verify")).head;
  const old = EMBEDDED ? linesOf()[0]! : service.env["MASTER_KEY"]!;
  if (!EMBEDDED) {
    // A process of many: first it learns the new key, then it seals with it.
    const next = randomBytes(32).toString("base64");
    Object.assign(service.env, { MASTER_KEY: next, MASTER_KEY_PREVIOUS: old });
    const refused = await run(["master-key", "rotate"], service.env);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /^Nothing was changed: \S+ cannot open with the master key [0-9a-f]{16} yet/);
    await service.end();
    await service.restart();
  }
  const over = new AbortController();
  let requests = 0;
  const load = Array.from({ length: 4 }, async () => {
    while (!over.signal.aborted) {
      await cancelled();
      requests += 2;
    }
  });
  const rotated = await json<Rotation>("master-key", "rotate").finally(() => over.abort());
  await Promise.all(load);
  assert.ok(requests >= 8, `${requests} requests`);
  assert.ok(rotated.moved >= 4, JSON.stringify(rotated));
  assert.deepEqual(rotated.stuck, []);
  if (EMBEDDED) assert.deepEqual([linesOf().length, linesOf().includes(old)], [1, false]);
  else {
    assert.equal(rotated.older.length, 1);
    service.env["MASTER_KEY_PREVIOUS"] = "";
  }
  assert.equal((await json<Verification>("audit", "verify", "--head", noted)).ok, true);
  await service.end("SIGKILL");
  await service.restart();
  await cancelled();
});

test(
  "killed in the middle of a rotation the service starts again, and the rotation is gone on with (S-31)",
  { skip: !EMBEDDED && "PostgreSQL: the operator holds both keys" },
  async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({
      slug: `p${index}`,
      status_webhook: { url: "http://127.0.0.1:1024/", secret: WEBHOOK_SECRET },
    }));
    for (const project of many.slice(0, 3)) await apply(project);
    await apply(...many);

    const watching = new AbortController();
    const replaced = (async () => {
      const watcher = watch(join(service.folder, "data"), { signal: watching.signal });
      watcher.on("error", () => {});
      while (linesOf().length < 2) await once(watcher, "change");
    })();
    const asked = run(["master-key", "rotate"], service.env);
    await replaced;
    await service.end("SIGKILL");
    watching.abort();
    await asked;
    assert.equal(linesOf().length, 2);
    await service.restart();
    await cancelled();
    await json<Rotation>("master-key", "rotate");
    assert.equal(linesOf().length, 1);
    await cancelled();
    assert.equal((await json<Verification>("audit", "verify")).ok, true);
  },
);

test("a status webhook whose secret is rolled is accepted by receivers with the new secret and with the old one (R-262, R-348)", async () => {
  const received = Promise.withResolvers<{ headers: IncomingHttpHeaders; body: string }>();
  const receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      response.writeHead(204).end();
      received.resolve({ headers: request.headers, body });
    });
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await apply({ slug: "rolled", status_webhook: { url, secret: WEBHOOK_SECRET } });
  await apply({ slug: "rolled", status_webhook: { url, secret: [NEWER, WEBHOOK_SECRET] } });
  const { session_id } = await service.create({ project: "rolled" });
  assert.equal((await service.request("POST", `/v1/sessions/${session_id}/cancel`)).status, 204);
  const { headers, body } = await received.promise;
  receiver.close();

  // Written from the two specifications, with nothing of the service's.
  const text = (name: string) => String(headers[name]);
  const standard = text("webhook-signature").split(" ");
  const [time = "", ...timestamped] = text("x-signature").split(",");
  assert.deepEqual([standard.length, timestamped.length], [2, 2]);
  for (const secret of [NEWER, WEBHOOK_SECRET]) {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const signed = createHmac("sha256", key)
      .update(`${text("webhook-id")}.${text("webhook-timestamp")}.${body}`)
      .digest("base64");
    assert.ok(standard.includes(`v1,${signed}`), secret);
    const other = createHmac("sha256", secret)
      .update(`${time.slice(2)}.${body}`)
      .digest("hex");
    assert.ok(timestamped.includes(`v1=${other}`), secret);
  }
});

test(
  "a start with another master key ends in one sentence",
  { skip: EMBEDDED && "the embedded installation keeps its own key" },
  async () => {
    const env = { ...service.env, MASTER_KEY: randomBytes(32).toString("base64"), PORT: "0", SIP_PORT: "0" };
    const { status, stderr } = await run(["serve"], env);
    assert.equal(status, 1);
    assert.match(stderr, /^The master key is not the one that this database is sealed under/m);
  },
);
