import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { type IncomingMessage, request as forward } from "node:http";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createIdentity } from "#simulators/tls.ts";
import { startSimulators } from "#simulators/index.ts";
import { freePort } from "../free-port.ts";
import { API_KEY, openInstallation, organization, ROOT, run, serve, stripeAt } from "./installation.ts";

/** The README's lines for production, behind a proxy that ends TLS as the README says of it. */
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const LINES = [...(/```env\n([\s\S]*?)```/.exec(README)?.[1] ?? "").matchAll(/^ *([A-Z_]+)=(.*)$/gm)].map(
  ([, name, value]): [string, string] => [name!, value!],
);
/** What names the reader's own machines; every other line is taken as it stands. */
const OWN = ["DATABASE_URL", "MASTER_KEY", "BASE_URL", "SIP_PUBLIC_HOST", "SIP_TRUNKS"];

/** Ends TLS on loopback and passes everything on to `port`. */
async function startProxy(port: number) {
  const identity = createIdentity(["localhost", "127.0.0.1"]);
  const server = createServer(identity, (incoming, response) => {
    const headers = { ...incoming.headers, "x-forwarded-for": incoming.socket.remoteAddress, "x-forwarded-proto": "https" };
    const passed = forward({ host: "127.0.0.1", port, method: incoming.method, path: incoming.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.writeHead(502).end());
    incoming.pipe(passed);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };
    const sent = request(url + path, { method, ca: identity.ca, headers }).end(body && JSON.stringify(body));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of answer) text += String(chunk);
    return { status: answer.statusCode, body: JSON.parse(text) as Record<string, string> };
  };
  return { url, ca: identity.ca, ask, close: () => server.close().closeAllConnections() };
}

test(
  "the README's lines for production give a service that takes a session and a call, and the doctor finds them right or says what is not",
  { skip: process.env["TEST_DATABASE_URL"] ? false : "production needs PostgreSQL: TEST_DATABASE_URL" },
  async () => {
    const port = await freePort();
    const proxy = await startProxy(port);
    const simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
    const installation = await openInstallation({ PORT: String(port), SIP_TRUNKS: "127.0.0.1" });
    try {
      assert.deepEqual(
        OWN.filter((name) => !LINES.some(([line]) => line === name)),
        [],
      );
      const { env } = installation;
      for (const [name, value] of LINES) if (!OWN.includes(name)) env[name] = value;
      const ca = join(installation.folder, "ca.pem");
      writeFileSync(ca, proxy.ca);
      Object.assign(env, { BASE_URL: proxy.url, SIP_PUBLIC_HOST: "127.0.0.1", NODE_EXTRA_CA_CERTS: ca });
      await installation.apply(organization({ gateways: stripeAt(simulators.url) }));
      const service = await serve(env);
      try {
        assert.equal(service.baseUrl, proxy.url);
        const order = { project: "shop", caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };
        const made = await proxy.ask("POST", "/v1/sessions", order);
        assert.equal(made.status, 201, JSON.stringify(made.body));
        const digits = "4242424242424242#1230#123#94105#1#";
        // The session's own address has the public host; the port is any free one here.
        const target = `sip:${made.body["session_id"]}@127.0.0.1:${service.sip?.port}`;
        const call = await run(["call", target, "--digits", digits, "--json"], env);
        assert.equal(call.status, 0, call.stderr);
        assert.equal((await proxy.ask("GET", `/v1/sessions/${made.body["session_id"]}`)).body["status"], "payment-success");

        const findings = async (changes: Record<string, string> = {}) => {
          const { stdout } = await run(["doctor", "--json"], { ...env, ...changes });
          return JSON.parse(stdout) as { check: string; level: string; text: string }[];
        };
        const level = (found: Awaited<ReturnType<typeof findings>>, name: string) => found.find(({ check }) => check === name)?.level;
        const right = await findings();
        assert.deepEqual([level(right, "proxy"), level(right, "SIP address")], ["ok", "ok"], JSON.stringify(right));
        const wrong = await findings({
          TRUSTED_PROXIES: "",
          SIP_HOST: "127.0.0.1",
          SIP_PUBLIC_HOST: "203.0.113.10",
          SIP_TRUNKS: "198.51.100.0/24",
        });
        assert.deepEqual([level(wrong, "proxy"), level(wrong, "SIP address")], ["fail", "fail"], JSON.stringify(wrong));
      } finally {
        await service.end();
      }
      // Another proxy is named than the one that passes requests on.
      env["TRUSTED_PROXIES"] = "192.0.2.1";
      const distrusting = await serve(env);
      try {
        const refused = await proxy.ask("POST", "/v1/sessions", {});
        assert.deepEqual([refused.status, refused.body["detail"]?.includes("TRUSTED_PROXIES")], [403, true]);
        const { stdout } = await run(["doctor"], env);
        assert.match(stdout, /^fail +proxy +the proxy at https:\/\/localhost:\d+ is not one of TRUSTED_PROXIES 192\.0\.2\.1/m);
      } finally {
        await distrusting.end();
      }
    } finally {
      proxy.close();
      await simulators.close();
      await installation.close();
    }
  },
);
