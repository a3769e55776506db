import type { Checkout } from "#src/checkout/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Database, Log, Metrics, Outbound } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import type { Widget } from "#src/widget/index.ts";
import type { RateCounter } from "./access/counter.ts";
import type { ConnectionLimits } from "./connections.ts";

/** What the API asks of the projects. */
type ApiProjects = Pick<
  Projects,
  "authenticate" | "invalidKeys" | "findProject" | "list" | "numbersOf" | "configuredGateways" | "integrationSecrets"
>;

/** What the API asks of the sessions. */
export type ApiSessions = Pick<
  Sessions,
  | "create"
  | "createIdempotent"
  | "findStoredResponse"
  | "findResponses"
  | "deleteExpiredResponses"
  | "find"
  | "findByCaller"
  | "findTriedByCaller"
  | "cancel"
  | "apply"
  | "watch"
  | "stepOf"
  | "progressOf"
  | "watchProgress"
>;

/** Whether a part of this process works. null: the part does not run here. */
export type Probe = (() => Promise<boolean>) | null;

export interface ApiDeps {
  database: Database;
  sessions: ApiSessions;
  projects: ApiProjects;
  /** The rules of new sessions. */
  checkout: Checkout;
  clock: Clock;
  random: Random;
  /** The name of this process's lease, by which processes share the limits of streams; without it each counts for itself. */
  owner?: string;
  log: Log;
  settings: ApiSettings;
  /** Where requests are counted for the rate limits. Default: in PostgreSQL, or in memory when the database is embedded. */
  rateCounter?: RateCounter;
  /** The address a call for this session is transferred to. */
  sipUriFor: (sessionId: string) => string;
  /** Widget sessions; without it there are no such paths. */
  widget?: Widget;
  /** For commands to voice platforms; without it none are sent. */
  outbound?: Pick<Outbound, "send">;
  /** The database is probed by itself. */
  probes: { sip: Probe; worker: Probe };
  /** What /metrics shows; without it there is no such path. */
  metrics?: Pick<Metrics, "text" | "contentType">;
  /** How long a finished request took; for metrics. `endpoint` is method and route pattern, never an address. */
  observe?: (endpoint: string, status: number, seconds: number) => void;
}

/** What health and metrics need: a process without the interface has no public address. */
export type StatusDeps = Pick<ApiDeps, "database" | "clock" | "random" | "log" | "probes" | "metrics"> & {
  settings: Omit<ApiSettings, "baseUrl"> & { baseUrl: string | null };
};

export interface ApiSettings {
  /** Public base address; HTTPS is insisted on when it says so. */
  baseUrl: string;
  version: string;
  rateLimitPerMinute: number;
  /** CIDRs. */
  trustedProxies: readonly string[];
  /** Where connections are not limited as by default. */
  connections?: Partial<ConnectionLimits>;
}
