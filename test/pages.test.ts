import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import { signatureHeaders } from "../src/webhooks/signature.ts";
import { DRAIN_MS } from "../src/cli/serve.ts";
import { EXAMPLES } from "../src/api/openapi/examples.ts";
import { PAGES } from "../scripts/pages.ts";
import { EXAMPLE_SECRET } from "../scripts/webhooks-page.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

for (const [path, render] of Object.entries(PAGES)) {
  test(`${path} is current; \`npm run pages\` writes it (R-343, R-417)`, () => {
    assert.equal(read(path), render());
  });
}

test("docs/apply-file.md tells of every key what it does and what it takes", () => {
  const rows = read("docs/apply-file.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  assert.ok(rows.length > 35);
  assert.deepEqual(
    rows.filter((line) => line.split(" | ").some((cell) => /^[|\s]*$/.test(cell))),
    [],
  );
});

test("the request in docs/card-forwarding.md is the example of the description (R-032)", () => {
  const body = /^\{"type":"payment_method.collected".*$/m.exec(read("docs/card-forwarding.md"))?.[0] ?? "";
  assert.deepEqual(JSON.parse(body), EXAMPLES.CardForwarding?.["charge"]);
});

test("the README names every page", () => {
  const index = read("README.md");
  const pages = readdirSync(new URL("../docs/", import.meta.url)).filter((name) => name.endsWith(".md"));
  assert.ok(pages.length > 5);
  assert.deepEqual(
    pages.filter((name) => !index.includes(`docs/${name}`)),
    [],
  );
});

/** The page's block in this language, whole. */
function snippet(language: string, containing: string): string {
  const blocks = [...read("docs/webhooks.md").matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  const found = blocks.find(([, own, text]) => own === language && text?.includes(containing));
  return found?.[2] ?? assert.fail(`no ${language} block with ${containing}`);
}

/** How each language is asked whether a request is genuine: it reads headers, body and secret as JSON, and prints yes or no. */
const LANGUAGES: readonly (readonly [name: string, command: string, program: () => string])[] = [
  [
    "Node.js",
    process.execPath,
    () =>
      `${snippet("js", "function isGenuine")}\nconst [headers, body, secret] = JSON.parse(process.argv.at(-1));\nconsole.log(isGenuine(headers, body, secret) ? "yes" : "no");`,
  ],
  [
    "Python",
    "python3",
    () =>
      `${snippet("python", "def is_genuine")}\nimport json, sys\nheaders, body, secret = json.loads(sys.argv[-1])\nprint("yes" if is_genuine(headers, body.encode(), secret) else "no")`,
  ],
  [
    "PHP",
    "php",
    () =>
      `${snippet("php", "function is_genuine")}\n[$headers, $body, $secret] = json_decode($argv[$argc - 1], true);\necho is_genuine($headers, $body, $secret) ? "yes" : "no";`,
  ],
];

const BODY = '{"event":"payment.success"}';
const signedAt = (seconds: number, ...secrets: string[]) =>
  signatureHeaders(
    secrets.map((secret) => new Secret(secret)),
    "evt_1",
    Math.floor(Date.now() / 1000) + seconds,
    BODY,
  );
const OTHER = "whsec_IAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

for (const [name, command, program] of LANGUAGES) {
  const missing = spawnSync(command, ["--version"]).error ? `no ${command} here` : false;
  test(`the ${name} receiver of docs/webhooks.md tells a genuine webhook from others (R-348)`, { skip: missing }, () => {
    const flags = { php: ["-r"], python3: ["-c"] }[command] ?? ["--input-type=module", "-e"];
    const answerFor = (headers: object, body = BODY) => {
      const ran = spawnSync(command, [...flags, program(), "--", JSON.stringify([headers, body, EXAMPLE_SECRET])], { encoding: "utf8" });
      assert.equal(ran.status, 0, ran.stderr);
      return ran.stdout.trim();
    };
    assert.equal(answerFor(signedAt(0, EXAMPLE_SECRET)), "yes");
    assert.equal(answerFor(signedAt(0, OTHER, EXAMPLE_SECRET)), "yes", "while the secret is rolled");
    assert.equal(answerFor(signedAt(0, OTHER)), "no", "another secret");
    assert.equal(answerFor(signedAt(0, EXAMPLE_SECRET), `${BODY} `), "no", "another body");
    assert.equal(answerFor(signedAt(-400, EXAMPLE_SECRET)), "no", "an old one");
    assert.equal(answerFor({}), "no", "no webhook at all");
    assert.equal(answerFor({ ...signedAt(0, EXAMPLE_SECRET), "webhook-timestamp": "²" }), "no", "no number");
    // As PHP's getallheaders() spells them.
    const spelled = Object.entries(signedAt(0, EXAMPLE_SECRET)).map(([header, value]) => [
      header.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()),
      value,
    ]);
    if (command === "php") assert.equal(answerFor(Object.fromEntries(spelled)), "yes", "other names");
  });
}

test("the unit for systemd starts a file that is there and waits longer than a drain (R-292)", () => {
  const unit = new Map(
    read("deploy/systemd/voicetill.service")
      .split("\n")
      .map((line) => line.split(/=(.*)/s) as [string, string]),
  );
  assert.equal(unit.get("KillMode"), "mixed");
  assert.ok(Number(unit.get("TimeoutStopSec")) * 1000 > DRAIN_MS + 10_000);
  assert.match(read(unit.get("ExecStart")?.split(" ")[1] ?? ""), /^#!.*node/);
});

test("the container's health is asked where the service listens, HOST and PORT, and is what that says", async (t) => {
  const check = /^HEALTHCHECK[^[]*(\[.*\])$/m.exec(read("deploy/docker/Dockerfile").replaceAll("\\\n", ""))?.[1];
  const [command = "", ...args] = JSON.parse(check ?? "[]") as string[];
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, "127.0.0.2");
  t.after(() => server.close());
  await once(server, "listening");
  const ask = async (HOST: string) => {
    const PORT = String((server.address() as AddressInfo).port);
    const child = spawn(command === "node" ? process.execPath : command, args, { env: { HOST, PORT }, stdio: "inherit" });
    return ((await once(child, "exit")) as [number])[0];
  };
  assert.equal(await ask("127.0.0.2"), 0);
  assert.equal(await ask(""), 1, "without HOST the service is on 127.0.0.1");
  status = 503;
  assert.equal(await ask("127.0.0.2"), 1);
  status = 200;
  server.close();
  server.listen(0, "::1");
  await once(server, "listening");
  assert.equal(await ask("::1"), 0);
});

test("the container image has the Node.js that the project pins and every folder that its program reads", () => {
  const lines = read("deploy/docker/Dockerfile").split("\n");
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: { node: string } };
  for (const line of lines.filter((line) => line.startsWith("FROM")))
    assert.match(line, new RegExp(`^FROM node:${dependencies.node.split(".")[0]}-`));
  const copied = lines.filter((line) => /^COPY (?!--from)/.test(line)).flatMap((line) => line.split(" ").slice(1, -1));
  const { imports } = JSON.parse(read("package.json")) as { imports: Record<string, string> };
  const folders = Object.values(imports).map((path) => path.split("/")[1] ?? "");
  for (const needed of ["migrations", "scripts/voicetill.mjs", "scripts/runtime.mjs", ...folders])
    assert.ok(copied.includes(needed), needed);
  const kept = read("deploy/docker/Dockerfile.dockerignore").split("\n");
  for (const path of copied) assert.ok(existsSync(path) && kept.includes(`!${path.split("/")[0]}`), path);
});
