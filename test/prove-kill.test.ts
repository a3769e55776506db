import assert from "node:assert/strict";
import { test } from "node:test";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { RecordedEntry } from "#simulators/kit/ledger.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { endOf } from "../prove/kill/audit.ts";
import { type ReceivedWebhook, checkInvariants, keptCards } from "../prove/kill/invariants.ts";
import { KillSchedule } from "../prove/kill/kill-schedule.ts";
import { openedSince } from "../prove/kill/leaks.ts";
import { SeededRandom } from "../prove/random.ts";
import { report } from "../prove/kill/report.ts";
import { unfinished, waitingLine } from "../prove/kill/rest.ts";
import { findCards } from "../prove/kill/scan.ts";
import { GIVEN_UP, PLACES, REVERSAL } from "../prove/kill/workload.ts";
import { GATEWAYS, recoveryOf } from "../prove/kill/vendors.ts";
import { type Plan, type Observation, Track } from "../prove/kill/track.ts";

/** The invariant checker of `npm run prove -- kill` finds every invariant that is broken by hand. */

const ID = "3f6c0a5e-0000-4000-8000-000000000001";

interface Case {
  plan: Plan;
  seen: Observation[];
  ledger: Partial<RecordedEntry>[];
  hooks: Partial<ReceivedWebhook>[];
  cancelAnswers: number[];
  otherIds: string[];
  unanswered: number;
  hasRungOff: boolean;
}

const seen = (status: string, more: Partial<Observation> = {}): Observation => ({
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
const hook = (status: string, more: Partial<ReceivedWebhook> = {}): Partial<ReceivedWebhook> => ({
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
  unanswered: 0,
  hasRungOff: false,
});

function invariantsOf({ plan, seen, ledger, hooks, cancelAnswers, otherIds, unanswered, hasRungOff }: Case): string[] {
  const track = new Track(plan);
  track.id = ID;
  for (const id of [ID, ...otherIds]) track.ids.add(id);
  track.seen.push(...seen);
  track.cancelAnswers.push(...cancelAnswers);
  track.unanswered = unanswered;
  track.hasRungOff = hasRungOff;
  if (seen.at(-1)?.status !== "COLLECTING") track.finalAt = 1;
  const breaks = checkInvariants({ tracks: [track], ledger: ledger as RecordedEntry[], hooks: hooks as ReceivedWebhook[] }, true);
  return [...new Set(breaks.map(({ invariant }) => invariant))].toSorted();
}

test("a payment that went well breaks nothing", () => assert.deepEqual(invariantsOf(paid()), []));

const failed = { seen: [seen("payment-failed")], hooks: [hook("payment-failed")] };
const stray = (status: string) => [...paid().hooks, hook(status, { body: { ...hook(status).body, session_id: "another" } })];
const keyless = { plan: { ...paid().plan, key: null }, unanswered: 1 };
const GIVEN_BACK = [seen("COLLECTING"), seen("PENDING"), seen("payment-success")];
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
  ["a state that was taken back", { seen: GIVEN_BACK }, ["I7"]],
  ["a session given back by a call that was never answered", { seen: GIVEN_BACK, hasRungOff: true }, []],
  ["a session that nobody asked for", { hooks: stray("expired") }, ["I1"]],
  ["two sessions of a client that asked twice without a key", { ...keyless, hooks: stray("expired") }, []],
  ["the one that nobody knows of was used", { ...keyless, hooks: stray("abandoned") }, ["I10"]],
  ["a session that is stuck", { seen: [seen("COLLECTING")], hooks: [] }, ["I10"]],
  ["paid after a confirmed cancel", { cancelAnswers: [204] }, ["I11"]],
];
for (const [what, change, invariants] of BROKEN) {
  test(`the checker of kills finds: ${what}`, () => assert.deepEqual(invariantsOf({ ...paid(), ...change }), invariants));
}

test("a card that the vendor keeps of a session that was not paid has to be on the operator's list", () => {
  const stored = { ...paid().plan, mode: "tokenize" } as const;
  const ledger = [charge({ kind: "token", amountMinor: 0 })] as RecordedEntry[];
  const keptOf = (status: string) => keptCards([trackOf(ID, { seen: [seen(status)], plan: stored })], ledger);
  assert.deepEqual(keptOf("payment-failed"), [ID]);
  assert.deepEqual(keptOf("payment-success"), []);
});

test("a session that expires before its client's repeated creation is answered belongs to that client", () => {
  const track = new Track(paid().plan);
  const evidence = { tracks: [track], ledger: [], hooks: [hook("expired")] as ReceivedWebhook[] };
  assert.deepEqual(checkInvariants(evidence, false), []);
  assert.deepEqual(
    checkInvariants(evidence, true).map(({ what }) => what),
    ["its creation was never answered"],
  );
});

function trackOf(id: string | null, { seen, plan = paid().plan }: { seen: Observation[]; plan?: Plan }): Track {
  const track = new Track(plan);
  track.id = id;
  track.seen.push(...seen);
  if (id !== null && seen.at(-1)?.status !== "COLLECTING") track.finalAt = 1;
  return track;
}

test("a run waits until every session is final and told and what must be is given back, and says what for and how long", () => {
  const [adyen, unknown] = [`${ID.slice(0, -1)}2`, `${ID.slice(0, -1)}3`];
  const plan = paid().plan;
  const tracks = [
    trackOf(ID, { seen: [seen("payment-success")] }),
    trackOf(adyen, { seen: [seen("COLLECTING")], plan: { ...plan, gateway: "adyen" } }),
    trackOf(unknown, { seen: [seen("payment-failed", { errorCode: "outcome_unknown" })] }),
    trackOf(null, { seen: [] }),
  ];
  const ledger = [
    charge({ at: "2026-01-01T00:00:00.000Z" }),
    charge({ gateway: "adyen", reference: `${adyen}-1`, at: "2026-01-01T00:00:07.000Z" }),
    charge({ reference: `${unknown}-1`, at: "2026-01-01T00:00:09.000Z" }),
  ] as RecordedEntry[];
  const hooks = [
    hook("payment-success", { answered: "500" }),
    hook("payment-failed", { body: { session_id: unknown } }),
  ] as ReceivedWebhook[];
  const evidence = { tracks, ledger, hooks };
  assert.equal(
    waitingLine(evidence, 60),
    "  60 s  4 of 4 left: 1 adyen COLLECTING (no vendor to ask: until 00:10:07 UTC), 1 stripe not created, 1 stripe not given back, 1 stripe not told",
  );
  // A client that was refused will never have a session.
  tracks[3]!.hasGivenUp = true;
  assert.deepEqual(
    unfinished(evidence).map(({ track, what }) => [track.id, what]),
    [
      [ID, "not told"],
      [adyen, "COLLECTING"],
      [unknown, "not given back"],
    ],
  );
  const whole = { tracks: [tracks[0]!], ledger, hooks: paid().hooks as ReceivedWebhook[] };
  assert.deepEqual(unfinished(whole), []);
});

test("a run ends with one line, which says when it was cut short", () => {
  const lastLine = (isWhole: boolean) => report({ rounds: [], tracks: [], breaks: [], seconds: 1, isWhole }).split("\n").at(-1);
  assert.equal(lastLine(true), "0 kills, 0 sessions, 0 broken invariants");
  assert.equal(lastLine(false), "0 kills, 0 sessions, 0 broken invariants; cut short, the end was not judged");
});

test("every place has its turn, the late ones when they are due, every way to pay is killed as often, and every gateway's answer is lost", () => {
  const schedule = new KillSchedule(new SeededRandom(1));
  const [places, ways, lost] = [new Set<string>(), new Map<string, number>(), new Set<string>()];
  for (let round = 0; round < 300; round++) {
    const planned = schedule.next(round < 250 ? [] : [GIVEN_UP, REVERSAL]);
    const { channel, mode, gateway } = planned.scenario;
    const way = `${channel} ${mode} ${gateway}`;
    if (round < 40 && planned.kind === "money taken" && gateway) lost.add(gateway);
    if (round < 250 && channel && mode && gateway) ways.set(way, (ways.get(way) ?? 0) + 1);
    if (planned.kind !== "point") continue;
    places.add(planned.place);
    schedule.hit(planned.place);
  }
  assert.deepEqual([...places].toSorted(), PLACES.toSorted());
  assert.deepEqual([...lost].toSorted(), GATEWAYS.toSorted());
  assert.equal(ways.size, 2 * 2 * GATEWAYS.length);
  assert.ok(Math.min(...ways.values()) >= 3, JSON.stringify([...ways]));
});

test("a gateway of each kind of recovery that adapters declare takes part in the kills", () => {
  const kinds = (names: readonly string[]) => new Set(names.map((name) => recoveryOf(GATEWAYS_BUILT[name as GatewayName]!.capabilities)));
  assert.deepEqual([...kinds(GATEWAYS)].toSorted(), [...kinds(Object.keys(GATEWAYS_BUILT))].toSorted());
});

test("an audit trail leads along the table of states, or nowhere", () => {
  const trail = ["session.claim", "session.charge", "session.lose", "session.approve"];
  assert.equal(endOf(trail), "payment-success");
  assert.equal(endOf(trail.toSpliced(1, 1)), null);
  assert.equal(endOf([...trail, "session.fail"]), null);
});

test("what a process opened and kept is told by its kind", () => {
  assert.deepEqual(openedSince({ socket: 9, pipe: 2 }, { socket: 11, pipe: 1, anon_inode: 1 }), ["2 socket", "1 anon_inode"]);
});

test("a card number is found in whatever form it was written", () => {
  const card = "4916338506082832";
  const hidden = [
    card,
    "4916 3385 0608 2832",
    Buffer.from(card).toString("hex"),
    Buffer.from(`x${card}`).toString("base64"),
    card.split("").toReversed().join(""),
  ];
  const texts = hidden.map((text, index) => [String(index), Buffer.from(`{"a":"${text}"}`)] as const);
  assert.equal(findCards(texts, [card], [card]).length, hidden.length);
  assert.deepEqual(findCards([["clean", Buffer.from("4916338506082831")]], [card], [card]), []);
});
