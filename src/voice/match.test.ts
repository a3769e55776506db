import assert from "node:assert/strict";
import { test } from "node:test";
import { matchCall, type InviteClues, type SessionIndex } from "./match.ts";

const ID = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const CALLERS: Record<string, string> = { "+14155550102": ID(2), "+14155550103": ID(3), "+14155550104": ID(4) };

const index: SessionIndex = {
  exists: async (id) => [ID(1), ID(2), ID(3), ID(4)].includes(id),
  pendingByCaller: async (caller) => (CALLERS[caller] ? { id: CALLERS[caller], environment: "test" } : null),
  projectOfNumber: async (number) => (number === "+15550001111" ? { id: "project", country: "US" } : null),
  countries: async () => ["US"],
};
const readNational = (digits: string, country: string) =>
  country === "US" && /^1?[2-9][0-9]{9}$/.test(digits) ? `+1${digits.slice(-10)}` : null;
const none: InviteClues = { sessionIds: [], callers: [], dialled: [], calling: [] };
const match = (clues: Partial<InviteClues>) => matchCall({ ...none, ...clues }, index, readNational);

test("the highest rule that names a session wins, in all sixteen combinations (R-210)", async () => {
  for (let bits = 0; bits < 16; bits++) {
    const found = await match({
      sessionIds: bits & 1 ? [ID(1)] : [],
      callers: bits & 2 ? ["+14155550102"] : [],
      dialled: bits & 4 ? [ID(3)] : ["+15550001111"],
      calling: bits & 8 ? ["+14155550104"] : [],
    });
    const expected = bits & 1 ? ID(1) : bits & 2 ? ID(2) : bits & 4 ? ID(3) : bits & 8 ? ID(4) : undefined;
    assert.equal(found?.sessionId, expected, `combination ${bits.toString(2)}`);
  }
});

test("a session id counts in any case and trimmed, and a repeated or listed one is malformed (R-211, R-212)", async () => {
  assert.equal((await match({ sessionIds: [` ${ID(1).toUpperCase()} `] }))?.sessionId, ID(1));
  assert.equal((await match({ sessionIds: [ID(1), ID(1)] }))?.sessionId, ID(1), "the same id in header and URI is one id");
  assert.equal(await match({ sessionIds: [ID(1), ID(2)] }), null);
  assert.equal(await match({ sessionIds: [`${ID(1)},${ID(1)}`] }), null);
  assert.equal((await match({ sessionIds: ["nonsense"], calling: ["+14155550104"] }))?.rule, "From");
  assert.equal((await match({ sessionIds: [ID(9)], callers: ["+14155550102"] }))?.rule, "X-Caller");
});

test("X-Caller may be a number, a URI or a name-addr (R-213)", async () => {
  for (const value of [
    "+14155550102",
    "sip:+14155550102@carrier.example;user=phone",
    '"Ada" <sip:+14155550102@carrier.example>',
    "tel:+1-415-555-0102",
    "0014155550102",
    "14155550102",
  ]) {
    assert.equal((await match({ callers: [value] }))?.sessionId, ID(2), value);
  }
});

test("national numbers are read in the project's country (R-216)", async () => {
  assert.equal((await match({ dialled: ["+15550001111"], calling: ["4155550104"] }))?.sessionId, ID(4));
});

test("a dialled service number alone matches nothing, and so does an anonymous caller (R-214, R-215, R-218)", async () => {
  assert.equal(await match({ dialled: ["+15550001111"] }), null);
  assert.equal(await match({ dialled: ["16"], calling: [] }), null);
});
