/**
 * Pacing of the media engine: npm run bench -- media-pacing [legs ...]   (default 100 250 500, 10 s each)
 *
 * One process runs the engine, another holds one socket for each leg, sends every packet back (50 packets/s both ways, as in
 * a call) and measures: deviation of the arrivals from 20 ms, and, by pressing a key on each leg in turn while it is silent,
 * the time from the first packet of the key to the first packet of the prompt that answers it.
 * The anchor is a bare timer on an otherwise idle thread of the engine's process: what the machine itself is late by.
 */
import { fork } from "node:child_process";
import type { Socket } from "node:dgram";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { ULAW_SILENCE } from "#src/kernel/g711.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { MediaLeg } from "#src/media/index.ts";
import { createMediaEngine } from "#src/media/index.ts";

const HOST = "127.0.0.1";
const SECONDS = 10;
const KEYS_PER_SECOND = 20;
const BARE_TIMER_MS = 2;
const PROMPT = new Uint8Array(800).fill(0x20);

interface SinkReport {
  packets: number;
  deviation: number[];
  answer: number[];
}

const quantile = (sorted: readonly number[], fraction: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0;
const summary = (sorted: readonly number[]) => [0.5, 0.95, 0.99, 1].map((fraction) => quantile(sorted, fraction));
const ms = (value: number) => value.toFixed(2).padStart(7);

async function main(counts: number[]): Promise<void> {
  console.log(
    "legs | deviation from 20 ms p50 p95 p99 max | key -> prompt ms p50 p95 p99 max | sent late, nine of ten in the worst 250 ms | bare timer late p50 p99 max | % of a core per leg | lost",
  );
  for (const count of counts) console.log(await measure(count));
}

async function measure(count: number): Promise<string> {
  const sinks = fork(new URL(import.meta.url), ["sinks", String(count)]);
  const [ports] = (await once(sinks, "message")) as [number[]];
  let late = 0;
  const engine = createMediaEngine({
    bindHost: HOST,
    ports: [20_000, 29_999],
    random: systemRandom,
    onLateness: (ms) => (late = Math.max(late, ms)),
    onFailure: console.error,
  });
  await engine.start();
  engine.loadClip("prompt", PROMPT);
  const legs: MediaLeg[] = [];
  for (const port of ports) {
    const leg = await engine.open();
    leg.on.dtmfDigit = () => leg.play("answer", [{ clip: "prompt" }]);
    leg.start({ host: HOST, port, payloadType: 0, eventPayloadType: 101, direction: "sendrecv" });
    legs.push(leg);
  }
  const bare = monitorEventLoopDelay({ resolution: BARE_TIMER_MS });
  bare.enable();
  const before = process.cpuUsage();
  sinks.send(legs.map((leg) => leg.port));
  const [report] = (await once(sinks, "message")) as [SinkReport];
  const { user, system } = process.cpuUsage(before);
  bare.disable();
  const stats = await Promise.all(legs.map((leg) => leg.close()));
  await engine.stop();
  sinks.disconnect();

  const share = (user + system) / 1e6 / SECONDS / count;
  const lost = stats.reduce((sum, leg) => sum + leg.lost, 0);
  const machine = [bare.percentile(50), bare.percentile(99), bare.max].map((nanoseconds) => nanoseconds / 1e6 - BARE_TIMER_MS);
  const columns = [summary(report.deviation), summary(report.answer), [late], machine].map((values) => values.map(ms).join(""));
  return [String(count).padStart(4), ...columns, `${(share * 100).toFixed(3)} %`, lost].join(" | ");
}

/** The peer process: echoes, measures, presses keys. */
async function sinks(count: number): Promise<void> {
  const report: SinkReport = { packets: 0, deviation: [], answer: [] };
  const sockets: Socket[] = [];
  const pressed: number[] = Array.from({ length: count }, () => 0);
  const arrived: number[] = Array.from({ length: count }, () => 0);
  let measuring = false;

  for (let index = 0; index < count; index++) {
    const socket = createSocket({ type: "udp4", lookup: (hostname, _options, callback) => callback(null, hostname, 4) });
    socket.bindSync({ address: HOST, port: 0 });
    socket.on("message", (datagram: Uint8Array, source) => {
      const now = performance.now();
      const previous = arrived[index] ?? 0;
      arrived[index] = now;
      const loud = datagram[12] !== ULAW_SILENCE;
      if (measuring) {
        report.packets++;
        // The packets around a key come early or late on purpose.
        if (previous && now - (pressed[index] ?? 0) > 300) report.deviation.push(Math.abs(now - previous - 20));
        if (loud && (pressed[index] ?? 0) > 0 && now - (pressed[index] ?? 0) < 200 && !answered.has(index)) {
          answered.add(index);
          report.answer.push(now - (pressed[index] ?? 0));
        }
      }
      datagram[1] = 0;
      socket.send(datagram, source.port, source.address);
    });
    sockets.push(socket);
  }
  const answered = new Set<number>();
  process.send?.(sockets.map((socket) => socket.address().port));
  const [ports] = (await once(process, "message")) as [number[]];

  await new Promise((resolve) => setTimeout(resolve, 500));
  measuring = true;
  let turn = 0;
  const timer = setInterval(() => {
    const index = turn++ % count;
    answered.delete(index);
    pressed[index] = performance.now();
    const event = Buffer.alloc(16);
    event.writeUInt8(0x80, 0);
    event.writeUInt8(101, 1);
    event.writeUInt16BE(turn & 0xffff, 2);
    event.writeUInt32BE(turn * 160, 4);
    event.writeUInt32BE(77, 8);
    event.set([1, 10, 0, 160], 12);
    sockets[index]?.send(event, ports[index] ?? 0, HOST);
  }, 1000 / KEYS_PER_SECOND);
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
  clearInterval(timer);
  measuring = false;
  report.deviation.sort((a, b) => a - b);
  report.answer.sort((a, b) => a - b);
  // A whole run has hundreds of thousands of samples: enough of them to keep every quantile.
  const every = Math.max(1, Math.floor(report.deviation.length / 20_000));
  const thinned = report.deviation.filter((_, at) => at % every === 0 || at === report.deviation.length - 1);
  process.send?.({ ...report, deviation: thinned } satisfies SinkReport);
  process.once("disconnect", () => process.exit());
}

const [role, count] = process.argv.slice(2);
if (role === "sinks") await sinks(Number(count));
else await main(process.argv.length > 2 ? process.argv.slice(2).map(Number) : [100, 250, 500]);
