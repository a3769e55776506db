import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerEntry } from "./ledger.ts";
import { Vault } from "./vault.ts";

test("the ledger has a card that is stored for its own sake as a token, one beside a payment only when it is forgotten", () => {
  const entries: Omit<LedgerEntry, "gateway">[] = [];
  const tools = { record: (entry: (typeof entries)[number]) => void entries.push(entry), now: () => 7, id: String, digits: String };
  const vault = new Vault<{ number: string }>(tools);
  const card = { number: "4242424242424242" };
  assert.deepEqual(vault.store("a", card, "s-1"), { ...card, id: "a", reference: "s-1", at: 7 });
  vault.keep("b", card, "s-2");
  assert.deepEqual([vault.get("c"), vault.remove("c"), vault.find(({ id }) => id === "b")?.id], [undefined, undefined, "b"]);
  vault.remove("b");
  assert.deepEqual(vault.all(), [vault.use("a")]);
  assert.deepEqual(vault.all(), []);
  assert.deepEqual(entries, [
    { kind: "token", id: "a", reference: "s-1", outcome: "approved", card: "************4242" },
    { kind: "void", id: "b", reference: "s-2", outcome: "approved" },
  ]);
});
