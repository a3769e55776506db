import assert from "node:assert/strict";
import { test } from "node:test";
import { shared, startService } from "./service.ts";

test("on a machine's IPv6 address alone a session is made, called, paid by keypad and told by webhook", async () => {
  const service = await shared(startService({ env: { HOST: "::1", SIP_HOST: "::1" } }));
  assert.match(service.baseUrl, /^http:\/\/\[::1\]:\d+$/);
  const { session_id, sip_uri } = await service.create();
  assert.match(sip_uri, /@\[::1\]:\d+/);
  const digits = "4242424242424242#1230#123#94105#1#";
  const report = await service.json<{ answered: boolean; ended_by: string }>("call", sip_uri, "--digits", digits);
  assert.deepEqual([report.answered, report.ended_by], [true, "service"]);
  assert.equal((await service.session(session_id))["status"], "payment-success");
  assert.equal((await service.webhook()).verified, true);
});
