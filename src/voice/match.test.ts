import assert from "node:assert/strict";
import { test } from "node:test";
import type { WaitingSession } from "#src/sessions/index.ts";
import { matchCall, type CallIdentifiers, type SessionIndex } from "./match.ts";

const ID = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;
const ORGANIZATION = "organization";
const waiting = (caller: string, id: string, differences: Partial<WaitingSession> = {}): WaitingSession => ({
  id,
  caller,
  organizationId: ORGANIZATION,
  environment: "test",
  ...differences,
});
const WAITING = [waiting("+14155550102", ID(2)), waiting("+14155550103", ID(3)), waiting("+14155550104", ID(4))];

const SERVICE = "+15550001111";
const PROJECT = { id: "project", organizationId: ORGANIZATION, country: "US", voice: { shortCode: true } };

const index: SessionIndex = {
  channelOf: async (id) => ([ID(1), ID(2), ID(3), ID(4)].includes(id) ? "voice" : id === ID(7) ? "widget" : null),
  waitingFor: async (callers) => WAITING.filter(({ caller }) => callers.includes(caller)),
  projectOf: async (dialled) => (dialled.includes(SERVICE) ? { ...PROJECT, number: SERVICE } : null),
  sessionOfCode: async (_project, code) => (code === "00000005" ? { sessionId: ID(5) } : code === "00000006" ? "several" : "none"),
  countries: async () => ["US"],
};
const readNational = (digits: string, country: string) =>
  country === "US" && /^1?[2-9][0-9]{9}$/.test(digits) ? `+1${digits.slice(-10)}` : null;
const none: CallIdentifiers = { sessionIds: [], callers: [], dialled: [], codes: [], calling: [] };
const search = (identifiers: Partial<CallIdentifiers>) => matchCall({ ...none, ...identifiers }, index, readNational);
const match = async (identifiers: Partial<CallIdentifiers>) => {
  const found = await search(identifiers);
  return "misses" in found ? null : found;
};

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
    '"Byron, \\"Ada\\"" <sip:+14155550102@carrier.example>',
    "tel:+1-415-555-0102",
    "0014155550102",
    "14155550102",
  ]) {
    assert.equal((await match({ callers: [value] }))?.sessionId, ID(2), value);
  }
});

test("X-Caller as tel: is read with its phone-context; a number local to a domain is nobody's (R-213)", async () => {
  for (const value of [
    "tel:555-0102;phone-context=+1-415",
    "<tel:415-555-0102;ext=5;phone-context=+1>",
    "<sip:555-0102;phone-context=+1-415@pbx.example;user=phone>",
  ])
    assert.equal((await match({ callers: [value] }))?.sessionId, ID(2), value);
  for (const value of [
    "tel:4155550102;phone-context=pbx.example",
    "<tel:14155550102;phone-context=pbx.example>",
    "sip:4155550102;phone-context=pbx.example@pbx.example",
    "tel:4155550102;phone-context=+44",
  ])
    assert.equal(await match({ callers: [value] }), null, value);
});

test("national numbers are read in the project's country (R-216)", async () => {
  assert.equal((await match({ dialled: ["+15550001111"], calling: ["4155550104"] }))?.sessionId, ID(4));
});

test("the dialled project's sessions alone are looked at, and all numbers of a call in one look-up (R-277)", async () => {
  const asked: unknown[] = [];
  const watched: SessionIndex = {
    ...index,
    waitingFor: async (callers, projectId) => {
      asked.push([callers, projectId]);
      return [];
    },
  };
  await matchCall({ ...none, callers: ["4155550102"], dialled: ["+15550001111"], calling: ["+14155550104"] }, watched, readNational);
  assert.deepEqual(asked, [[["+14155550102", "+4155550102", "+15550001111", "+14155550104"], "project"]]);
});

test("a trunk of one project's own names that project where the dialled number names none (R-217)", async () => {
  const asked: unknown[] = [];
  const byTrunk: SessionIndex = {
    ...index,
    projectOf: async (dialled) => (await index.projectOf(dialled)) ?? { ...PROJECT, id: "trunk's", number: null },
    waitingFor: async (callers, projectId) => {
      asked.push(projectId);
      return [];
    },
  };
  for (const dialled of ["+15550009999", "+15550001111"])
    await matchCall({ ...none, dialled: [dialled], calling: ["+14155550104"] }, byTrunk, readNational);
  assert.deepEqual(asked, ["trunk's", "project"]);
});

test("a number that may mean two callers of two organisations is ambiguous, one of a single organisation's is not (R-216, R-217)", async () => {
  const both = (organizationId: string): SessionIndex => ({
    ...index,
    waitingFor: async () => [waiting("+4155550102", ID(5), { organizationId }), waiting("+14155550102", ID(6))],
  });
  const dial = (store: SessionIndex) => matchCall({ ...none, calling: ["4155550102"] }, store, readNational);
  assert.deepEqual(await dial(both(ORGANIZATION)), { sessionId: ID(6), rule: "From" });
  const refused = await dial(both("another"));
  assert.match("misses" in refused ? (refused.misses.at(-1)?.why ?? "") : "", /^ambiguous/);
});

test("a dialled service number alone matches nothing, and so does an anonymous caller (R-214, R-215, R-218)", async () => {
  assert.equal(await match({ dialled: ["+15550001111"] }), null);
  assert.equal(await match({ dialled: ["16"], calling: [] }), null);
});

test("a call that matches nothing is told of rule by rule: what it went by, how that was read, why it named no session (R-218)", async () => {
  const found = await search({ sessionIds: [ID(9)], callers: ["nobody"], dialled: ["+15550001111"], calling: ["4155550199"] });
  assert.deepEqual("misses" in found && found.misses, [
    { rule: "X-Session-Id", value: ID(9), why: "there is no such voice session", readings: [] },
    { rule: "X-Caller", value: "nobody", why: "not a telephone number", readings: [] },
    { rule: "To", value: "+15550001111", why: "the project's own number names no session", readings: ["+15550001111"] },
    {
      rule: "From",
      value: "4155550199",
      why: "no session waits for this caller in the project whose number was dialled",
      readings: ["+14155550199", "+4155550199"],
    },
  ]);
  const bare = await search({ sessionIds: [ID(1), ID(2)], callers: ["a,b"] });
  assert.deepEqual("misses" in bare && bare.misses.map(({ rule, why }) => `${rule}: ${why}`), [
    "X-Session-Id: sent several times with different values",
    "X-Caller: a list of values",
    "To: no user part",
    "From: anonymous",
  ]);
});

test("a short code behind a project's number, or by its own trunk, names its session, after an id and before the caller (R-210, R-214)", async () => {
  const coded = { dialled: ["+15550001111"], codes: ["00000005"] };
  assert.deepEqual(await match({ ...coded, calling: ["+14155550104"] }), { sessionId: ID(5), rule: "short code" });
  assert.equal((await match({ ...coded, sessionIds: [ID(1)] }))?.sessionId, ID(1));
  const byTrunk = { ...index, projectOf: async () => ({ ...PROJECT, number: null }) };
  assert.deepEqual(await matchCall({ ...none, dialled: ["00000005"], codes: ["00000005"] }, byTrunk, readNational), {
    sessionId: ID(5),
    rule: "short code",
  });
});

test("a short code that names nothing hands over to the caller's number, and says why (R-218)", async () => {
  const why = async (identifiers: Partial<CallIdentifiers>, store = index) => {
    const found = await matchCall({ ...none, dialled: ["+15550001111"], ...identifiers }, store, readNational);
    return "misses" in found ? (found.misses.find(({ rule }) => rule === "short code")?.why ?? "") : found.rule;
  };
  assert.equal(await why({ codes: ["00000009"], calling: ["+14155550104"] }), "From");
  assert.match(await why({ codes: ["00000009"] }), /^no session of the project/);
  assert.match(await why({ codes: ["00000006"] }), /^more than one session/);
  assert.match(await why({ codes: ["00000005", "00000006"] }), /^sent several times/);
  assert.match(await why({ codes: ["00000005"] }, { ...index, sessionOfCode: async () => "closed" }), /^too many wrong codes/);
  // Off, as it is unless the project says otherwise; and no project named.
  const off = { ...index, projectOf: async () => ({ ...PROJECT, number: SERVICE, voice: { shortCode: false } }) };
  assert.match(await why({ codes: ["00000005"] }, off), /^no project with short codes/);
  assert.match(await why({ dialled: ["00000005"], codes: ["00000005"] }), /^no project with short codes/);
});

test("a call that matches nothing may be asked for a code in the project that it names, if that has codes, and never after a refusal (R-218, R-280)", async () => {
  const project = async (identifiers: Partial<CallIdentifiers>, of = index) => {
    const found = await matchCall({ ...none, ...identifiers }, of, readNational);
    return "misses" in found ? (found.project?.id ?? null) : found;
  };
  const off = { ...index, projectOf: async () => ({ ...PROJECT, number: SERVICE, voice: { shortCode: false } }) };
  assert.equal(await project({ dialled: [SERVICE] }), "project");
  assert.equal(await project({ dialled: [SERVICE], calling: ["+14155550199"] }), "project");
  assert.equal(await project({}, { ...index, projectOf: async () => ({ ...PROJECT, number: null }) }), "project", "named by its trunk");
  assert.equal(await project({ dialled: [SERVICE] }, off), null);
  assert.equal(await project({ dialled: ["+15550002222"] }), null);
  assert.equal(await project({ dialled: [SERVICE, ID(7)] }), null);
});

test("a widget session's id matches nothing, and no other session is taken for it (R-280)", async () => {
  for (const identifiers of [
    { sessionIds: [ID(7)], callers: ["+14155550102"] },
    { dialled: [ID(7)], calling: ["+14155550104"] },
  ]) {
    const found = await search(identifiers);
    assert.equal("misses" in found && found.misses.at(-1)?.why, "a widget session cannot be called");
  }
});
