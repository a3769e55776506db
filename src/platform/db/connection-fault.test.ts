import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { silentLog } from "../log.ts";
import { openPostgres } from "./postgres.ts";

/** What opening says to a server that answers each connection's first message so. */
async function saidTo(answer: Buffer, query = ""): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    await openPostgres(`postgres://till:hunter2@127.0.0.1:${port}/till${query}`, silentLog);
  } catch (error) {
    return (error as Error).message;
  } finally {
    server.close();
  }
  return "it was opened";
}

/** An ErrorResponse of PostgreSQL's protocol. */
function refusal(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0Mhunter2\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from("E"), length, fields]);
}

const REFUSALS: [string, RegExp][] = [
  ["28P01", /does not take this user and password/],
  ["28000", /does not let this user in/],
  ["3D000", /no database of this name/],
  ["42501", /may not connect to the database/],
  ["53300", /no connection left/],
  ["57P03", /starting or shutting down/],
  ["0A000", /refuses the connection \(SQLSTATE 0A000\)/],
];

for (const [code, words] of REFUSALS) {
  test(`a server that refuses with SQLSTATE ${code} is told from one that cannot be reached, without the secret`, async () => {
    const sentence = await saidTo(refusal(code));
    assert.match(sentence, words);
    assert.match(sentence, /^DATABASE_URL: .*\.$/);
    assert.doesNotMatch(sentence, /hunter2|cannot be reached/);
  });
}

test("a password whose signs were not escaped is told as that, not as a server that is away", async () => {
  await assert.rejects(
    openPostgres("postgres://till:hunter#2@127.0.0.1/till", silentLog),
    /^OperatorError: DATABASE_URL: it cannot be read as .*%23/,
  );
});

test("a server without TLS, and one that hangs up, are told apart", async () => {
  assert.match(await saidTo(Buffer.from("N"), "?sslmode=require"), /the server has no TLS, which sslmode demands/);
  assert.match(await saidTo(Buffer.alloc(0)), /cannot be reached with it: the connection was closed at once/);
});

test("a demand for TLS has the driver warn of nothing: any sslmode but no-verify and disable verifies the certificate", async () => {
  const warnings: Error[] = [];
  const keep = (warning: Error) => void warnings.push(warning);
  process.on("warning", keep);
  for (const mode of ["prefer", "require", "verify-ca", "verify-full"]) await saidTo(Buffer.from("N"), `?sslmode=${mode}`);
  process.off("warning", keep);
  assert.deepEqual(warnings, []);
});
