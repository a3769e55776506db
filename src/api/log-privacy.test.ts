import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "#src/platform/index.ts";
import { callerOf, startTestApi } from "./testing.ts";

const KEY = "svc_test_ZZZZ0123456789abcdefghijABCDEF99";
const CARD = "4242424242424242";

test("a key or a card in a request's address, headers or body is in no log line, though the request is logged (S-70)", async () => {
  const api = await startTestApi();
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "json", write: (line) => void lines.push(line) });
  const broken = () => {
    throw new Error(`broken by ${KEY} ${CARD}`);
  };
  const app = api.another({ deps: { log, sessions: { ...api.sessions, findByCaller: broken, find: broken } } });
  const call = callerOf(app);
  try {
    const headers = { "x-api-key": KEY, referer: `https://x.example/?api_key=${KEY}`, "user-agent": CARD };
    const failed = await call("GET", `/v1/sessions?caller=%2B14155550100&api_key=${KEY}&card=${CARD}`, { headers });
    assert.equal(failed.statusCode, 500);
    await call("POST", `/integrations/alpha/webhook?api_key=${KEY}&project=shop`, { key: null, headers, body: { card: CARD } });
    await call("POST", `/v1/sessions?api_key=${KEY}`, { headers, body: `{"card":"${CARD}"` });
    const output = lines.join("");
    assert.match(output, /"event":"request_failed"/);
    assert.ok(output.includes(String(failed.headers["x-request-id"])));
    for (const secret of [KEY, KEY.slice(9), CARD, "14155550100"]) assert.ok(!output.includes(secret), output);
  } finally {
    await app.close();
    await api.close();
  }
});
