import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { PROMPT_CACHE, run, WEBHOOK_SECRET } from "./installation.ts";
import { shared, startService } from "./service.ts";

/** What is said of commands and test calls that cannot be done, whatever the database. */

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService());

const { json, refused } = service;

test("arguments that a command cannot take end in one sentence", async () => {
  await refused(["keys"], /keys create, .*keys list, .*keys revoke/);
  await refused(["keys", "make"], /no command "keys make"/);
  await refused(["keys", "create", "--org", "acme"], /^Usage: voicetill keys create/);
  await refused(["keys", "create", "--org", "acme", "--name", "x", "--mode", "prod"], /--mode takes test or live/);
  await refused(
    ["keys", "create", "--org", "acme", "--name", "x", "--mode", "test", "--scopes", "sessions:read,foo"],
    /^--scopes: there is no scope "foo"; the scopes are sessions:create, .*integrations:use\.$/m,
  );
  await refused(
    ["keys", "create", "--org", "acme", "--name", "a\nb", "--mode", "test"],
    /^Name: must be of visible characters, in one line\.$/m,
  );
  await refused(["listen"], /^--secret is missing: it takes the project's, whsec_ and base64/);
  await refused(["listen", "--secret", WEBHOOK_SECRET, "--port", "99999"], /^--port takes a port from 0 to 65535; "99999" is none\.$/m);
  await refused(["simulators", "--port", ""], /^--port takes a port from 0 to 65535; "" is none\.$/m);
  await refused(["call"], /^voicetill call takes one TARGET, a session id or a SIP URI \(--help tells more\)\.$/m);
  await refused(["listen", "--secret", "x"], /^--secret takes the project's, whsec_ and base64/);
  await refused(
    ["keys", "create", "--org", "acme", "--name", "x", "--mode", "test", "--colour", "red"],
    /--colour.*Usage: voicetill keys create/,
  );
  await refused(["simulators", "--port", "0", "--ledger", "/proc/x/y"], /^--ledger: the file "\/proc\/x\/y" cannot be written\.$/m);
});

test("a test call that cannot be made is one sentence, before anybody is called", async () => {
  const call = (...args: string[]) => ["call", ...args];
  const target = `sip:nobody@127.0.0.1:${service.sip.port}`;
  await refused(call("sip:x@"), /^This call cannot be made, malformed host/);
  await refused(call(target, "--from", "x y"), /^This call cannot be made, unexpected characters/);
  await refused(call(target, "--wav", "/none.wav"), /^The file "\/none\.wav" cannot be read/);
  await refused(call(target, "--record", "/proc/x"), /^The file "\/proc\/x" cannot be written/);
  const folder = mkdtempSync(join(tmpdir(), "voicetill-none-"));
  try {
    const refusedCall = await run(call(target), { DATA_DIR: join(folder, "data") });
    assert.match(refusedCall.stdout, /refused with 404: Not Found/);
    assert.equal(refusedCall.status, 1);
    assert.deepEqual(readdirSync(folder), [], "a call makes no data folder");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("why the service refused a test call is said in one sentence beside its status, and what to look at", async () => {
  const call = (target: string) => run(["call", target, "--json"], { ...service.env, SIP_PORT: String(service.sip.port) });
  const unknown = await call(`sip:nobody@127.0.0.1:${service.sip.port}`);
  assert.deepEqual([unknown.status, (JSON.parse(unknown.stdout) as { status: number }).status], [1, 404]);
  assert.match(unknown.stderr, /^No session is meant by this call: voicetill unmatched list tells what each rule went by\.\n$/);
  const { session_id: id } = await service.create();
  await json("sessions", "cancel", id);
  assert.match((await call(id)).stderr, /^This session is over, or nobody called in its time: make another one\.\n$/);
  await service.webhook();
});

test("what was heard of a call whose script fails is kept, and the failure ends as the sentence that was heard last", async () => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-record-"));
  const file = join(folder, "call.wav");
  try {
    await refused(["call", "sip:x@", "--record", file], /^This call cannot be made/);
    assert.equal(readFileSync(file).toString("latin1", 0, 4), "RIFF");
  } finally {
    rmSync(folder, { recursive: true });
  }
  const { sip_uri: target } = await service.create();
  let heardMs = 0;
  const call = telephone.call({
    target,
    turns: [{ do: "wait for", text: "no such words" }],
    patienceMs: 8000,
    onAudio: (ulaw) => void (heardMs += ulaw.length / 8),
  });
  await assert.rejects(call, /^OperatorError: Waited 8 s for "no such words"; last heard: .*[^.?][.?]$/);
  assert.ok(heardMs > 7000, String(heardMs));
  await service.webhook();
});
