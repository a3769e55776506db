import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testDatabase } from "../testing.ts";
import { batched } from "./batch.ts";
import type { Database } from "./database.ts";
import { statement } from "./statement.ts";
import { TransactionScope } from "./transaction-scope.ts";

let database: Database;
before(async () => {
  database = await testDatabase();
});
after(() => database.close());

/** A `work` that waits to be told how each of its calls ends. */
function byHand() {
  const calls: { items: readonly string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  let wake = () => {};
  const ask = batched(new TransactionScope(), (items: readonly string[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<string[]>();
    calls.push({ items, answer: () => resolve(items.map((item) => `${item}!`)), fail: reject });
    wake();
    return promise;
  });
  const called = async (count: number) => {
    while (calls.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { ask, calls, called };
}

const refusal = (code: string) => Object.assign(new Error(code), { code });

test("what is asked for at once or while a call is under way makes one call, and everyone gets his own answer", async () => {
  const { ask, calls, called } = byHand();
  const first = Promise.all(["a", "b"].map(ask));
  await called(1);
  const second = Promise.all(["c", "d", "e"].map(ask));
  calls[0]!.answer();
  assert.deepEqual(await first, ["a!", "b!"]);
  await called(2);
  calls[1]!.answer();
  assert.deepEqual(await second, ["c!", "d!", "e!"]);
  assert.deepEqual(
    calls.map(({ items }) => items.join("")),
    ["ab", "cde"],
  );
});

test("an answer is given only after the call that held its item has ended (R-146)", async () => {
  const { ask, calls, called } = byHand();
  let answered = false;
  const asked = ask("a").then(() => (answered = true));
  await called(1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(answered, false);
  calls[0]!.answer();
  await asked;
});

test("nobody fails for the fault of his neighbour's data", async () => {
  const { ask, calls, called } = byHand();
  const asked = Promise.allSettled(["a", "bad"].map(ask));
  await called(1);
  calls[0]!.fail(refusal("23503"));
  await called(2);
  calls[1]!.answer();
  await called(3);
  calls[2]!.fail(refusal("23503"));
  assert.deepEqual(
    (await asked).map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
});

test("when the database is gone all fail, nothing is tried again, and later ones are served", async () => {
  const { ask, calls, called } = byHand();
  const asked = Promise.allSettled(["a", "b"].map(ask));
  await called(1);
  calls[0]!.fail(refusal("ECONNRESET"));
  assert.deepEqual(
    (await asked).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  const later = ask("c");
  await called(2);
  calls[1]!.answer();
  assert.equal(await later, "c!");
});

test("a call that hangs holds up nobody but its own (E2)", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { ask, calls, called } = byHand();
  const hanging = ask("a");
  await called(1);
  const waiting = ask("b");
  context.mock.timers.tick(500);
  await called(2);
  calls[1]!.answer();
  assert.equal(await waiting, "b!");
  const later = ask("c");
  await called(3);
  calls[0]!.answer();
  assert.equal(await hanging, "a!");
  calls[2]!.answer();
  assert.equal(await later, "c!");
});

test("a batch is outside of every transaction: asked for inside of one it fails at once", { timeout: 20_000 }, async () => {
  const one = statement<{ one: number }>("test_one", "select 1::int as one");
  const ask = database.batched(async (db, items: readonly number[]) => {
    const [row] = await one(db);
    return items.map((item) => item + row!.one);
  });
  await assert.rejects(
    database.transaction(() => ask(1)),
    /left the transaction/,
  );
  const [inside] = await Promise.all([
    database.transaction(async (tx) => (await one(tx))[0]!.one),
    ...[1, 2].map(async (n) => assert.equal(await ask(n), n + 1)),
  ]);
  assert.equal(inside, 1);
});

test("a statement is prepared once a connection and takes part in its handle's transaction", async () => {
  const put = statement("test_put", "insert into organizations (id, slug, name) values ($1, $2, 'x')");
  const id = "00000000-0000-4000-8000-00000000000a";
  await assert.rejects(
    database.transaction(async (tx) => {
      await put(tx, id, "rolled-back");
      throw new Error("no");
    }),
    /^Error: no$/,
  );
  for (const slug of ["one", "two"]) await put(database.db, id.replace("a", slug === "one" ? "b" : "c"), slug);
  const rows = await database.db.selectFrom("organizations").select("slug").orderBy("slug").execute();
  assert.deepEqual(
    rows.map(({ slug }) => slug),
    ["one", "two"],
  );
  const names = statement<{ name: string }>("test_names", "select name from pg_prepared_statements where name like 'test_p%'");
  assert.deepEqual(await names(database.db), [{ name: "test_put" }]);
});
