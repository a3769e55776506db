/**
 * Concurrent keypad calls: npm run bench -- calls [calls ...] [--pin] [--within SECONDS]   (default 10 100 200, within 5)
 *
 * Against one service process: INVITE to first RTP, key to next prompt, pacing, CPU a call; calls refused with 503, admitted calls whose
 * keyed card was not paid (a digit was wrong or lost), RTP timestamps that do not fit their sequence number without a marker (RFC 3551
 * section 4.1), and how late this process was itself. --pin: the service on the first core, the callers on the second.
 * --within: they begin so close to each other; the first ends after 16 s.
 * The load runs in this process, the service in its own. Anchor: Asterisk 18.26 (chan_sip) on one core, measured once on a machine of
 * this kind: INVITE to first RTP 3.3 ms (95 %: 5.2) and last digit to next prompt 1.2 ms (3.0) with 100 calls, clean up to about 250; its
 * "last digit" counts from the end of the digit, so the digit's length is shown beside.
 */
import { createSocket, type Socket } from "node:dgram";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { isRtcp } from "#src/media/rtp.ts";
import { createUserAgent, type UserAgent } from "#src/sip/index.ts";
import { startService, type Service } from "../test/journeys/service.ts";
import { figure } from "./budgets.ts";

/** What is keyed: a pause of one key's time for each space. */
const KEYS = "4242424242424242     1230     123     94105     1";
/** The last key of the number: a prompt answers it. */
const NUMBER_KEYS = 16;
const PACKET_MS = 20;
const KEY_PACKETS = 5;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { pin: { type: "boolean", default: false }, within: { type: "string", default: "5" } },
});
const withinMs = Number(values.within) * 1000;
const LEAD_MS = 2_500;
const TAIL_MS = 4_000;
const ANCHOR: Readonly<Record<number, string>> = {
  10: "2.6 / 3.6 / 3.6      0.4 / 1.3      3.5",
  100: "3.3 / 5.2 / 5.6      1.2 / 3.0      1.6",
  200: "3.2 / 9.5 / 26       1.3 / 5.2      2.4",
};

interface Measured {
  inviteToRtp: number[];
  keyToPrompt: number[];
  pacing: number[];
  /** How late the callers' own loop was. */
  ownLate: number[];
  failed: number;
  refused: number;
  timestampErrors: number;
}

class Caller {
  readonly socket: Socket;
  readonly #measured: Measured;
  #remotePort = 0;
  #sequence = 0;
  #timestamp = 0;
  #last = 0;
  #previous: { sequence: number; timestamp: number } | null = null;
  isAdmitted = false;
  #invited = 0;
  #keyed = 0;
  #tick = 0;
  #over = false;

  constructor(socket: Socket, measured: Measured) {
    this.socket = socket;
    this.#measured = measured;
    socket.on("message", (packet) => this.#receive(packet));
  }

  async call(userAgent: UserAgent, uri: string): Promise<void> {
    const { port } = this.socket.address();
    const offer = [
      "v=0",
      "o=- 1 1 IN IP4 127.0.0.1",
      "s=-",
      "c=IN IP4 127.0.0.1",
      "t=0 0",
      `m=audio ${port} RTP/AVP 0 101`,
      "a=rtpmap:101 telephone-event/8000",
      "a=fmtp:101 0-15",
      "",
    ].join("\r\n");
    this.#invited = performance.now();
    const outgoing = userAgent.invite({ target: uri, from: "sip:+14155550100@127.0.0.1", offer, ringTimeoutMs: 30_000 });
    try {
      const { dialog, sdp } = await outgoing.answered;
      this.isAdmitted = true;
      this.#remotePort = Number(/m=audio (\d+)/.exec(sdp)?.[1]);
      await delay(LEAD_MS + KEYS.length * 200 + TAIL_MS);
      this.#over = true;
      await dialog.bye();
    } catch (error) {
      if ((error as { status?: number }).status === 503) this.#measured.refused++;
      else this.#measured.failed++;
    }
    this.socket.close();
  }

  /** Every 20 ms: silence, or the next packet of a key. */
  tick(): void {
    if (this.#remotePort === 0 || this.#over) return;
    const at = this.#tick++ - LEAD_MS / PACKET_MS;
    const [key, phase] = [Math.floor(at / (2 * KEY_PACKETS)), at % (2 * KEY_PACKETS)];
    const isKey = at >= 0 && key < KEYS.length && KEYS[key] !== " " && phase < KEY_PACKETS;
    if (!isKey) this.#send(0, this.#timestamp, Buffer.alloc(160, 0xff));
    else {
      const start = this.#timestamp - phase * 160;
      const payload = Buffer.from([Number(KEYS[key]), 10, 0, 0]);
      payload.writeUInt16BE((phase + 1) * 160, 2);
      if (key === NUMBER_KEYS - 1 && phase === 0) this.#keyed = performance.now();
      this.#send(101, start, payload);
      if (phase === KEY_PACKETS - 1) {
        payload[1] = 0x8a;
        for (let copy = 0; copy < 3; copy++) this.#send(101, start, payload);
      }
    }
    this.#timestamp += 160;
  }

  #send(payloadType: number, timestamp: number, payload: Buffer): void {
    const header = Buffer.alloc(12);
    header.writeUInt8(0x80, 0);
    header.writeUInt8(payloadType, 1);
    header.writeUInt16BE(this.#sequence++ & 0xffff, 2);
    header.writeUInt32BE(timestamp >>> 0, 4);
    header.writeUInt32BE(7, 8);
    this.socket.send(Buffer.concat([header, payload]), this.#remotePort, "127.0.0.1");
  }

  #receive(packet: Buffer): void {
    // Reports go to the port above a call's own: another caller's.
    if (isRtcp(packet)) return;
    const now = performance.now();
    if (this.#last === 0) this.#measured.inviteToRtp.push(now - this.#invited);
    else this.#measured.pacing.push(Math.abs(now - this.#last - PACKET_MS));
    this.#last = now;
    this.#checkTimestamp(packet);
    if (this.#keyed > 0 && packet.subarray(12).some((code) => (code & 0x7f) !== 0x7f)) {
      this.#measured.keyToPrompt.push(now - this.#keyed);
      this.#keyed = 0;
    }
  }

  #checkTimestamp(packet: Buffer): void {
    const [sequence, timestamp] = [packet.readUInt16BE(2), packet.readUInt32BE(4)];
    const previous = this.#previous;
    this.#previous = { sequence, timestamp };
    if (!previous) return;
    const [packets, samples] = [(sequence - previous.sequence) & 0xffff, (timestamp - previous.timestamp) >>> 0];
    const isMarked = packet.readUInt8(1) >= 0x80;
    const fits = isMarked ? samples >= packets * 160 && samples % 160 === 0 : samples === packets * 160;
    if (!fits) this.#measured.timestampErrors++;
  }
}

const percentile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
const show = (values: number[], ...shares: number[]) => shares.map((share) => percentile(values, share).toFixed(1)).join(" / ");

/** CPU of a process, s (proc(5): utime and stime are fields 14 and 15, in ticks of 10 ms). */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function round(service: Service, calls: number): Promise<void> {
  const measured: Measured = { inviteToRtp: [], keyToPrompt: [], pacing: [], ownLate: [], failed: 0, refused: 0, timestampErrors: 0 };
  const userAgent = createUserAgent({
    clock: systemClock,
    random: systemRandom,
    host: "127.0.0.1",
    port: 0,
    publicHost: "127.0.0.1",
    userAgent: "bench",
    trunks: [],
    onInvite: (call) => call.reject(480),
  });
  await userAgent.start();
  const sessions: { session_id: string; sip_uri: string }[] = [];
  for (let index = 0; index < calls; index++) sessions.push(await service.create());
  const callers = await Promise.all(
    sessions.map(async () => {
      const socket = createSocket("udp4").bind(0, "127.0.0.1");
      await once(socket, "listening");
      return new Caller(socket, measured);
    }),
  );
  const pacer = startPacer(callers, measured);
  const [cpu, started] = [cpuOf(service.pid()), performance.now()];
  await Promise.all(
    callers.map(async (caller, index) => {
      await delay((index / calls) * withinMs);
      await caller.call(userAgent, sessions[index]?.sip_uri ?? "");
    }),
  );
  pacer.stop();
  const [used, seconds] = [cpuOf(service.pid()) - cpu, (performance.now() - started) / 1000];
  await userAgent.stop();
  const admitted = sessions.filter((_, index) => callers[index]?.isAdmitted);
  let unpaid = 0;
  for (const { session_id } of admitted) if ((await service.session(session_id))["status"] !== "payment-success") unpaid++;
  console.log(
    `${String(calls).padStart(5)}  ${show(measured.inviteToRtp, 0.5, 0.95, 1).padEnd(20)} ${show(measured.keyToPrompt, 0.5, 0.95).padEnd(14)} ${show(measured.pacing, 0.5, 0.99, 1).padEnd(18)} ${((used / calls) * 1000).toFixed(0).padStart(6)} ms   ${measured.failed} failed, ${measured.keyToPrompt.length} answered in ${seconds.toFixed(0)} s`,
  );
  console.log(
    `       ${measured.refused} refused with 503, ${unpaid} of ${admitted.length} admitted not paid, ${measured.timestampErrors} RTP timestamp errors, callers' loop late p99 / max ${show(measured.ownLate, 0.99, 1)} ms, load ${loadavg()[0]?.toFixed(1)}`,
  );
  if (calls === 100) {
    figure("invite_to_rtp_p50", percentile(measured.inviteToRtp, 0.5));
    figure("invite_to_rtp_p95", percentile(measured.inviteToRtp, 0.95));
    figure("key_to_prompt_p95", percentile(measured.keyToPrompt, 0.95));
    figure("wrong_digits", unpaid + measured.failed);
  }
  if (ANCHOR[calls]) console.log(`       ${ANCHOR[calls]}   (Asterisk 18: INVITE p50/p95/max, digit p50/p95, pacing p99)`);
}

/** One loop for all callers, held to the monotonic clock; an interval each would drift. */
function startPacer(callers: readonly Caller[], { ownLate }: Measured): { stop(): void } {
  let due = performance.now();
  let timer: NodeJS.Timeout;
  const turn = () => {
    ownLate.push(performance.now() - due);
    while (performance.now() >= due) {
      for (const caller of callers) caller.tick();
      due += PACKET_MS;
    }
    timer = setTimeout(turn, Math.max(1, due - performance.now()));
  };
  turn();
  return { stop: () => clearTimeout(timer) };
}

const service = await startService({ env: { SPEECH: "off", LOG_LEVEL: "warn" } });
if (values.pin) {
  for (const [core, pid] of [[0, service.pid()], [1, process.pid]]) execFileSync("taskset", ["-acp", String(core), String(pid)]); // prettier-ignore
}
await delay(3_000);
console.log("calls  INVITE to RTP ms     key to prompt  pacing error ms    CPU a call");
console.log("       p50 / p95 / max      p50 / p95      p50 / p99 / max");
for (const calls of positionals.length > 0 ? positionals.map(Number) : [10, 100, 200]) await round(service, calls);
await service.close();
console.log("done: key to prompt counts from the first packet of the last key, which lasts 100 ms");
