import { AppError, errorCode, OperatorError } from "#src/kernel/errors.ts";
import { filterLine, maskSecrets } from "./log-filter.ts";

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Every field a line may carry. An allow-list: what is not named here is left out, whoever passes it. No field is for
 * card data, secrets, telephone numbers or text that unknown peers wrote.
 */
const FIELDS = [
  "session",
  "project",
  "organization",
  "environment",
  "gateway",
  "attempt",
  "call",
  "webhook",
  "status",
  "phase",
  "code",
  "ms",
  "count",
  "total",
  "tries",
  "host",
  "port",
  "path",
  "method",
  "reason",
  "queue",
  "role",
  "owner",
  "prompt",
  "rule",
  "packets_in",
  "packets_out",
  "lost",
  "jitter_ms",
  "peer_lost",
  "peer_jitter_ms",
  "round_trip_ms",
  "request",
  "audit_head",
] as const;

type Scalar = string | number | boolean | null | undefined;
export type LogFields = Partial<Record<(typeof FIELDS)[number], Scalar>> & {
  /** Only its class, its code and the place it was thrown at are printed: a message may quote what it choked on. */
  error?: unknown;
};

/** `event` is a constant in snake_case, never built from values. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A log whose lines all carry `fields`. */
  child(fields: LogFields): Log;
}

export interface LogOptions {
  level: LogLevel;
  format: "pretty" | "json";
  /** Takes one finished line with its line feed. Default: standard error, which leaves standard output to results. */
  write?: (line: string) => void;
  now?: () => number;
}

const MAX_VALUE_LENGTH = 300;

export function createLog(options: LogOptions): Log {
  const { level, format, write = (line) => void process.stderr.write(line), now = Date.now } = options;
  const lowest = LOG_LEVELS.indexOf(level);
  const print = format === "json" ? jsonLine : prettyLine;

  const withFields = (inherited: LogFields): Log => {
    const at = (index: number) => (event: string, fields?: LogFields) => {
      if (index < lowest) return;
      write(`${filterLine(print(new Date(now()).toISOString(), LOG_LEVELS[index]!, event, allowed({ ...inherited, ...fields })))}\n`);
    };
    return { debug: at(0), info: at(1), warn: at(2), error: at(3), child: (fields) => withFields({ ...inherited, ...fields }) };
  };
  return withFields({});
}

/** Says nothing. For tests and tools. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

function allowed(fields: LogFields): Record<string, Scalar> {
  const shown: Record<string, Scalar> = {};
  for (const name of FIELDS) {
    const value = fields[name];
    if (value === undefined) continue;
    // The types allow scalars alone; an object that slipped past them is not printed, whatever it holds.
    if (typeof value === "string") shown[name] = maskSecrets(value, MAX_VALUE_LENGTH);
    else shown[name] = value === null || typeof value === "number" || typeof value === "boolean" ? value : `(${typeof value})`;
  }
  if (fields.error !== undefined) shown["error"] = describe(fields.error);
  return shown;
}

/** Class, code and place of an error; the words only of those whose words are ours. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const words = error instanceof OperatorError || error instanceof AppError ? error.message : null;
  const place = /\/((?:src|node_modules)\/[\w./@+-]+:\d+)/.exec((error.stack ?? "").slice(error.message.length))?.[1];
  const parts = [error.name, errorCode(error), words, place && `at ${place}`];
  return maskSecrets(parts.filter(Boolean).join(" "), MAX_VALUE_LENGTH);
}

function jsonLine(time: string, level: LogLevel, event: string, fields: Record<string, Scalar>): string {
  return JSON.stringify({ time, level, event, ...fields });
}

function prettyLine(time: string, level: LogLevel, event: string, fields: Record<string, Scalar>): string {
  const words = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${printable(value)}`]));
  return [time.slice(11, 23), level.toUpperCase().padEnd(5), event, ...words].join(" ");
}

function printable(value: Scalar): string {
  return typeof value === "string" && !/^[\w./:@+-]+$/.test(value) ? JSON.stringify(value) : String(value);
}
