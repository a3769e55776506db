import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { startReceiver } from "#src/cli/receiver.ts";
import { PROMPT_CACHE, run, WEBHOOK_SECRET } from "./installation.ts";
import { CARD, keyedPayment, payInPage, typedCard, type WidgetMade } from "./paying.ts";
import { fault, shared, startService } from "./service.ts";

/** The day-to-day commands, as processes of their own: on a running service, and on the same installation when nothing runs. */

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService());

const { json, refused } = service;

async function statusWith(key: string): Promise<number> {
  const response = await fetch(`${service.baseUrl}/v1/projects`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

test("a key made by the command works at once, and revoked by it is refused by the running service (R-042, R-415)", async () => {
  const made = await json<{ key: string; prefix: string }>("keys", "create", "--org", "acme", "--name", "web", "--mode", "test");
  assert.equal(await statusWith(made.key), 200);
  const listed = await run(["keys", "list"], service.env);
  assert.match(listed.stdout, /acme +web +test/);
  assert.ok(!listed.stdout.includes(made.key));
  assert.equal((await json("keys", "revoke", made.prefix))["already"], false);
  while ((await statusWith(made.key)) !== 401);
  assert.equal((await json("keys", "revoke", "acme/web"))["already"], true);
});

test("keys, organizations and projects that are not there are told in one sentence", async () => {
  await refused(["keys", "create", "--org", "nobody", "--name", "x", "--mode", "test"], /no organization "nobody"; there are/);
  await refused(["keys", "list", "--org", "acne"], /no organization "acne"; there are acme/);
  await refused(["sessions", "list", "--project", "shpo", "--json"], /^There is no project "shpo"; there are .*acme\/shop/);
  assert.match((await run(["sessions", "list", "--project", "acme/shop"], service.env)).stdout, /SESSION|There are no such sessions/);
  await refused(["keys", "revoke", "nobody"], /No API key is meant by "nobody"/);
});

test("what a project's callers hear is written as sound files, and listed with --json too", async () => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-voice-"));
  try {
    const out = join(folder, "new");
    const told = await json<{ page: string; sentences: { file: string }[] }>("voice", "preview", "shop", "--out", out);
    assert.deepEqual(readdirSync(out).length, told.sentences.length + 1);
    for (const file of [told.page, ...told.sentences.map((sentence) => sentence.file)]) assert.ok(statSync(file).size > 0, file);
    await refused(["voice", "preview", "shop", "--out", "/proc/x"], /^The folder "\/proc\/x" cannot be written/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the settings for voice platforms have the running service's addresses and no secret, and a callback that would be refused is told of (R-330, R-380, R-381)", async () => {
  interface Shown {
    project: string;
    alpha: { tools: { server: { url: string } }[] };
    api: { create: { url: string }; transfer_to: string };
  }
  // With PostgreSQL the command runs by itself and has the addresses from its settings, as an operator would give them to both.
  const { stdout: text, stderr: nothing } = await run(
    ["integrations", "show", "shop", "--callback", "sip:agent@sip.vapi.ai", "--json"],
    service.env,
  );
  assert.equal(nothing, "");
  const shown = JSON.parse(text) as Shown;
  // Only the service itself knows that its simulators stand in for credentials.
  const gateway = process.env["TEST_DATABASE_URL"] ? "GATEWAY" : "stripe";
  const query = `project=shop&mode=charge&gateway=${gateway}&callback=sip%3Aagent%40sip.vapi.ai`;
  assert.equal(shown.alpha.tools[0]?.server.url, `${service.baseUrl}/integrations/alpha/webhook?${query}`);
  assert.deepEqual(
    [shown.api.create.url, shown.api.transfer_to],
    [`${service.baseUrl}/v1/sessions`, `sip:SESSION_ID@127.0.0.1:${service.sip.port}`],
  );
  const { stdout } = await run(["integrations", "show", "acme/shop"], service.env);
  for (const part of ["collect_payment", "transferCall", "general_tools", "For the prompt"]) assert.ok(stdout.includes(part), part);
  assert.doesNotMatch(stdout, /svc_test_[A-Za-z0-9]{32}/);
  const forbidden = await run(["integrations", "show", "shop", "--callback", "+19005551234"], service.env);
  assert.equal(forbidden.status, 0);
  assert.match(forbidden.stderr, /^Sessions with this callback are refused: project acme\/shop does not .* to \+19005551234; .*\.\n$/);
  await refused(["integrations", "show", "nowhere"], /no project "nowhere"/);
  await refused(["integrations", "show", "shop", "--gateway", "paypal"], /no credentials for gateway "paypal"/);
  await refused(["integrations", "show", "shop", "--callback", "agent"], /--callback takes a SIP URI or a number .*; "agent" is neither/);
  await refused(["integrations", "show", "shop", "--mode", "refund"], /--mode takes charge or tokenize/);
});

test("the database is migrated beside the running service, which has done it at its start", async () => {
  assert.deepEqual(await run(["migrate"], service.env), { status: 0, stdout: "The database is up to date.\n", stderr: "" });
});

test("a live webhook to an http address is not said to have stayed without an answer: nothing was sent", async () => {
  const { status, stdout } = await run(["webhooks", "test", "shop", "--live"], service.env);
  assert.equal(status, 1);
  assert.match(stdout, /^Nothing was sent to http:\/\/127\.0\.0\.1:\d+\/.*: https required\.$/m);
});

test("a gateway without credentials is told as that, whoever stands in for the vendor", async () => {
  const { status, stdout } = await run(["gateways", "test", "shop", "nmi"], service.env);
  assert.equal(status, 1);
  assert.match(stdout, /^nmi \(test\) of acme\/shop: there are no credentials; /);
});

test("sessions are listed, shown with attempt, webhook and transfer, and cancelled by the API's rule (R-182)", async () => {
  const { session_id, sip_uri } = await service.create({ callback: "+14155550199" });
  await telephone.call({ target: sip_uri, turns: keyedPayment() });
  await service.webhook();
  const shown = await json("sessions", "show", session_id.toUpperCase());
  assert.deepEqual([shown["status"], shown["organization"], shown["project"]], ["payment-success", "acme", "shop"]);
  assert.equal(typeof shown["transfer_status"], "string");
  const [attempt] = shown["attempts"] as Record<string, unknown>[];
  assert.deepEqual([attempt?.["reference"], attempt?.["outcome"], attempt?.["card_last4"]], [`${session_id}-1`, "approved", "4242"]);
  const event = shown["webhook"] as { id: string; event: string };
  assert.equal(event.event, "payment.success");
  const text = (await run(["sessions", "show", session_id], service.env)).stdout;
  for (const part of [session_id, "payment-success", event.id, "visa 4242", "49.95 USD", "acme/shop"])
    assert.ok(text.includes(part), `${part} in\n${text}`);
  await refused(["sessions", "cancel", session_id], /cannot be cancelled \(status: payment-success\)/);

  const waiting = await service.create();
  assert.equal((await json("sessions", "cancel", waiting.session_id))["status"], "cancelled");
  assert.equal((await service.session(waiting.session_id))["status"], "cancelled");
  assert.equal(((await service.webhook()).body as { event: string }).event, "payment.cancelled");
  assert.match((await run(["sessions", "list"], service.env)).stdout, new RegExp(`^${waiting.session_id}  acme/shop `, "m"));
  const cancelled = await json<{ session_id: string; status: string }[]>("sessions", "list", "--status", "cancelled", "--project", "shop");
  assert.equal(cancelled[0]?.session_id, waiting.session_id);
  assert.deepEqual([...new Set(cancelled.map((row) => row.status))], ["cancelled"]);

  await refused(["sessions", "cancel", waiting.session_id], /cannot be cancelled \(status: cancelled\)/);
  await refused(["sessions", "show", "018f7a52-0000-4000-8000-00000000dead"], /There is no session/);
  await refused(["sessions", "list", "--status", "paid"], /--status takes PENDING/);
});

test("a session is erased by the command: a read of it works without the caller, who no longer finds it (R-433)", async () => {
  const caller = "+14155550177";
  const { session_id } = await service.create({ caller, memory: "order 1001", description: "Invoice 1001" });
  const found = () => service.request("GET", `/v1/sessions?caller=${encodeURIComponent(caller)}`);
  await refused(["sessions", "erase", session_id], /has not ended: cancel it first/);
  await json("sessions", "cancel", session_id);
  const webhook = (await service.webhook()).body as { id: string };
  assert.equal(((await found()).body as { session_id: string }).session_id, session_id);

  assert.match((await run(["sessions", "erase", session_id], service.env)).stdout, /is erased/);
  const { body } = await service.request("GET", `/v1/sessions/${session_id}`);
  assert.deepEqual([body["status"], body["caller"], body["memory"], body["description"]], ["cancelled", null, null, null]);
  assert.equal((await found()).status, 404);
  const shown = await json("sessions", "show", session_id);
  assert.equal(typeof shown["erased_at"], "string");
  assert.ok(!JSON.stringify(shown).includes(caller));
  let erased = (shown["webhook"] as { erased: boolean }).erased;
  // The try may not have been written down as delivered when it arrived here.
  while (!erased) {
    await json("sessions", "erase", session_id);
    erased = (await json<{ webhook: { erased: boolean } }>("sessions", "show", session_id)).webhook.erased;
  }
  await refused(["webhooks", "resend", webhook.id], /The body of evt_\w+ is erased/);
  await refused(["sessions", "erase", "018f7a52-0000-4000-8000-00000000dead"], /There is no session/);
});

test("a webhook that an endpoint refused for good is sent again by hand, and the endpoint is enabled by it (R-349)", async () => {
  const tried = Promise.withResolvers<void>();
  const gone = createServer((_, response) => {
    response.writeHead(410).end();
    tried.resolve();
  }).listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => gone.once("listening", resolve));
  const { port } = gone.address() as AddressInfo;
  const project = { slug: "gone", name: "Gone", status_webhook: { url: `http://127.0.0.1:${port}/`, secret: WEBHOOK_SECRET } };
  await service.apply({ slug: "acme", name: "Acme", projects: [project] });
  const { session_id } = await service.create({ project: "gone" });
  await json("sessions", "cancel", session_id);
  await tried.promise;
  gone.closeAllConnections();
  await new Promise((resolve) => gone.close(resolve));
  const dead = async () =>
    (await json<{ session_id: string; endpoint: string }[]>("webhooks", "list", "--dead")).find((row) => row.session_id === session_id);
  let found = await dead();
  while (!found) found = await dead();
  assert.equal(found.endpoint, "disabled");

  const received = Promise.withResolvers<{ verified: boolean; body: unknown }>();
  const receiver = await startReceiver(port, WEBHOOK_SECRET, received.resolve);
  assert.match((await run(["webhooks", "resend", session_id], service.env)).stdout, /is sent again/);
  const { verified, body } = await received.promise;
  assert.deepEqual([verified, (body as { session_id: string }).session_id], [true, session_id]);
  await receiver.close();
  await refused(["webhooks", "resend", "evt_none"], /There is no webhook "evt_none"/);
  await refused(["webhooks", "list", "--dead", "--failed"], /takes one of/);
});

test("a call that matches nothing is on the list of the unmatched, with what each rule went by", async () => {
  await telephone
    .call({
      target: `sip:+15550007777@${service.sip.host}:${service.sip.port}`,
      from: "sip:+15555550123@127.0.0.1",
      headers: [["X-Session-Id", "4242424242424242"]],
      turns: [],
    })
    .catch(() => undefined);
  type Unmatched = { calls: { source: string; misses: { rule: string; value: string; why: string }[] }[]; payments: unknown[] };
  let list = await json<Unmatched>("unmatched", "list");
  while (list.calls.length === 0) list = await json<Unmatched>("unmatched", "list");
  const [call] = list.calls;
  assert.equal(call?.source, "127.0.0.1");
  const told = Object.fromEntries(call?.misses.map(({ rule, value, why }) => [rule, `${value}: ${why}`]) ?? []);
  assert.match(told["X-Session-Id"] ?? "", /^\[pan\]: not a session id/);
  assert.equal(told["To"], "+15550007777: no session waits for this caller");
  assert.equal(told["From"], "+15555550123: no session waits for this caller");
  assert.deepEqual(list.payments, []);
  assert.match(
    (await run(["unmatched", "list"], service.env)).stdout,
    /from 127\.0\.0\.1[^]*\+15550007777[^]*Payments to look into:\n {2}none/,
  );
});

test("a card that was perhaps left at its gateway is closed by its operator, once, and is on the list no longer (R-287)", async () => {
  type Listed = { payments: { reference: string; todo: string }[] };
  for (const _ of [1, 2, 3]) await fault(service.simulatorsUrl, "usaepay", "reset_after");
  const widget = { project: "shop", amount_cents: 0, mode: "tokenize", gateway: "usaepay" };
  const { status, body } = await service.request("POST", "/v1/widget-sessions", widget);
  assert.equal(status, 201);
  const made = body as unknown as WidgetMade;
  await payInPage(made, typedCard(CARD));
  const reference = `${made.session_id}-1`;
  const listed = async () => (await json<Listed>("unmatched", "list")).payments.filter((payment) => payment.reference === reference);
  while (!/by hand/.test((await listed())[0]?.todo ?? ""));
  assert.match(
    (await run(["unmatched", "close", reference], service.env)).stdout,
    /is closed: 0\.00 USD by usaepay, visa 4242\. .*by hand/,
  );
  assert.deepEqual(await listed(), []);
  await refused(["unmatched", "close", reference], /^Payment .*-1 is closed already\.$/m);
  await refused(["unmatched", "close", made.session_id], /^There is no payment ".*" to look into; voicetill unmatched list shows them\.$/m);
  await refused(["unmatched", "close"], /^Usage: voicetill unmatched close REFERENCE/);
  const [row] = (await json<{ object: string; action: string }[]>("audit", "list")).filter(({ action }) => action === "payment.close");
  assert.equal(row?.object, `payment ${reference}`);
  await service.webhook();
});

test("the SIP messages of a call are written on demand, without its memory and its keys, and no longer than asked (S-70)", async () => {
  const logged = async (event: string) => {
    let line: string | undefined;
    const isIt = (one: string) => one.includes(`"event":"${event}"`);
    while (!(line = service.output().split("\n").find(isIt))) await service.request("GET", "/health/live");
    return JSON.parse(line) as { path: string; count: number };
  };
  await refused(["sip", "trace", "--minutes", "1", "--off"], /takes one of --minutes and --off/);
  await refused(["sip", "trace", "--minutes", "99"], /--minutes takes a number from 1 to 60/);
  await json("sip", "trace");
  const { path } = await logged("sip_trace_begun");
  const { sip_uri, session_id } = await service.create({ memory: "order 118" });
  await telephone.call({ target: sip_uri, turns: [...keyedPayment(), { do: "wait for", text: "Thank you" }, { do: "hang up" }] });
  assert.deepEqual(await json("sip", "trace", "--off"), { minutes: 0 });
  assert.ok((await logged("sip_trace_ended")).count >= 5);
  const trace = readFileSync(path, "utf8");
  assert.match(trace, new RegExp(`received from udp .*\nINVITE sip:${session_id}@`));
  assert.match(trace, /sent to udp .*\nSIP\/2\.0 200 OK\n/);
  assert.match(trace, /\nm=audio /);
  assert.doesNotMatch(trace, new RegExp(`order.118|${CARD}`));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await service.webhook();
});

type Finding = { check: string; level: string; text: string };

test("the doctor finds the running service healthy, and its taken ports its own", async () => {
  const port = new URL(service.baseUrl).port;
  const { status, stdout, stderr } = await run(["doctor", "--json"], service.env);
  assert.equal(status, 0, stdout + stderr);
  const findings = JSON.parse(stdout) as Finding[];
  assert.deepEqual(
    findings.filter(({ check, level }) => check === "ports" && level !== "ok"),
    [],
  );
  assert.ok(findings.some(({ text }) => text.includes(`PORT ${port}/TCP is in use`)));
  for (const check of ["database", "migrations", "master key", "keys", "webhooks", "payments"])
    assert.deepEqual(
      findings.filter((finding) => finding.check === check).map(({ level }) => level),
      ["ok"],
      check,
    );
});

test("the doctor names a bad setting and exits with 1", async () => {
  const { status, stdout } = await run(["doctor"], { ...service.env, SIP_TRUNKS: "nonsense" });
  assert.equal(status, 1);
  assert.match(stdout, /^fail +settings +SIP_TRUNKS/m);
});

test("the doctor and the lists of a folder without an installation say so, and make none", async () => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-none-"));
  try {
    const env = { ...service.env, DATABASE_URL: "", MASTER_KEY: "", DATA_DIR: join(folder, "data") };
    const doctor = await run(["doctor"], env);
    assert.match(doctor.stdout, /^warn +database +there is no installation/m);
    const list = await run(["keys", "list"], env);
    assert.deepEqual([list.status, list.stdout], [1, ""]);
    assert.match(list.stderr, /no installation in/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("when nothing runs the commands open the database themselves, and the next start goes on from there (R-415)", async () => {
  const { session_id } = await service.create();
  await service.end("SIGKILL");
  const made = await json<{ key: string }>("keys", "create", "--org", "acme", "--name", "offline", "--mode", "test", "--expires", "90d");
  const shown = await json("sessions", "show", session_id);
  assert.equal(shown["status"], "PENDING");
  assert.equal((await json("sessions", "cancel", session_id))["status"], "cancelled");
  assert.ok((await json<{ calls: unknown[] }>("unmatched", "list")).calls.length > 0);
  assert.ok((await json<unknown[]>("webhooks", "list", "--pending")).length > 0);
  const findings = JSON.parse((await run(["doctor", "--json"], service.env)).stdout) as Finding[];
  assert.ok(
    findings.some(({ check, level }) => check === "database" && level === "ok"),
    JSON.stringify(findings),
  );
  const lists = await Promise.all([1, 2, 3].map(() => json<unknown[]>("keys", "list")));
  assert.equal(new Set(lists.map(({ length }) => length)).size, 1);
  const file = join(service.env["DATA_DIR"]!, "master.key");
  if (existsSync(file)) {
    renameSync(file, `${file}.away`);
    await refused(["keys", "list"], /master\.key is missing, under which its database is sealed/);
    assert.match((await run(["doctor"], service.env)).stdout, /^fail +database .*master\.key is missing/m);
    renameSync(`${file}.away`, file);
  }
  await service.restart();
  assert.equal(await statusWith(made.key), 200);
  const { body } = await service.webhook();
  assert.deepEqual([(body as { session_id: string }).session_id, (body as { event: string }).event], [session_id, "payment.cancelled"]);
});
