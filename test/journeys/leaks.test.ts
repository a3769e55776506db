import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "pg";
import { openTelephone, type Telephone } from "#src/cli/caller/caller.ts";
import { PROMPT_CACHE } from "./paying.ts";
import { startService, type Service } from "./service.ts";

/** After payments of every kind, nothing that this service wrote may hold a card number or a security code. */

/** Luhn-valid numbers that appear nowhere else in this project, and a code that is rare enough to look for. */
const CARDS = ["4916338506082832", "5425233430109903", "4000000000000002"];
const CODE = "8317";
const AMEX = "374245455400126";

let service: Service;
let telephone: Telephone;

before(async () => {
  service = await startService({ env: { SPEECH: "off" } });
  telephone = await openTelephone(PROMPT_CACHE);
});

after(async () => {
  await telephone.close();
  await service.stop();
});

/** The forms in which digits travel: plain, in groups, as two-byte text, in base64 at each alignment, in hexadecimal, backwards. */
function formsOf(digits: string): [string, Buffer][] {
  const groups = digits.match(/.{1,4}/g) ?? [];
  const base64 = [0, 1, 2].map((shift): [string, Buffer] => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(digits)]).toString("base64");
    return [`base64 shifted by ${shift}`, Buffer.from(text.slice(shift === 0 ? 0 : 4, Math.floor(text.length / 4) * 4 - 4))];
  });
  return [
    ["plain", Buffer.from(digits)],
    ["spaced", Buffer.from(groups.join(" "))],
    ["dashed", Buffer.from(groups.join("-"))],
    ["UTF-16", Buffer.from(digits, "utf16le")],
    ["hexadecimal", Buffer.from(Buffer.from(digits).toString("hex"))],
    ["backwards", Buffer.from(digits.split("").toReversed().join(""))],
    ...base64,
  ];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

/** Where each form of `digits` is found: file names, or "output". */
function findings(digits: string, haystacks: [string, Buffer][]): string[] {
  return formsOf(digits).flatMap(([form, needle]) =>
    haystacks.filter(([, bytes]) => bytes.includes(needle)).map(([where]) => `${form} in ${where}`),
  );
}

async function haystacks(): Promise<[string, Buffer][]> {
  const url = service.env["DATABASE_URL"];
  const dumped = url ? await dump(url) : [];
  const files = filesBelow(service.folder).map((path): [string, Buffer] => [path.slice(service.folder.length), readFileSync(path)]);
  return [...files, ...dumped, ["output", Buffer.from(service.output())]];
}

/** Every row of every table as text: a server's data folder may belong to another user. */
async function dump(url: string): Promise<[string, Buffer][]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
    );
    const rows: [string, Buffer][] = [];
    for (const { name } of tables.rows) {
      const { rows: texts } = await client.query<{ text: string }>(`select t::text as text from ${name} t`);
      rows.push([name, Buffer.from(texts.map(({ text }) => text).join("\n"))]);
    }
    return rows;
  } finally {
    await client.end();
  }
}

test("no card number and no security code is in logs, data folder, WAL or output, and a planted one is found (S-04, S-06, S-07)", async () => {
  const pay = async (card: string, code: string, fields: object = {}, callerLeaves = false) => {
    const { session_id, sip_uri } = await service.create(fields);
    const keys = `${card}#1230#${code}#94105#1`;
    const turns = [
      { do: "wait for", text: "payment line" } as const,
      { do: "key", keys } as const,
      ...(callerLeaves ? [{ do: "wait for", text: "One moment" } as const, { do: "hang up" } as const] : []),
    ];
    await telephone.call({
      target: sip_uri,
      from: "sip:+15555550100@127.0.0.1",
      headers: [],
      turns: callerLeaves ? turns : [...turns, { do: "wait", seconds: 3 }, { do: "hang up" }],
      onEvent: () => {},
    });
    return session_id;
  };
  const ended = [
    await pay(CARDS[0] ?? "", "831"),
    await pay(AMEX, CODE),
    await pay(CARDS[2] ?? "", "831"),
    await pay(CARDS[1] ?? "", "831", { gateway: "webhook" }),
    await pay(CARDS[1] ?? "", "831", { mode: "tokenize", amount: "0" }),
    await pay(CARDS[0] ?? "", "831", { gateway: "webhook", mode: "tokenize", amount: "0" }, true),
  ];
  for (const id of ended) assert.notEqual((await service.session(id))["status"], "PENDING");
  // Speech off or on, a card number typed where it does not belong is refused without an echo.
  const refused = await service.request("POST", "/v1/sessions", {
    project: "shop",
    caller: CARDS[0],
    amount: CARDS[0],
    mode: CARDS[1],
    gateway: AMEX,
  });
  assert.equal(refused.status, 422);
  assert.deepEqual(findings(CARDS[0] ?? "", [["answer", Buffer.from(JSON.stringify(refused.body))]]), []);

  const places = await haystacks();
  assert.ok(places.length > 1);
  const found = [...CARDS, AMEX].flatMap((card) => findings(card, places));
  assert.deepEqual(found, []);
  const withCode = places.filter(([where, bytes]) => where === "output" && new RegExp(`\\b${CODE}\\b`).test(bytes.toString("latin1")));
  assert.deepEqual(
    withCode.map(([where]) => where),
    [],
  );

  const [planted] = CARDS;
  assert.equal(
    formsOf(planted ?? "").every(([form, needle]) =>
      findings(planted ?? "", [["planted", Buffer.concat([Buffer.from("x"), needle, Buffer.from("y")])]]).some((hit) =>
        hit.startsWith(form),
      ),
    ),
    true,
  );
  assert.notDeepEqual(findings(planted ?? "", [["planted", Buffer.from(`{"note":"${planted}"}`)]]), []);
});
