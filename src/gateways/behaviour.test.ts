import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { GatewayName, Mode } from "#src/kernel/payment.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { createOutbound } from "#src/platform/index.ts";
import { cardNumbersIn } from "#simulators/kit/cards.ts";
import { startSimulators } from "#simulators/index.ts";
import type { Simulators } from "#simulators/index.ts";
import type { Gateway, GatewayAnswer, GatewayIo, GatewayRequest, GatewaySettings, LookUpResult, Order, Outcome } from "./contract.ts";
import { GATEWAYS_BUILT } from "./registry.ts";
import type { JsonObject } from "./kit/index.ts";
import { behaviours, cardOf, orderOf, settingsOf, testIo, traceOf, inMode, wrongSettings } from "./testing.ts";
import type { Column, LedgerEntry, SimulatedVendor, TestIo } from "./testing.ts";

/**
 * One table for every gateway, over real sockets, against simulators that were written from the vendors' sheets. What is
 * particular to one stands in its folder's behaviour.ts.
 */

/** How long a request is waited for that a test makes hang: long enough for the vendor to act on it, on a busy machine too. */
const HANGING_MS = 2_000;
const REQUEST_MS = 10_000;

const COLUMNS = await behaviours();

/** Uniform cards of every simulator (docs/operations.md, Simulators) and what the caller's session must end in. */
const CARDS: readonly (readonly [card: string, code: string])[] = [
  ["4000000000000002", "card_declined"],
  ["4000000000009995", "insufficient_funds"],
  ["4000000000000069", "expired_card"],
  ["4000000000000127", "incorrect_cvc"],
  ["4000000000000119", "processing_error"],
  ["4000000000009987", "lost_or_stolen"],
];

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

/** Requests to `path` hang, so many of them at the most. */
interface Hanging {
  path: string;
  times: number;
}

const pathOf = ({ name }: Gateway, { url }: GatewayRequest): string => new URL(url).pathname.slice(name.length + 1) || "/";

/** Whether a request goes to a path of the simulator; where all go to one address, the path ends in a word of the request's body. */
const isFor = (gateway: Gateway, path: string, request: GatewayRequest): boolean =>
  request.method !== "GET" &&
  (pathOf(gateway, request).startsWith(path) || Buffer.from(request.body ?? []).includes(path.slice(path.lastIndexOf("/") + 1)));

function openIo(gateway: Gateway, changes: Partial<GatewaySettings> = {}, hanging: Hanging | null = null): TestIo {
  const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] });
  const settings = settingsOf(gateway, { endpoint: `${simulators.url}/${gateway.name}` });
  let left = hanging?.times ?? 0;
  return testIo({ ...settings, ...changes }, (request) => {
    const hangs = left > 0 && isFor(gateway, hanging!.path, request);
    if (hangs) left--;
    return outbound.send({ ...request, timeoutMs: hangs ? HANGING_MS : REQUEST_MS });
  });
}

const IDEMPOTENCY_KEY = /^((cko|x-gp)-)?idempotency(-key)?$|^(x-vps-)?request-id$/i;

/** To a vendor that has forgotten an idempotency key it is a new one. */
function withNewKeys(io: TestIo): TestIo {
  const send = io.send.bind(io);
  io.send = (request) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [
      name,
      IDEMPOTENCY_KEY.test(name) ? systemRandom.uuid() : value,
    ]);
    return send(request.method === "GET" ? request : { ...request, headers: Object.fromEntries(headers) as Record<string, string> });
  };
  return io;
}

async function ledger(gateway: string): Promise<LedgerEntry[]> {
  const answer = await fetch(`${simulators.url}/_ledger/${gateway}`);
  return ((await answer.json()) as { entries: LedgerEntry[] }).entries;
}

/** Approved charges or stored cards that the vendor holds for this order. */
async function taken(gateway: GatewayName, order: Order): Promise<LedgerEntry[]> {
  const told = COLUMNS[gateway]?.told?.(order) ?? order.reference;
  const entries = await ledger(gateway);
  // A card that was stored to be verified, and refused, is deleted again.
  const deleted = new Set(entries.filter(({ kind }) => kind === "void").map(({ id }) => id));
  return entries.filter(
    ({ kind, id, reference, outcome }) =>
      outcome === "approved" && reference === told && (kind === "charge" || (kind === "token" && !deleted.has(id))),
  );
}

function vendorOf(name: GatewayName): SimulatedVendor {
  const post: SimulatedVendor["post"] = async (path, headers, body) =>
    (await fetch(`${simulators.url}/${name}${path}`, { method: "POST", headers, body })).text();
  return {
    post,
    postJson: async (path, headers, body) =>
      JSON.parse(await post(path, { "Content-Type": "application/json", ...headers }, JSON.stringify(body))) as JsonObject,
    ledger: () => ledger(name),
  };
}

async function arm(gateway: string, fault: { kind: string; times: number; path: string }): Promise<void> {
  const answer = await fetch(`${simulators.url}/_faults`, { method: "POST", body: JSON.stringify({ gateway, ...fault }) });
  assert.equal(answer.status, 200);
}

function summary(result: Outcome | LookUpResult): { outcome: string; code?: string } {
  return { outcome: result.outcome, ...(result.outcome === "declined" && { code: result.publicCode ?? result.code }) };
}

/** The verb, and the look-up when it ends in doubt: what `payments/` makes of it. */
async function pay(gateway: Gateway, order: Order, io: GatewayIo & { notes: Record<string, string> }): Promise<Outcome | LookUpResult> {
  const outcome = await gateway[order.mode](order, io);
  if (outcome.outcome !== "unknown" || !gateway.lookUp) return outcome;
  return gateway.lookUp(traceOf(order, io.notes), io);
}

const newOrder = (mode: Mode, card = "4242424242424242", changes: Partial<Order> = {}) =>
  orderOf({ sessionId: systemRandom.uuid(), mode, card: cardOf(card), ...changes });

/** Statuses that contradict a body which approves: a redirection, and those with which vendors refuse. */
const CONTRADICTING = [302, 400, 401, 402, 403, 404, 422];

/**
 * What proxies and firewalls say, and with which statuses: on the way to the vendor, or on the way back. 401 and 403 are left out: who may
 * not ask is told before anything runs, whoever says so; and so is a flood (429) where the vendor says that nothing ran.
 */
const FOREIGN = [
  "<html></html>",
  '{"message":"Forbidden"}',
  '{"error":"Not Found"}',
  '{"error":{"code":404,"message":"Not Found"}}',
  '{"detail":"Not Found","status":404}',
];
const FOREIGN_STATUSES = [400, 402, 404, 405, 406, 409, 413, 415, 422];

/** They wait for hung answers most of the time. */
const AT_A_TIME = 8;

describe("every gateway, against its simulator", { concurrency: AT_A_TIME }, () => {
  for (const [name, column] of Object.entries(COLUMNS) as [GatewayName, Column][]) {
    const gateway = GATEWAYS_BUILT[name]!;
    describe(name, { concurrency: 1 }, () => {
      for (const mode of ["charge", "tokenize"] as const) {
        const [lost, neverActed] = [inMode(column.lost, mode), inMode(column.neverActed, mode)];
        const holdsOnce = async (order: Order): Promise<void> => {
          const { length } = await taken(name, order);
          assert.ok(length === 1 || (length > 1 && mode === "tokenize" && column.storesAgain), `the vendor holds it ${length} times`);
        };
        const reversed = async (order: Order): Promise<LedgerEntry[]> => {
          const told = column.told?.(order) ?? order.reference;
          return (await ledger(name)).filter(({ kind, reference }) => ["refund", "void"].includes(kind) && reference === told);
        };
        /** A network that loses the answer to whatever reverses the order's money or stored card. `before`: reversals until now. */
        const losingReversal = async (order: Order) => {
          const before = (await reversed(order)).length;
          const losing = openIo(gateway);
          const send = losing.send.bind(losing);
          losing.send = async (request) => {
            const answer = await send(request);
            return (await reversed(order)).length > before ? { kind: "lost", reason: "connection reset" } : answer;
          };
          return { losing, before };
        };
        describe(mode, () => {
          test("a good card is approved, the vendor holds it once, and the named fields are filled (R-400, R-201)", async () => {
            const order = newOrder(mode);
            const outcome = await gateway[mode](order, openIo(gateway));
            assert.equal(outcome.outcome, "approved");
            assert.deepEqual(
              Object.keys(outcome.outcome === "approved" ? outcome.processor : {}).toSorted(),
              [...gateway.capabilities.processorFields[mode]].toSorted(),
            );
            const entries = await taken(name, order);
            assert.equal(entries.length, 1);
            assert.equal(entries[0]?.card, "************4242");
            if (mode === "charge") assert.equal(entries[0]?.amountMinor, 4995);
          });

          // Where storing asks no issuer, only a charge can be refused.
          for (const [card, code] of mode === "charge" || gateway.capabilities.verifiesOnTokenize ? CARDS : []) {
            test(`card ${code} is declined as ${code} and nothing is taken (R-417)`, async () => {
              const order = newOrder(mode, card);
              const outcome = await pay(gateway, order, openIo(gateway));
              const seen = column.folded?.[mode]?.[code] ?? code;
              assert.deepEqual(
                summary(outcome),
                ["absent", "unknown"].includes(seen) ? { outcome: seen } : { outcome: "declined", code: seen },
              );
              assert.deepEqual(await taken(name, order), []);
            });
          }

          test("wrong credentials are told apart from a decline (R-417)", async () => {
            const io = openIo(gateway);
            const outcome = await gateway[mode](newOrder(mode), openIo(gateway, wrongSettings(io.settings, column)));
            assert.deepEqual(summary(outcome), { outcome: "declined", code: column.refusedCredentials });
          });

          for (const kind of ["http_500", "garbage", "truncated", "hang", "reset_after"]) {
            test(`an answer lost by ${kind} after the vendor acted ends in the truth, with one charge (R-422)`, async () => {
              const order = newOrder(mode);
              await arm(name, { kind, times: 1, path: column.path[mode] });
              assert.deepEqual(
                summary(await pay(gateway, order, openIo(gateway, {}, kind === "hang" ? { path: column.path[mode], times: 1 } : null))),
                lost,
              );
              await holdsOnce(order);
            });
          }

          test("a vendor that loses every answer to the charge is looked up, with one charge (R-422)", async () => {
            const order = newOrder(mode);
            const io = openIo(gateway);
            await arm(name, { kind: "reset_after", times: gateway.capabilities.oneAttempt ? 1 : 5, path: column.path[mode] });
            const outcome = await gateway[mode](order, io);
            // The look-up may go to the same path.
            await arm(name, { kind: "reset_after", times: 0, path: "/" });
            assert.equal(outcome.outcome, inMode(column.everyAnswerLost ?? "unknown", mode));
            // What the vendor did store, it is told of by nobody: it is for the operator, or taken out (I4).
            if (mode === "tokenize" && outcome.outcome === "declined" && !gateway.capabilities.oneAttempt)
              assert.equal(outcome.mayBeStored, true);
            const isAsked = outcome.outcome !== "declined" || gateway.capabilities.oneAttempt;
            if (isAsked && gateway.lookUp) assert.deepEqual(summary(await gateway.lookUp(traceOf(order, io.notes), io)), lost);
            await holdsOnce(order);
          });

          test("a connection that is reset before the vendor acts takes nothing twice", async () => {
            const order = newOrder(mode);
            await arm(name, { kind: "reset_before", times: 1, path: column.path[mode] });
            assert.deepEqual(summary(await pay(gateway, order, openIo(gateway))), neverActed);
            assert.equal((await taken(name, order)).length, neverActed.outcome === "approved" ? 1 : 0);
          });

          // What a card was stored under that nobody was told of is for the operator, or taken out.
          const untold: Record<string, (acted: GatewayAnswer) => GatewayAnswer> = {
            "lost, and no repeat of it got through": () => ({ kind: "lost", reason: "connection reset" }),
            "one without a word": (acted) => (acted.kind === "answered" ? { ...acted, status: 200, body: Buffer.from("{}") } : acted),
          };
          for (const [what, told] of mode === "tokenize" && !gateway.capabilities.oneAttempt ? Object.entries(untold) : []) {
            test(`a card is refused as one that may be stored where the answer to storing it was ${what} (I4)`, async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const send = io.send.bind(io);
              let wasSent = false;
              io.send = async (request) => {
                const isStore = isFor(gateway, column.path[mode], request);
                if (wasSent && isStore) return { kind: "not sent", reason: "no connection" };
                wasSent ||= isStore;
                const answer = await send(request);
                return isStore ? told(answer) : answer;
              };
              const outcome = await gateway.tokenize(order, io);
              assert.ok(wasSent, "no request to store the card was seen");
              if (outcome.outcome === "declined" && (await taken(name, order)).length > 0)
                assert.equal(outcome.mayBeStored, true, JSON.stringify(outcome));
            });
          }

          if (mode === "charge" && !gateway.capabilities.oneAttempt) {
            test("what the session's second card paid is neither found nor sent back by the first card's attempt, whose refusal was lost (R-422)", async () => {
              const first = newOrder(mode, "4000000000000002");
              const second = orderOf({ ...first, attempt: 2, reference: `${first.sessionId}-2`, card: cardOf("4242424242424242") });
              const [losing, io] = [openIo(gateway), openIo(gateway)];
              const send = losing.send.bind(losing);
              losing.send = async (request) => {
                const isPayment = isFor(gateway, column.path[mode], request);
                const answer = await send(request);
                return isPayment ? { kind: "lost", reason: "connection reset" } : answer;
              };
              await gateway.charge(first, losing);
              const paid = await gateway.charge(second, io);
              assert.ok(paid.outcome === "approved", JSON.stringify(paid));
              if (gateway.lookUp) {
                assert.notEqual((await gateway.lookUp(traceOf(first, losing.notes), openIo(gateway))).outcome, "approved");
                const { outcome } = await gateway.lookUp(traceOf(second, { ...io.notes, ...paid.processor }), openIo(gateway));
                assert.equal(outcome, "approved");
              }
              if (gateway.void) assert.notEqual((await gateway.void(traceOf(first, losing.notes), openIo(gateway))).outcome, "voided");
              assert.equal((await taken(name, second)).length, 1);
              assert.deepEqual(await reversed(second), []);
            });
          }

          for (const lag of mode === "charge" && gateway.capabilities.lookUp !== "by rule" ? [false, true] : []) {
            const shown = lag ? "only later" : "at once";
            test(`a payment request that arrives twice is no refusal, whatever the second one is answered, the first shown ${shown} (R-422)`, async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const send = io.send.bind(io);
              let isFirst = true;
              io.send = async (request) => {
                if (!isFirst || !isFor(gateway, column.path[mode], request)) return send(request);
                isFirst = false;
                const again = { ...request, ...(request.body && { body: Uint8Array.from(request.body) }) };
                await send(request);
                if (lag) await arm(name, { kind: "lookup_lag", times: 50, path: "/" });
                return send(again);
              };
              const outcome = await pay(gateway, order, io);
              await arm(name, { kind: "lookup_lag", times: 0, path: "/" });
              assert.ok(!isFirst, "no payment request was seen");
              assert.notEqual(outcome.outcome, "declined", JSON.stringify(outcome));
              assert.ok((await taken(name, order)).length > 0);
            });
          }

          if (mode === "tokenize") {
            test("a request to store a card that arrives twice stores it, or the card is known as one that may be stored (I4)", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const send = io.send.bind(io);
              io.send = async (request) => {
                const again = { ...request, ...(request.body && { body: Uint8Array.from(request.body) }) };
                const answer = await send(request);
                return isFor(gateway, column.path[mode], again) ? send(again) : answer;
              };
              const outcome = await pay(gateway, order, io);
              const isKnown = outcome.outcome === "approved" || ("mayBeStored" in outcome && outcome.mayBeStored);
              assert.ok(isKnown, JSON.stringify(outcome));
              await holdsOnce(order);
            });
          }

          // Card forwarding fails whatever is not 2xx by its own rule.
          for (const status of mode === "charge" && gateway.capabilities.lookUp !== "by rule" ? CONTRADICTING : []) {
            test(`an approval with status ${status} contradicts itself: no decline, and an approval only by another answer (R-422)`, async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const send = io.send.bind(io);
              let [changed, told] = [0, false];
              io.send = async (request) => {
                const isPayment = isFor(gateway, column.path[mode], request);
                const answer = await send(request);
                if (answer.kind !== "answered" || answer.status >= 300) return answer;
                told = !isPayment;
                if (isPayment) changed++;
                return isPayment ? { ...answer, status } : answer;
              };
              const outcome = await gateway[mode](order, io);
              assert.ok(changed > 0, "no answer to the payment was seen");
              // A payment that is accepted first and then read is told by the reading.
              assert.equal(outcome.outcome, told ? "approved" : "unknown", JSON.stringify(outcome));
              await holdsOnce(order);
            });
          }

          for (const body of gateway.capabilities.lookUp !== "by rule" ? FOREIGN : []) {
            test(`a refusal that is none of the vendor's, ${body}, decides nothing (R-422)`, async () => {
              for (const status of FOREIGN_STATUSES) {
                const order = newOrder(mode);
                const io = openIo(gateway);
                const send = io.send.bind(io);
                let changed = 0;
                io.send = async (request) => {
                  const isPayment = isFor(gateway, column.path[mode], request);
                  const answer = await send(request);
                  if (!isPayment || answer.kind !== "answered") return answer;
                  changed++;
                  return { ...answer, status, body: Buffer.from(body) };
                };
                const outcome = await gateway[mode](order, io);
                assert.ok(changed > 0, "no answer to the payment was seen");
                // What was stored all the same is for the operator, or taken out (I4).
                const isKept = outcome.outcome === "declined" && (mode === "charge" || (await taken(name, order)).length > 0);
                if (isKept) assert.equal(mode === "tokenize" && outcome.mayBeStored, true, `${status} ${JSON.stringify(outcome)}`);
              }
            });
          }

          if (mode === "charge") {
            test("an approval stands when no note can be written any more: the ledger gets its ids with the outcome (I3)", async () => {
              const io = openIo(gateway);
              const isSent = () => io.sent.some(({ request }) => pathOf(gateway, request).startsWith(column.path[mode]));
              const note = io.note.bind(io);
              io.note = (notes) => (isSent() ? Promise.reject(new Error("the database is away")) : note(notes));
              assert.equal((await gateway[mode](newOrder(mode), io)).outcome, "approved");
            });
          }

          if (mode === "charge" && gateway.lookUp && gateway.capabilities.lookUp === "by reference" && !column.showsAtOnce) {
            test("a look-up before the vendor shows the payment is no refusal, and a later one finds it (R-422)", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              assert.equal((await gateway.charge(order, io)).outcome, "approved");
              await arm(name, { kind: "lookup_lag", times: 20, path: "/" });
              const early = await gateway.lookUp!(traceOf(order, io.notes), openIo(gateway));
              await arm(name, { kind: "lookup_lag", times: 0, path: "/" });
              assert.notEqual(early.outcome, "declined");
              assert.notDeepEqual(
                summary(early),
                summary(await gateway.lookUp!(traceOf(order, io.notes), openIo(gateway))),
                "no lag was seen",
              );
              assert.equal((await taken(name, order)).length, 1);
            });
          }

          test("the card whose answer is never sent ends in the truth, with one charge", async () => {
            const order = newOrder(mode, "4000000000000259");
            assert.deepEqual(
              summary(await pay(gateway, order, openIo(gateway, {}, { path: column.path[mode], times: Infinity }))),
              inMode(column.neverAnswered ?? column.lost, mode),
            );
            await holdsOnce(order);
          });

          test("the card whose connection is always reset is never approved and takes nothing", async () => {
            const order = newOrder(mode, "4000000000000333");
            const result = await pay(gateway, order, openIo(gateway));
            assert.ok((gateway.lookUp ? ["absent", "declined"] : ["unknown", "declined"]).includes(result.outcome));
            assert.deepEqual(await taken(name, order), []);
          });

          if (gateway.void && !(mode === "tokenize" && column.keepsStored)) {
            test("what was taken can be voided without the card, once", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              assert.equal((await gateway[mode](order, io)).outcome, "approved");
              const before = (await reversed(order)).length;
              assert.equal((await gateway.void!(traceOf(order, io.notes), openIo(gateway))).outcome, "voided");
              assert.equal((await reversed(order)).length, before + 1);
              const ofNothing = column.voidsUnseen?.[mode] ? ["unknown"] : ["absent", "nothing to void"];
              const { outcome } = await gateway.void!(traceOf(newOrder(mode)), openIo(gateway));
              assert.ok(ofNothing.includes(outcome), outcome);
            });
          }

          if (gateway.void && mode === "tokenize" && !column.keepsStored) {
            test("a page before the vendor that says 404 has taken no stored card out (I4)", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              assert.equal((await gateway.tokenize(order, io)).outcome, "approved");
              const paged = openIo(gateway);
              const send = paged.send.bind(paged);
              const page: GatewayAnswer = { kind: "answered", status: 404, headers: {}, body: Buffer.from("<html>Not Found</html>") };
              paged.send = (request) => (request.method === "GET" ? send(request) : Promise.resolve(page));
              const { outcome } = await gateway.void!(traceOf(order, io.notes), paged);
              assert.equal(outcome, "unknown");
            });

            test("a removal of a stored card whose own answer was lost counts as made when it is asked for again (R-422)", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const stored = await gateway.tokenize(order, io);
              assert.ok(stored.outcome === "approved");
              const notes = { ...io.notes, ...stored.processor };
              const { losing, before } = await losingReversal(order);
              await gateway.void!(traceOf(order, notes), losing);
              assert.equal((await reversed(order)).length, before + 1, "nothing was removed");
              const again = await gateway.void!(traceOf(order, { ...notes, ...losing.notes }), openIo(gateway));
              assert.ok(
                ["voided", "nothing to void", "absent"].includes(again.outcome) && !("mayBeStored" in again),
                JSON.stringify(again),
              );
            });
          }

          if (gateway.void && mode === "tokenize" && column.keepsStored) {
            test("a stored card that cannot be taken out again is never said to be gone (I4)", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const stored = await gateway.tokenize(order, io);
              assert.ok(stored.outcome === "approved");
              const voided = await gateway.void!(traceOf(order, { ...io.notes, ...stored.processor }), openIo(gateway));
              assert.ok(voided.outcome === "unknown" || (voided.outcome === "absent" && voided.mayBeStored), JSON.stringify(voided));
            });
          }

          if (gateway.lookUp && mode === "tokenize" && gateway.capabilities.lookUp !== "by rule") {
            test("what a look-up cannot find of a card is no refusal: whoever waits for the answer may still get it", async () => {
              const found = await gateway.lookUp!(traceOf(newOrder(mode)), openIo(gateway));
              assert.ok(["absent", "pending", "unknown"].includes(found.outcome), JSON.stringify(found));
            });
          }

          for (const batch of mode === "charge" && gateway.void ? ["open", "closed"] : []) {
            const isKnown = batch === "open" || !column.lostRefundStaysUnknown;
            const end = isKnown ? "counts as done when it is asked for again" : "stays unknown";
            test(`a reversal whose own answer was lost, the batch ${batch}, ${end}, once (R-422)`, async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const charged = await gateway.charge(order, io);
              assert.ok(charged.outcome === "approved");
              // As payments keep them: the outcome's ids with what was noted.
              const notes = { ...io.notes, ...charged.processor };
              if (batch === "closed") await arm(name, { kind: "settle", times: 1, path: "/" });
              const { losing, before } = await losingReversal(order);
              await gateway.void!(traceOf(order, notes), losing);
              assert.equal((await reversed(order)).length, before + 1, "nothing was reversed");
              const trace = traceOf(order, { ...notes, ...losing.notes });
              let again = await gateway.void!(trace, openIo(gateway));
              // A reversal may be at work for some time.
              for (let tries = 0; again.outcome === "unknown" && tries < 5; tries++) again = await gateway.void!(trace, openIo(gateway));
              assert.ok((isKnown ? ["voided", "nothing to void"] : ["unknown"]).includes(again.outcome), JSON.stringify(again));
              assert.equal((await reversed(order)).length, before + 1, "sent back more than once");
              // Days later the vendor may have forgotten an idempotency key: what became of it then is not always known.
              await gateway.void!(trace, withNewKeys(openIo(gateway)));
              assert.equal((await reversed(order)).length, before + 1, "sent back once more under another key");
            });
          }

          if (gateway.void && mode === "charge") {
            test("a reversal that arrives twice is done, though its second delivery is refused, and no refund follows (R-422)", async () => {
              const order = newOrder(mode);
              const io = openIo(gateway);
              const paid = await pay(gateway, order, io);
              assert.ok(paid.outcome === "approved");
              const trace = traceOf(order, { ...io.notes, ...paid.processor });
              const twice = openIo(gateway);
              const send = twice.send.bind(twice);
              const before = (await reversed(order)).length;
              twice.send = async (request) => {
                const copy = { ...request, ...(request.body && { body: request.body.slice() }) };
                const wasOpen = (await reversed(order)).length === before;
                const answer = await send(request);
                return wasOpen && (await reversed(order)).length > before ? send(copy) : answer;
              };
              let result = await gateway.void!(trace, twice);
              // It may be told by what the payment is shown as the next time, and be at work for some time.
              const later = { ...trace, notes: { ...trace.notes, ...twice.notes } };
              for (let tries = 0; result.outcome === "unknown" && tries < 5; tries++) result = await gateway.void!(later, openIo(gateway));
              assert.ok(["voided", "nothing to void"].includes(result.outcome), JSON.stringify(result));
              assert.equal((await reversed(order)).length, before + 1);
            });
          }

          if (mode === "tokenize" && column.chargeStored) {
            test("a stored card can be charged later with the ids that were kept (R-201)", async () => {
              const order = newOrder(mode);
              const outcome = await gateway.tokenize(order, openIo(gateway));
              assert.ok(outcome.outcome === "approved");
              assert.ok(await column.chargeStored!(outcome.processor, order, vendorOf(name)));
            });
          }

          // No vendor without a guard of its own is sent an attempt twice: the intent is written once, and lost answers are looked up.
          if (gateway.capabilities.idempotency !== "none" && !(mode === "tokenize" && column.storesAgain)) {
            test("the same attempt sent twice takes the money once", async () => {
              const order = newOrder(mode);
              const first = await pay(gateway, order, openIo(gateway));
              const second = await pay(gateway, order, openIo(gateway));
              // The vendor's own id of an answer differs, the payment's do not.
              assert.deepEqual({ ...second, supportId: null }, { ...first, supportId: null });
              await holdsOnce(order);
            });
          }

          test("the postal code is sent where the capabilities say so", async () => {
            const io = openIo(gateway);
            await gateway[mode](newOrder(mode, "4242424242424242", { card: cardOf("4242424242424242", { zip: "44628" }) }), io);
            assert.equal(
              io.sent.some(({ body }) => body.includes("44628")),
              gateway.capabilities.sendsPostalCode,
            );
          });

          test("nothing that comes out repeats the card number or the security code, and every body is wiped", async () => {
            for (const card of ["4242424242424242", "4000000000000002"]) {
              const order = newOrder(mode, card, { card: cardOf(card, { cvv: "987" }) });
              const io = openIo(gateway);
              const outcome = await gateway[mode](order, io);
              const seen = JSON.stringify([outcome, io.notes, io.sent.map(({ request: { body: _body, ...rest } }) => rest)]);
              assert.ok(!seen.includes(card));
              assert.deepEqual(cardNumbersIn(JSON.stringify([outcome, io.notes])), []);
              assert.ok(io.sent.some(({ body }) => body.includes(card)));
              for (const { request } of io.sent) assert.ok((request.body ?? new Uint8Array()).every((byte) => byte === 0));
            }
          });
        });
      }
    });
  }
});

test("every gateway that is built accepts its simulator's settings, under its own name, and has the verbs that it declares", () => {
  for (const [name, gateway] of Object.entries(GATEWAYS_BUILT)) {
    assert.equal(gateway.name, name);
    const { lookUp, voidBy } = gateway.capabilities;
    assert.deepEqual([gateway.lookUp === undefined, gateway.void === undefined], [lookUp === "none", voidBy === "none"], name);
    assert.equal(gateway.checkSettings(settingsOf(gateway, { endpoint: `${simulators.url}/${name}` })), null);
  }
});

test("stripe: a platform charges on the connected account, and only its look-up there finds the charge", async () => {
  const gateway = GATEWAYS_BUILT.stripe!;
  const platform = { options: { platform: true, moto: true } };
  const order = newOrder("charge", "4000000000000259", { connectedAccount: "acct_1AbCdEfGhIjKlMnO" });
  await arm("stripe", { kind: "reset_after", times: 5, path: "/v1/payment_intents" });
  assert.equal((await gateway.charge(order, openIo(gateway, platform))).outcome, "unknown");
  assert.equal((await gateway.lookUp!(traceOf(order), openIo(gateway, platform))).outcome, "approved");
  const elsewhere = await gateway.lookUp!({ ...traceOf(order), connectedAccount: null }, openIo(gateway, platform));
  assert.equal(elsewhere.outcome, "absent");
});

test("stripe: a telephone payment passes as MOTO where the same card needs authentication in the widget", async () => {
  const gateway = GATEWAYS_BUILT.stripe!;
  const voice = await gateway.charge(newOrder("charge", "4000002500003155"), openIo(gateway));
  const widget = await gateway.charge(newOrder("charge", "4000002500003155", { channel: "widget" }), openIo(gateway));
  assert.deepEqual(summary(voice), { outcome: "approved" });
  assert.deepEqual(summary(widget), { outcome: "declined", code: "authentication_required" });
  const store = await gateway.tokenize(newOrder("tokenize", "4000002760003184"), openIo(gateway));
  assert.deepEqual(summary(store), { outcome: "declined", code: "authentication_required" });
});
