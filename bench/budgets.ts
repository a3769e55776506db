/** What is to be reached, each measured by one bench against its anchor in the same run. `npm run bench -- all` says which hold. */
export interface Budget {
  what: string;
  unit: "x" | "ms" | "s" | "MiB" | "KiB" | "";
  /** The value holds at this or, by `better`, beyond it. */
  goal: number;
  better: "higher" | "lower";
}

const ratio = (what: string, goal: number): Budget => ({ what, unit: "x", goal, better: "higher" });
const most = (what: string, goal: number, unit: Budget["unit"]): Budget => ({ what, unit, goal, better: "lower" });

export const BUDGETS = {
  create_1: ratio("POST /v1/sessions, of a bare server, 1 connection", 0.9),
  create_8: ratio("POST /v1/sessions, of a bare server, 8 connections", 1.3),
  create_32: ratio("POST /v1/sessions, of a bare server, 32 connections", 1.3),
  keyed_1: ratio("the same with Idempotency-Key, 1 connection", 0.9),
  keyed_8: ratio("the same with Idempotency-Key, 8 connections", 1.3),
  keyed_32: ratio("the same with Idempotency-Key, 32 connections", 1.3),
  read_8: ratio("GET /v1/sessions/{id}, of a bare server, 8 connections", 0.8),
  find_8: ratio("GET by caller, of a bare server, 8 connections", 0.8),
  invite_to_rtp_p50: most("INVITE to first RTP, 100 calls, p50 (Asterisk 18: 3.3)", 3.3, "ms"),
  invite_to_rtp_p95: most("INVITE to first RTP, 100 calls, p95 (Asterisk 18: 5.2)", 5.2, "ms"),
  key_to_prompt_p95: most("last digit's first packet to the next prompt, 100 calls, p95 (Asterisk 18: 3.0 after its 100 ms)", 103, "ms"),
  wrong_digits: most("admitted calls of 100 that were not paid", 0, ""),
  speech_p95: most("end of speech to its result, 4 callers, p95", 700, "ms"),
  event_p99: most("status change to stream event, p99", 20, "ms"),
  stream_memory: most("memory of an idle stream", 25, "KiB"),
  start_embedded: most("start on existing data, embedded", 1.5, "s"),
  start_postgres: most("start on existing data, PostgreSQL", 1.0, "s"),
  idle_embedded: most("memory at rest, embedded", 350, "MiB"),
  idle_postgres: most("memory at rest, PostgreSQL", 200, "MiB"),
  first_start: most("memory of a first start, at most", 600, "MiB"),
} satisfies Record<string, Budget>;
export type BudgetName = keyof typeof BUDGETS;

/** Hands a measured value to `npm run bench -- all`; alone, a bench prints its own table only. */
export function figure(name: string, value: number): void {
  if (process.env["BENCH_FIGURES"] && Object.hasOwn(BUDGETS, name)) console.log(`figure ${name} ${value}`);
}
