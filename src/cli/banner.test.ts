import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readConfig } from "#src/config/index.ts";
import { Secret } from "#src/kernel/secret.ts";
import { banner } from "./banner.ts";

const app = {
  baseUrl: "http://127.0.0.1:8080",
  sip: { host: "127.0.0.1", port: 5060, tlsPort: null },
  simulatorsUrl: "http://127.0.0.1:8090",
  starter: { projectSlug: "demo", apiKey: new Secret("svc_test_0123456789abcdefghijABCDEFGHIJ01") },
};

describe("the banner's two lines to copy", () => {
  test("make a session and call it", () => {
    assert.match(banner(readConfig({}), app), /curl -s http:\/\/127\.0\.0\.1:8080\/v1\/sessions [^\n]*\n {2}npx voicetill call sip:/);
  });

  test("are left out where they could not work: without simulators the demo project has no gateway", () => {
    const text = banner(readConfig({ SIMULATORS_PORT: "" }), { ...app, simulatorsUrl: null });
    assert.doesNotMatch(text, /curl|voicetill call/);
    assert.match(text, /Simulators +off: project demo has no gateway/);
  });

  test("are left out by a process without the interface", () => {
    assert.doesNotMatch(banner(readConfig({ ROLES: "voice,worker" }), app), /curl|voicetill call/);
  });
});
