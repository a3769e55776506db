import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { parseDatagram } from "../grammar/parse.ts";
import { StreamFramer } from "../grammar/stream-framer.ts";
import { ANSWER, OFFER, rawTcp, rawUdp, requestText, testAgent } from "./testing.ts";
import { TORTURE } from "../../../test/torture-messages.ts";

const SEED = 20_261_120;
const MUTANTS = 4_000;

/** A small seeded generator (mulberry32), so that a failure can be played again. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const SEEDS = TORTURE.map(({ text }) =>
  Buffer.from(
    text.replaceAll("{via}", "SIP/2.0/UDP 127.0.0.1:9;rport").replaceAll("{transport}", "UDP").replaceAll("{port}", "9"),
    "latin1",
  ),
);
const SPICE = [
  "\r\n",
  "\r\n ",
  "\0",
  '"',
  "<",
  ">",
  ";",
  ",",
  ":",
  "@",
  "%",
  "\\",
  "=",
  "?",
  "SIP/2.0",
  "Via: ",
  "Content-Length: -1\r\n",
  "l: 99999999999\r\n",
  "\xff\xfe",
  "[::",
  ";tag=",
  "CSeq: 1 ACK\r\n",
];

type Mutation = (bytes: Buffer, random: (below: number) => number) => Buffer;

/** Inserts `what` at a random place. */
function insert(bytes: Buffer, what: Buffer, at: number): Buffer {
  return Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]);
}

const MUTATIONS: readonly Mutation[] = [
  (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let count = 1 + random(8); count > 0; count--) copy[random(copy.length)]! ^= 1 << random(8);
    return copy;
  },
  (bytes, random) => bytes.subarray(0, random(bytes.length)),
  (bytes, random) => insert(bytes, Buffer.from(SPICE[random(SPICE.length)] ?? "", "latin1"), random(bytes.length)),
  (bytes, random) => insert(bytes, Buffer.alloc(random(2_000), random(256)), random(bytes.length)),
  (bytes, random) => {
    const lines = bytes.toString("latin1").split("\r\n");
    const line = lines[random(lines.length)] ?? "";
    lines.splice(random(lines.length), 0, ...Array.from({ length: random(4) === 0 ? 1_000 : 2 }, () => line));
    return Buffer.from(lines.join("\r\n"), "latin1");
  },
  (bytes, random) => {
    const from = random(bytes.length);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + random(40))]);
  },
  (bytes, random) => Buffer.concat([bytes.subarray(0, random(bytes.length)), SEEDS[random(SEEDS.length)] ?? bytes]),
  (bytes, random) =>
    insert(
      bytes,
      Buffer.from(`\r\nX-Long: ${"y".repeat(40_000)}`),
      bytes.indexOf("\r\n") < 0 ? random(bytes.length) : bytes.indexOf("\r\n"),
    ),
];

/** Seeded mutants of the torture messages, one to three mutations each, never more than a datagram holds. */
function* mutants(count: number): Generator<Buffer> {
  const random = generator(SEED);
  for (let index = 0; index < count; index++) {
    let bytes: Buffer = SEEDS[random(SEEDS.length)] ?? Buffer.alloc(0);
    for (let depth = 1 + random(3); depth > 0 && bytes.length > 0; depth--) bytes = MUTATIONS[random(MUTATIONS.length)]!(bytes, random);
    yield Buffer.from(bytes.subarray(0, 60_000));
  }
}

test(`${MUTANTS} mutated datagrams are parsed or refused, and every accessor of what is parsed works (E6)`, () => {
  const kinds = new Map<string, number>();
  for (const bytes of mutants(MUTANTS)) {
    const parsed = parseDatagram(bytes);
    kinds.set(parsed.kind, (kinds.get(parsed.kind) ?? 0) + 1);
    if (parsed.kind !== "request" && parsed.kind !== "response") continue;
    const message = parsed.kind === "request" ? parsed.request : parsed.response;
    const read = [message.via, message.from.uri.user, message.to.display, message.callId, message.cseq, message.fromTag, message.toTag];
    assert.equal(read.includes(undefined as never), false);
    for (const name of ["contact", "require", "accept", "x-session-id", "p-asserted-identity"]) {
      void [message.header(name), message.headers(name), message.addresses(name)];
    }
    assert.equal(parseDatagram(message.toBytes()).kind, parsed.kind, "what was read can be written and read again");
  }
  for (const kind of ["request", "response", "malformed"]) assert.ok((kinds.get(kind) ?? 0) > MUTANTS / 500, `${kind} was really tried`);
});

test("every truncation of every seed is parsed or refused (E6)", () => {
  for (const seed of SEEDS) {
    for (let length = 0; length < seed.length; length++) assert.notEqual(parseDatagram(seed.subarray(0, length)).kind, undefined);
  }
});

test("a stream of mutants, cut anywhere, never throws and always comes to an end (E6)", () => {
  const random = generator(SEED + 1);
  for (const bytes of mutants(1_000)) {
    const framer = new StreamFramer();
    const cut = random(bytes.length + 1);
    const frames = [...framer.feed(bytes.subarray(0, cut)), ...framer.feed(bytes.subarray(cut))];
    assert.ok(frames.filter(({ kind }) => kind === "lost").length <= 1);
  }
});

test(`a call is made while ${MUTANTS / 2} mutants come in over UDP, and it lives through them (E6)`, async () => {
  const faults: string[] = [];
  // Time stands still for the target, so that no mutant's retransmission timer runs: what is tried is the mutants.
  const target = await testAgent({
    clock: new ManualClock(),
    onInvite: (call) => (call.request.uri.user === "healthy" ? target.calls.put(call) : call.reject(404)),
    log: { debug: () => {}, warn: (event) => void faults.push(event) },
  });
  const healthy = await testAgent();
  const [hostile, stream] = await Promise.all([rawUdp(target.port), rawTcp(target.port)]);
  const outgoing = healthy.agent.invite({
    target: `sip:healthy@127.0.0.1:${target.port}`,
    from: "sip:a@b",
    offer: OFFER,
    ringTimeoutMs: 60_000,
  });
  const theirs = (await target.calls.next()).answer(ANSWER);
  const { dialog } = await outgoing.answered;
  let sent = 0;
  for (const bytes of mutants(MUTANTS / 2)) {
    if (bytes.length > 0) hostile.send(bytes);
    // A well-formed request now and then: its answer says that everything before has been taken.
    if (++sent % 50 === 0) {
      hostile.send(requestText(hostile, { headers: { "Call-ID": `sentinel-${sent}` } }));
      while ((await hostile.responses.next()).callId !== `sentinel-${sent}`);
    }
  }
  stream.send(Buffer.concat([...mutants(50)]));
  const other = await theirs;
  const ended = new Promise((resolve) => (other.onBye = resolve));
  await dialog.bye();
  assert.equal(await ended, "bye");
  assert.deepEqual(faults, []);
  await Promise.all([hostile.close(), stream.close(), healthy.agent.stop(), target.agent.stop()]);
});
