import type { Checkout, Trunks } from "#src/checkout/index.ts";
import type { Config } from "#src/config/index.ts";
import type { Instruments } from "#src/instruments.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Payments } from "#src/payments/index.ts";
import type { Database, InstallationKeys, Log, Metrics, Outbound } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import type { Webhooks } from "#src/webhooks/index.ts";

/** The modules of one process, as `app.ts` builds them: what the roles and the commands work with. */
export interface Modules {
  config: Config;
  clock: Clock;
  random: Random;
  /** This run of this process, as in its lease. */
  owner: string;
  log: Log;
  metrics: Metrics;
  instruments: Instruments;
  database: Database;
  keys: InstallationKeys;
  outbound: Outbound;
  projects: Projects;
  sessions: Sessions;
  webhooks: Webhooks;
  checkout: Checkout;
  trunks: Trunks;
  payments: Payments;
  /** Hosts of our own services, which no merchant may make us send anything to (S-50). */
  ownHosts: readonly string[];
  /** Has something ended with the process, before what was started earlier. */
  onEnd: OnEnd;
}

export type OnEnd = (end: () => unknown) => void;
