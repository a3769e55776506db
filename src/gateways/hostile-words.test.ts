import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DECLINES } from "#src/kernel/payment.ts";
import type { GatewayName, Mode } from "#src/kernel/payment.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { createOutbound } from "#src/platform/index.ts";
import { startSimulators } from "#simulators/index.ts";
import type { Simulators } from "#simulators/index.ts";
import type { Gateway, GatewayAnswer, LookUpResult, Order, Outcome } from "./contract.ts";
import { GATEWAYS_BUILT } from "./registry.ts";
import { behaviours, cardOf, orderOf, settingsOf, testIo, traceOf } from "./testing.ts";

/**
 * Words that every object has, in the place of every value of every answer, one at a time: codes, statuses and ids alike. What a
 * gateway makes of them must be an outcome in our own words, and no adapter may fail over them.
 */
const WORDS = ["constructor", "__proto__", "toString"];

/** Values of JSON members, of names and values, and of XML elements. */
const VALUES = /("[\w.:-]+"\s*:\s*)("(?:[^"\\]|\\.)*"|-?\d[\d.]*)|((?:^|[&\n])[\w.]+(?:\[\d+\])?=)([^&\r\n]+)|(<[\w.:-]+>)([^<>]+)(?=<\/)/g;

/** Every body that the answer becomes when one of its values is `word`. */
function* replaced(body: string, word: string): Generator<string> {
  for (const match of body.matchAll(VALUES)) {
    const [whole, member, , name, , element] = match;
    const put = member === undefined ? `${name ?? element}${word}` : `${member}"${word}"`;
    yield body.slice(0, match.index) + put + body.slice(match.index + whole.length);
  }
}

/** What a vendor, or a proxy before it, could repeat of what it was sent. */
const [NUMBER, CODE] = ["4242424242424242", "987"];
const ECHOES = [NUMBER, "4242-4242-4242-4242", `pan=${NUMBER};cvv=${CODE}`, CODE, `cvv ${CODE}`];

/** Every text in `value`. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function assertNoCard(value: unknown, about: string): void {
  for (const text of textsIn(value)) {
    assert.ok(!text.replace(/\D/g, "").includes(NUMBER), `${about}: ${text}`);
    assert.doesNotMatch(text, new RegExp(`(?<![\\p{L}\\p{N}])${CODE}(?![\\p{L}\\p{N}])`, "u"), about);
  }
}

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

type Step = (order: Order, io: ReturnType<typeof testIo>) => Promise<Outcome | LookUpResult>;

/** What the simulator answers to `step`, one body after another. */
async function recorded(gateway: Gateway, order: Order, step: Step): Promise<GatewayAnswer[]> {
  const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] });
  const answers: GatewayAnswer[] = [];
  const io = testIo(settingsOf(gateway, { endpoint: `${simulators.url}/${gateway.name}` }), async (request) => {
    // The tests of eight gateways keep one thread busy, on a busy machine for longer than any vendor is waited for.
    const answer = await outbound.send({ ...request, timeoutMs: 60_000 });
    answers.push(answer);
    return answer;
  });
  await step(order, io);
  return answers;
}

function assertOurs(result: Outcome | LookUpResult, about: string): void {
  assert.ok(["approved", "declined", "unknown", "absent", "pending"].includes(result.outcome), about);
  if (result.outcome === "unknown") assert.ok(!result.reason.includes("adapter failed"), `${about}: ${result.reason}`);
  if (result.outcome === "declined") {
    assert.ok(Object.hasOwn(DECLINES, result.code), about);
    assert.ok(!result.reason?.includes("adapter failed"), about);
  }
  if (result.outcome === "approved") {
    assert.ok(["captured", "authorized"].includes(result.capture), about);
    for (const value of Object.values(result.processor)) assert.equal(typeof value, "string", about);
  }
}

describe("every gateway, told the names of an object's own members, and back what it sent", { concurrency: 8 }, () => {
  for (const gateway of Object.values(GATEWAYS_BUILT)) {
    const name: GatewayName = gateway.name;
    for (const mode of ["charge", "tokenize"] as const satisfies readonly Mode[]) {
      describe(`${name}, ${mode}`, () => {
        const steps: Record<string, Step> = {
          verb: (order, io) => gateway[mode](order, io),
          ...(gateway.lookUp && { "look-up": (order, io) => gateway.lookUp!(traceOf(order, io.notes), io) }),
        };
        test("neither the card number nor the security code comes back out of any value or header of an answer (R-423)", async () => {
          let tried = 0;
          for (const number of [NUMBER, "4000000000000002"]) {
            const sessionId = systemRandom.uuid();
            const order = (sent = NUMBER) => orderOf({ sessionId, mode, card: cardOf(sent, { cvv: CODE }) });
            const answers = await recorded(gateway, order(number), (made, io) => gateway[mode](made, io));
            for (const [index, answer] of answers.entries()) {
              if (answer.kind !== "answered") continue;
              for (const word of ECHOES) {
                const headers = Object.fromEntries(Object.keys(answer.headers).map((header) => [header, word]));
                const bodies = [...replaced(Buffer.from(answer.body).toString(), word)].map((body) => ({
                  ...answer,
                  body: Buffer.from(body),
                }));
                for (const changed of [{ ...answer, headers }, ...bodies]) {
                  const script = answers.with(index, changed);
                  let next = 0;
                  const io = testIo(settingsOf(gateway), () =>
                    Promise.resolve(script[next++] ?? ({ kind: "lost", reason: "no more" } as const)),
                  );
                  const outcome = await gateway[mode](order(), io);
                  assertNoCard([outcome, io.notes], `${name} ${mode}: ${Buffer.from(changed.body).toString().slice(0, 300)}`);
                  tried++;
                }
              }
            }
          }
          assert.ok(tried >= 6, `${tried} answers`);
        });

        for (const [what, step] of Object.entries(steps)) {
          test(`the ${what} takes constructor, __proto__ and toString for no code, status or id of ours`, async () => {
            let [tried, asked] = [0, 0];
            for (const number of ["4242424242424242", "4000000000000002"]) {
              const order = () => orderOf({ sessionId, mode, card: cardOf(number) });
              const sessionId = systemRandom.uuid();
              if (what === "look-up") await recorded(gateway, order(), (made, io) => gateway[mode](made, io));
              const answers = await recorded(gateway, order(), step);
              asked += answers.length;
              for (const [index, answer] of answers.entries()) {
                if (answer.kind !== "answered") continue;
                for (const word of WORDS) {
                  for (const body of replaced(Buffer.from(answer.body).toString(), word)) {
                    const script = answers.with(index, { ...answer, body: Buffer.from(body) });
                    let next = 0;
                    const io = testIo(settingsOf(gateway), () =>
                      Promise.resolve(script[next++] ?? ({ kind: "lost", reason: "no more" } as const)),
                    );
                    assertOurs(await step(order(), io), `${name} ${mode} ${what}: ${body.slice(0, 300)}`);
                    tried++;
                  }
                }
              }
            }
            // Some look-ups ask nobody: by rule, or without credentials of their own.
            assert.ok(tried >= 6 || (what === "look-up" && asked === 0), `${tried} answers`);
          });
        }
      });
    }
  }
});

/** Their look-ups go through lists of all payments: others in them are no fault, and ours may not be there yet. */
const BROWSED: ReadonlySet<GatewayName> = new Set(["stripe", "shift4", "clover", "usaepay", "qualpay"]);

/** Another text of the same form. */
const another = (text: string) =>
  text.replace(/.$/, (last) =>
    /[0-8]/.test(last) ? String(Number(last) + 1) : /[a-y]/.test(last) ? String.fromCharCode(last.charCodeAt(0) + 1) : "1",
  );

/** What an answer is about, changed wherever it stands. */
const ABOUT: readonly (readonly [what: string, change: (body: string, order: Order, told: string) => string])[] = [
  ["payment", (body, { sessionId }, told) => body.replaceAll(told, another(told)).replaceAll(sessionId, another(sessionId))],
  ["sum", (body) => body.replaceAll(/(?<![\d.])49\.95(?!\d)/g, "1.00").replaceAll(/(?<![\d.])4995(?![\d.])/g, "100")],
  ["currency", (body) => body.replaceAll("USD", "EUR").replaceAll('"usd"', '"eur"')],
];

describe("every gateway, answered about something else than it asked", { concurrency: 8 }, async () => {
  const columns = await behaviours();
  for (const gateway of Object.values(GATEWAYS_BUILT)) {
    const name: GatewayName = gateway.name;
    const steps: Record<string, Step> = {
      charge: (order, io) => gateway.charge(order, io),
      ...(gateway.lookUp && { "look-up": (order, io) => gateway.lookUp!(traceOf(order, io.notes), io) }),
    };
    for (const [what, step] of Object.entries(steps)) {
      for (const [about, change] of ABOUT) {
        test(`${name}: a ${what} whose answers tell of another ${about} approves nothing, and refuses nothing where the payment is another (R-422)`, async () => {
          for (const number of [NUMBER, "4000000000000002"]) {
            const order = orderOf({ sessionId: systemRandom.uuid().replace(/.$/, "1"), card: cardOf(number) });
            const notes: Record<string, string> = {};
            if (what === "look-up") {
              await recorded(gateway, order, async (made, io) => {
                const outcome = await gateway.charge(made, io);
                Object.assign(notes, io.notes);
                return outcome;
              });
            }
            const withNotes: Step = (made, io) => (Object.assign(io.notes, notes), step(made, io));
            const answers = await recorded(gateway, order, withNotes);
            const told = columns[name]?.told?.(order) ?? order.reference;
            const changed = answers.map((answer) =>
              answer.kind === "answered"
                ? { ...answer, body: Buffer.from(change(Buffer.from(answer.body).toString(), order, told)) }
                : answer,
            );
            // Not every vendor says what its answer is about.
            if (JSON.stringify(changed) === JSON.stringify(answers)) continue;
            let next = 0;
            const io = testIo(settingsOf(gateway), () =>
              Promise.resolve(changed[next++] ?? ({ kind: "lost", reason: "no more" } as const)),
            );
            const result = await withNotes({ ...order, card: cardOf(number) }, io);
            const seen = `${JSON.stringify(result)} for ${changed.map((answer) => (answer.kind === "answered" ? Buffer.from(answer.body).toString() : "")).join(" ")}`;
            assert.notEqual(result.outcome, "approved", seen);
            if (about !== "payment") continue;
            assert.notEqual(result.outcome, "declined", seen);
            if (result.outcome === "absent") assert.ok(BROWSED.has(name), seen);
          }
        });
      }
    }
  }
});
