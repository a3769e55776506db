import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Database, Log, Metrics } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { Sessions } from "#src/sessions/index.ts";

/** What the API asks of the projects. */
export type ApiProjects = Pick<Projects, "authenticate" | "findProject" | "list" | "numbersOf" | "configuredGateways" | "gatewaySettings">;

/** What the API asks of the sessions. */
export type ApiSessions = Pick<Sessions, "create" | "find" | "findByCaller" | "cancel" | "watch">;

/** Whether a part of this process works. null: the part does not run here. */
export type Probe = (() => Promise<boolean>) | null;

export interface ApiDeps {
  database: Database;
  sessions: ApiSessions;
  projects: ApiProjects;
  clock: Clock;
  random: Random;
  log: Log;
  settings: ApiSettings;
  /** The address a call for this session is transferred to. */
  sipUriFor: (sessionId: string) => string;
  /** The database is probed by itself. */
  probes: { sip: Probe; worker: Probe };
  /** What /metrics shows; without it there is no such path. */
  metrics?: Pick<Metrics, "text" | "contentType">;
  /** How long a finished request took; for metrics. `endpoint` is method and route pattern, never an address. */
  observe?: (endpoint: string, status: number, seconds: number) => void;
}

export interface ApiSettings {
  /** Public base address; HTTPS is insisted on when it says so. */
  baseUrl: string;
  version: string;
  rateLimitPerMinute: number;
  /** CIDRs. */
  trustedProxies: readonly string[];
  /** Number answered where a project has none. */
  phoneNumber: string | null;
  /** Unused voice sessions live this long. */
  sessionTtlSeconds: number;
}
