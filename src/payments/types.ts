import type { Gateway } from "#src/gateways/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { DECLINES, DeclineCode, GatewayName } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Database, Log, Outbound } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { Sessions } from "#src/sessions/index.ts";

/** What became of a card, for whoever collected it. */
export type SettleResult =
  | { kind: "approved"; capture: "captured" | "authorized" }
  /** `final`: the session has ended with it; else the caller may give `fix` again, or another card. */
  | { kind: "declined"; code: DeclineCode; fix: (typeof DECLINES)[DeclineCode]["fix"]; final: boolean }
  /** The answer was lost. The session is decided later; nobody may be told "declined". */
  | { kind: "unknown" }
  /** The session was no longer being collected: nothing was sent. */
  | { kind: "refused"; status: string };

export interface PaymentsDeps {
  database: Database;
  sessions: Sessions;
  projects: Pick<Projects, "gatewaySettings" | "rotateCredentials">;
  gateways: Readonly<Partial<Record<GatewayName, Gateway>>>;
  outbound: Pick<Outbound, "send">;
  clock: Clock;
  random: Random;
  /** The public address of this installation where it is known: for vendors that demand a payer's address. */
  egressIp?: string | null;
  /** This run of this process, as in its lease. */
  owner: string;
  log: Log;
  /** Told what the search made of a lost answer; `unknown`: it gave up. */
  onFound?: (gateway: GatewayName, outcome: "approved" | "declined" | "unknown") => void;
}
