import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordedEntry } from "#simulators/ledger.ts";
import { type Hook, judge } from "../prove/kill/judge.ts";
import { findCards } from "../prove/kill/scan.ts";
import { type Plan, type Seen, Track } from "../prove/kill/track.ts";

/** The judge of `npm run prove -- kill` sees every invariant broken by hand. */

const ID = "3f6c0a5e-0000-4000-8000-000000000001";

interface Case {
  plan: Plan;
  seen: Seen[];
  ledger: Partial<RecordedEntry>[];
  hooks: Partial<Hook>[];
  cancelAnswers: number[];
  otherIds: string[];
}

const seen = (status: string, more: Partial<Seen> = {}): Seen => ({
  at: 0,
  status,
  completedAt: status.includes("-") ? "2026-01-01T00:00:00.000Z" : null,
  errorCode: null,
  processor: "null",
  ...more,
});
const charge = (more: Partial<RecordedEntry> = {}): Partial<RecordedEntry> => ({
  kind: "charge",
  outcome: "approved",
  reference: `${ID}-1`,
  amountMinor: 1234,
  currency: "USD",
  ...more,
});
const hook = (status: string, more: Partial<Hook> = {}): Partial<Hook> => ({
  id: "evt_1",
  body: { session_id: ID, status, amount_cents: 1234, currency: "USD" },
  answered: "204",
  ...more,
});

const paid = (): Case => ({
  plan: { key: "k", channel: "voice", gateway: "stripe", mode: "charge", amountMinor: 1234, behaviour: "pays", cards: [] },
  seen: [seen("PENDING"), seen("COLLECTING"), seen("payment-success")],
  ledger: [charge()],
  hooks: [hook("payment-success")],
  cancelAnswers: [],
  otherIds: [],
});

function invariantsOf({ plan, seen, ledger, hooks, cancelAnswers, otherIds }: Case): string[] {
  const track = new Track(plan);
  track.id = ID;
  for (const id of [ID, ...otherIds]) track.ids.add(id);
  track.seen.push(...seen);
  track.cancelAnswers.push(...cancelAnswers);
  if (seen.at(-1)?.status !== "COLLECTING") track.finalAt = 1;
  const breaks = judge({ tracks: [track], ledger: ledger as RecordedEntry[], hooks: hooks as Hook[] }, true);
  return [...new Set(breaks.map(({ invariant }) => invariant))].toSorted();
}

test("a payment that went well breaks nothing", () => assert.deepEqual(invariantsOf(paid()), []));

const failed = { seen: [seen("payment-failed")], hooks: [hook("payment-failed")] };
const BROKEN: readonly (readonly [what: string, change: Partial<Case>, invariants: string[]])[] = [
  ["a session that was created is gone", { seen: [seen("missing")], ledger: [], hooks: [hook("missing")] }, ["I1"]],
  ["one key made two sessions", { otherIds: ["3f6c0a5e-0000-4000-8000-000000000002"] }, ["I1"]],
  ["a charge of nobody's", { ledger: [charge(), charge({ reference: "x-1" })] }, ["I1"]],
  ["two charges stand", { ledger: [charge(), charge({ reference: `${ID}-2` })] }, ["I2"]],
  ["success without a charge", { ledger: [] }, ["I3"]],
  ["another amount", { ledger: [charge({ amountMinor: 1 })] }, ["I3"]],
  ["failed and charged", failed, ["I4"]],
  ["failed, and the charge was given back", { ...failed, ledger: [charge(), charge({ kind: "void" })] }, []],
  ["no webhook", { hooks: [] }, ["I5"]],
  ["a webhook that was refused only", { hooks: [hook("payment-success", { answered: "500" })] }, ["I5"]],
  ["a webhook with another status", { hooks: [hook("payment-failed")] }, ["I5"]],
  ["a webhook that nobody signed", { hooks: [hook("payment-success", { id: null, why: "x" })] }, ["I5"]],
  ["two webhooks", { hooks: [hook("payment-success"), hook("payment-success", { id: "evt_2" })] }, ["I5"]],
  ["a final state that changed", { seen: [seen("payment-failed"), seen("payment-success")] }, ["I6"]],
  ["a result that changed", { seen: [seen("payment-success"), seen("payment-success", { processor: "{}" })] }, ["I7"]],
  ["a session that is stuck", { seen: [seen("COLLECTING")], hooks: [] }, ["I10"]],
  ["paid after a confirmed cancel", { cancelAnswers: [204] }, ["I11"]],
];
for (const [what, change, invariants] of BROKEN) {
  test(`the judge of kills sees: ${what}`, () => assert.deepEqual(invariantsOf({ ...paid(), ...change }), invariants));
}

test("a card number is found in whatever form it was written", () => {
  const card = "4916338506082832";
  const hidden = [
    card,
    "4916 3385 0608 2832",
    Buffer.from(card).toString("hex"),
    Buffer.from(`x${card}`).toString("base64"),
    card.split("").toReversed().join(""),
  ];
  const haystacks = hidden.map((text, index) => [String(index), Buffer.from(`{"a":"${text}"}`)] as const);
  assert.equal(findCards(haystacks, [card], [card]).length, hidden.length);
  assert.deepEqual(findCards([["clean", Buffer.from("4916338506082831")]], [card], [card]), []);
});
