import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { INVITE_CLIENT } from "./invite-client.ts";
import { INVITE_SERVER } from "./invite-server.ts";
import { type Event, type Machine, MachineRun } from "./machine.ts";
import { NON_INVITE_CLIENT } from "./non-invite-client.ts";
import { NON_INVITE_SERVER } from "./non-invite-server.ts";

/** A machine with a clock that stands still and a record of what it does, each entry with its time in ms. */
function bench(machine: Machine, reliable: boolean) {
  const clock = new ManualClock(0);
  const record: string[] = [];
  const note = (what: string) => void record.push(`${clock.monotonic()} ${what}`);
  const run: MachineRun<string> = new MachineRun<string>(
    machine,
    {
      send: (message) => note(`send ${message}`),
      deliver: (message) => note(`deliver ${message}`),
      acknowledge: (message) => note(`ack ${message}`),
      trying: () => run.handle("provisional", "100"),
      failed: (why) => note(why),
      terminated: () => note("end"),
    },
    clock,
    reliable,
  );
  const happens = (event: Event, message: string | null = event) => run.handle(event, message);
  /** Runs out every timer, and answers what was done meanwhile. */
  const take = (ms = 0) => {
    clock.advance(ms);
    return record.splice(0);
  };
  return { clock, run, happens, take };
}

const MINUTES = 120_000;

test("an INVITE is sent again after T1, 2*T1, 4*T1 ... and given up after 64*T1 (timers A and B)", () => {
  const { run, take, clock } = bench(INVITE_CLIENT, false);
  run.begin("INVITE");
  assert.deepEqual(take(MINUTES), [
    ...[0, 500, 1_500, 3_500, 7_500, 15_500, 31_500].map((at) => `${at} send INVITE`),
    "32000 timeout",
    "32000 end",
  ]);
  assert.equal(clock.pending, 0);
});

test("over TCP an INVITE is sent once and given up after 64*T1", () => {
  const { run, take } = bench(INVITE_CLIENT, true);
  run.begin("INVITE");
  assert.deepEqual(take(MINUTES), ["0 send INVITE", "32000 timeout", "32000 end"]);
});

test("a provisional response stops the retransmissions of an INVITE for as long as it rings", () => {
  const { run, take, happens, clock } = bench(INVITE_CLIENT, false);
  run.begin("INVITE");
  happens("provisional", "180");
  assert.deepEqual(take(MINUTES), ["0 send INVITE", "0 deliver 180"]);
  assert.equal(run.state, "proceeding");
  assert.equal(clock.pending, 0);
});

test("each copy of a failure is acknowledged but delivered once, until timer D", () => {
  const { run, take, happens } = bench(INVITE_CLIENT, false);
  run.begin("INVITE");
  happens("failure", "486");
  assert.deepEqual(take(1_000), ["0 send INVITE", "0 ack 486", "0 deliver 486"]);
  happens("failure", "486");
  assert.deepEqual(take(MINUTES), ["1000 ack 486", "32000 end"]);
});

test("over TCP a failed INVITE transaction ends at once (timer D is 0)", () => {
  const { run, take, happens } = bench(INVITE_CLIENT, true);
  run.begin("INVITE");
  happens("failure", "486");
  assert.deepEqual(take(1).slice(1), ["0 ack 486", "0 deliver 486", "0 end"]);
});

test("every 2xx to an INVITE reaches the core, forks and copies too, for 64*T1 (RFC 6026 timer M)", () => {
  const { run, take, happens } = bench(INVITE_CLIENT, false);
  run.begin("INVITE");
  happens("success", "200 a");
  happens("success", "200 b");
  assert.deepEqual(take(MINUTES), ["0 send INVITE", "0 deliver 200 a", "0 deliver 200 b", "32000 end"]);
  happens("success", "200 c");
  assert.deepEqual(take(), []);
});

test("a transport error is reported and ends the transaction; that of an INVITE hears late answers still, for three minutes (timer C)", () => {
  const other = bench(NON_INVITE_CLIENT, false);
  other.run.begin("request");
  other.happens("error");
  assert.deepEqual(other.take(MINUTES), ["0 send request", "0 transport", "0 end"]);
  const { run, take, happens, clock } = bench(INVITE_CLIENT, false);
  run.begin("INVITE");
  happens("error");
  assert.deepEqual(take(MINUTES), ["0 send INVITE", "0 transport"]);
  happens("provisional", "180");
  assert.deepEqual(take(MINUTES), ["120000 deliver 180", "180000 end"]);
  assert.equal(clock.pending, 0);
});

test("another request is sent again after T1, 2*T1 ... at most every T2, and given up after 64*T1 (timers E and F)", () => {
  const { run, take } = bench(NON_INVITE_CLIENT, false);
  run.begin("BYE");
  const times = [0, 500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500];
  assert.deepEqual(take(MINUTES), [...times.map((at) => `${at} send BYE`), "32000 timeout", "32000 end"]);
});

test("after a provisional response it is sent again every T2 only", () => {
  const { run, take, happens } = bench(NON_INVITE_CLIENT, false);
  run.begin("BYE");
  happens("provisional", "100");
  const times = [500, 4_500, 8_500, 12_500, 16_500, 20_500, 24_500, 28_500];
  assert.deepEqual(take(MINUTES), ["0 send BYE", "0 deliver 100", ...times.map((at) => `${at} send BYE`), "32000 timeout", "32000 end"]);
});

test("its final response is delivered once and its copies absorbed for T4 (timer K)", () => {
  const { run, take, happens } = bench(NON_INVITE_CLIENT, false);
  run.begin("BYE");
  happens("success", "200");
  happens("success", "200");
  assert.deepEqual(take(MINUTES), ["0 send BYE", "0 deliver 200", "5000 end"]);
});

test("an INVITE unanswered for 200 ms is answered 100, an INVITE answered sooner is not", () => {
  const slow = bench(INVITE_SERVER, false);
  slow.run.begin("INVITE");
  assert.deepEqual(slow.take(MINUTES), ["0 deliver INVITE", "200 send 100"]);
  const quick = bench(INVITE_SERVER, false);
  quick.run.begin("INVITE");
  quick.take(199);
  quick.happens("provisional", "180");
  assert.deepEqual(quick.take(MINUTES), ["199 send 180"]);
});

test("a retransmitted INVITE gets the latest provisional response again, and is not delivered twice (R-221)", () => {
  const { run, take, happens } = bench(INVITE_SERVER, false);
  run.begin("INVITE");
  happens("request", "INVITE");
  happens("provisional", "180");
  happens("request", "INVITE");
  assert.deepEqual(take(), ["0 deliver INVITE", "0 send 180", "0 send 180"]);
});

test("a failure is sent again after T1, 2*T1 ... T2 until the ACK, and given up after 64*T1 (timers G and H)", () => {
  const { run, take, happens } = bench(INVITE_SERVER, false);
  run.begin("INVITE");
  happens("failure", "404");
  const times = [0, 500, 1_500, 3_500, 7_500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500];
  assert.deepEqual(take(MINUTES).slice(1), [...times.map((at) => `${at} send 404`), "32000 timeout", "32000 end"]);
});

test("the ACK stops it, further copies are absorbed for T4 (timer I)", () => {
  const { run, take, happens } = bench(INVITE_SERVER, false);
  run.begin("INVITE");
  happens("failure", "404");
  take(600);
  happens("ack");
  happens("ack");
  happens("request", "INVITE");
  assert.deepEqual(take(MINUTES), ["5600 end"]);
});

test("over TCP a failure is sent once and the ACK ends the transaction", () => {
  const { run, take, happens, clock } = bench(INVITE_SERVER, true);
  run.begin("INVITE");
  happens("failure", "404");
  assert.deepEqual(take(1_000), ["0 deliver INVITE", "0 send 404"]);
  happens("ack");
  assert.deepEqual(take(0), ["1000 end"]);
  assert.equal(clock.pending, 0);
});

test("after a 2xx the INVITE's copies are absorbed, the core may repeat its 2xx and gets the ACK, for 64*T1 (RFC 6026 timer L)", () => {
  const { run, take, happens } = bench(INVITE_SERVER, false);
  run.begin("INVITE");
  happens("success", "200");
  happens("request", "INVITE");
  happens("success", "200");
  happens("ack", "ACK");
  assert.deepEqual(take(MINUTES), ["0 deliver INVITE", "0 send 200", "0 send 200", "0 deliver ACK", "32000 end"]);
});

test("a request is answered again for each of its copies until timer J", () => {
  const { run, take, happens } = bench(NON_INVITE_SERVER, false);
  run.begin("BYE");
  happens("request", "BYE");
  happens("success", "200");
  happens("request", "BYE");
  assert.deepEqual(take(31_999), ["0 deliver BYE", "0 send 200", "0 send 200"]);
  happens("request", "BYE");
  assert.deepEqual(take(MINUTES), ["31999 send 200", "32000 end"]);
});

test("over TCP an answered request is forgotten at once (timer J is 0)", () => {
  const { run, take, happens } = bench(NON_INVITE_SERVER, true);
  run.begin("BYE");
  happens("success", "200");
  assert.deepEqual(take(1), ["0 deliver BYE", "0 send 200", "0 end"]);
});

test("a second final answer is not sent", () => {
  for (const machine of [INVITE_SERVER, NON_INVITE_SERVER]) {
    const { run, take, happens } = bench(machine, false);
    run.begin("request");
    happens("failure", "404");
    happens("success", "200");
    assert.deepEqual(take(), ["0 deliver request", "0 send 404"]);
  }
});

test("a stopped transaction leaves no timer and does nothing more", () => {
  const { run, take, happens, clock } = bench(INVITE_CLIENT, false);
  run.begin("INVITE");
  run.stop();
  happens("success", "200");
  assert.deepEqual(take(MINUTES), ["0 send INVITE"]);
  assert.equal(clock.pending, 0);
});
