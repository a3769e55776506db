/**
 * What long use leaves behind: npm run bench -- soak [--minutes 10] [--lines 10] [--merchants 4]
 *
 * One real service pays without end: `lines` telephones key cards one call after another (some decline, some hang up), each of
 * `merchants` makes a session with its stream, cancels it, makes a widget session and pays it in its page. Every ten seconds: resident
 * memory, heap and descriptors of the service, from its own /metrics; then what is still held when everybody has gone, and the lowest
 * of the middle and of the last third (E13: descriptors flat, heap under 1 MiB an hour).
 * On PGlite, or the server of TEST_DATABASE_URL.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { openTelephone } from "#softphone/caller.ts";
import type { Turn } from "#softphone/script.ts";
import { startSimulators } from "#simulators/index.ts";
import { openStream } from "../test/journeys/processes.ts";
import { API_KEY, PROMPT_CACHE, stripeAt } from "../test/journeys/installation.ts";
import { CARD, keyedPayment, payInPage, typedCard, type WidgetMade } from "../test/journeys/paying.ts";
import { type Service, startService } from "../test/journeys/service.ts";

const SAMPLE_MS = 10_000;
const REST_MS = 20_000;
const PAUSE_MS = 250;
const DECLINED = "4000000000000002";
const MIB = 1024 * 1024;

/** Columns of the table and what /metrics calls them. */
const GAUGES = {
  "RSS MiB": ["process_resident_memory_bytes", MIB],
  "heap MiB": ["nodejs_heap_size_used_bytes", MIB],
  descriptors: ["process_open_fds", 1],
  handles: ["nodejs_active_handles_total", 1],
} as const;
type Sample = { minute: number } & Record<keyof typeof GAUGES, number>;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    lines: { type: "string", default: "10" },
    merchants: { type: "string", default: "4" },
  },
});
const endsAt = performance.now() + Number(values.minutes) * 60_000;
const isOn = () => performance.now() < endsAt;
const done = { calls: 0, sessions: 0, "widget payments": 0, failures: 0 };

const HANG_UP = { do: "hang up" } as const;
/** Three who pay, one whose card is declined, one who changes their mind. */
const CALLERS: readonly (readonly Turn[])[] = [
  keyedPayment(),
  keyedPayment(),
  keyedPayment(),
  [...keyedPayment(DECLINED), HANG_UP],
  [...keyedPayment().slice(0, 1), HANG_UP],
];

async function line(service: Service, number: number): Promise<void> {
  const telephone = await openTelephone(PROMPT_CACHE);
  for (let call = number; isOn(); call++) {
    const { session_id, sip_uri } = await service.create();
    try {
      await telephone.call({ target: sip_uri, turns: CALLERS[call % CALLERS.length]! });
      done.calls++;
    } catch (error) {
      done.failures++;
      console.error(session_id, error);
    }
  }
  await telephone.close();
}

async function merchant(service: Service): Promise<void> {
  while (isOn()) {
    const { session_id } = await service.create();
    const stream = await openStream(`${service.baseUrl}/v1/sessions/${session_id}/stream`, API_KEY);
    await service.request("POST", `/v1/sessions/${session_id}/cancel`);
    await stream.ended;
    done.sessions++;

    const order = { project: "shop", amount_cents: 4995, mode: "charge", gateway: "stripe" };
    const { body } = await service.request("POST", "/v1/widget-sessions", order);
    const paid = await payInPage(body as unknown as WidgetMade, typedCard(CARD));
    if (paid.status !== 200) throw new Error(`the widget answered ${paid.status}`);
    done["widget payments"]++;
    await delay(PAUSE_MS);
  }
}

async function sample(service: Service, began: number): Promise<Sample> {
  const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  const gauge = (name: string) => Number(new RegExp(`^voicetill_${name} (\\S+)|^${name} (\\S+)`, "m").exec(text)?.slice(1).find(Boolean));
  const read = Object.entries(GAUGES).map(([column, [name, unit]]) => [column, gauge(name) / unit]);
  return { minute: (performance.now() - began) / 60_000, ...Object.fromEntries(read) } as Sample;
}

const show = ({ minute, ...gauges }: Sample) =>
  `${minute.toFixed(1).padStart(6)} ${Object.values(gauges)
    .map((value) => value.toFixed(1).padStart(12))
    .join(" ")}`;

/** The lowest of a stretch of time: between two collections a heap grows whatever happens. */
const floor = (samples: readonly Sample[], column: keyof typeof GAUGES) => Math.min(...samples.map((one) => one[column])).toFixed(1);

const simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
const service = await startService({ env: { SIMULATORS_PORT: "" }, project: { gateways: stripeAt(simulators.url) } });
try {
  const began = performance.now();
  const samples: Sample[] = [];
  const fail = (error: unknown) => {
    done.failures++;
    console.error(error);
  };
  const load = [
    ...Array.from({ length: Number(values.lines) }, (_, number) => line(service, number)),
    ...Array.from({ length: Number(values.merchants) }, () => merchant(service)),
  ].map((work) => work.catch(fail));
  console.log(
    `minute ${Object.keys(GAUGES)
      .map((name) => name.padStart(12))
      .join(" ")}`,
  );
  while (isOn()) {
    samples.push(await sample(service, began));
    console.log(show(samples.at(-1)!));
    await delay(Math.min(SAMPLE_MS, Math.max(0, endsAt - performance.now())));
  }
  await Promise.all(load);
  await delay(REST_MS);
  console.log(`${show(await sample(service, began))}  everybody has gone`);
  const third = Math.floor(samples.length / 3);
  const floors = (Object.keys(GAUGES) as (keyof typeof GAUGES)[]).map(
    (column) => `${column} ${floor(samples.slice(third, 2 * third), column)}, ${floor(samples.slice(2 * third), column)}`,
  );
  const counts = Object.entries(done).map(([what, count]) => `${count} ${what}`);
  console.log(`${counts.join(", ")}; lowest in the middle and in the last third: ${floors.join("; ")}`);
} finally {
  await service.close();
  await simulators.close();
}
