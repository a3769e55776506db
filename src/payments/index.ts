import type { Gateway, GatewayIo, GatewaySettings } from "#src/gateways/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import { crashPoint } from "#src/kernel/crash-points.ts";
import type { DECLINES, DeclineCode, Environment, GatewayName } from "#src/kernel/payment.ts";
import { isDeclineCode } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Database, Db, Log, Outbound } from "#src/platform/index.ts";
import type { Session, Sessions } from "#src/sessions/index.ts";
import { AccessTokens } from "./access-tokens.ts";
import { lastDecline } from "./attempts.ts";
import { startJanitor } from "./janitor.ts";
import { errorOf } from "./outcome.ts";
import { createSearch } from "./reconcile.ts";
import { createReversals } from "./reversal.ts";
import { settle } from "./settle.ts";
import type { SettleInput } from "./settle.ts";
import { skip } from "./skip.ts";

export { deleteAttempts, isUnsettled } from "./retention.ts";
export { type AttemptView, attemptsOf, countOpen, needsOperator } from "./work-list.ts";
export type { SettleInput };

/** What became of a card, for whoever collected it. */
export type Verdict =
  | { kind: "approved"; capture: "captured" | "authorized" }
  /** `final`: the session has ended with it; else the caller may give `fix` again, or another card. */
  | { kind: "declined"; code: DeclineCode; fix: (typeof DECLINES)[DeclineCode]["fix"]; final: boolean }
  /** The answer was lost. The session is decided later; nobody may be told "declined". */
  | { kind: "unknown" }
  /** The session was no longer being collected: nothing was sent. */
  | { kind: "refused"; status: string };

/** What this room needs to know of a project. */
export interface ProjectSettings {
  gatewaySettings(db: Db, projectId: string, gateway: GatewayName, environment: Environment): Promise<GatewaySettings | null>;
  rotateCredentials(
    projectId: string,
    gateway: GatewayName,
    environment: Environment,
    change: Parameters<GatewayIo["rotateCredentials"]>[0],
  ): ReturnType<GatewayIo["rotateCredentials"]>;
}

export interface PaymentsDeps {
  database: Database;
  sessions: Sessions;
  projects: ProjectSettings;
  gateways: Readonly<Partial<Record<GatewayName, Gateway>>>;
  outbound: Pick<Outbound, "send">;
  clock: Clock;
  random: Random;
  /** This run of this process, as in its lease. */
  owner: string;
  log: Log;
  /** Told what the search made of a lost answer; `unknown`: it gave up. */
  onFound?: (gateway: GatewayName, outcome: "approved" | "declined" | "unknown") => void;
}

export interface Payments {
  /**
   * Charges or stores the card by the charge protocol. The caller wipes the card afterwards. Throws AppError
   * `unavailable` when the intent could not be written: then nothing was sent.
   */
  settle(input: SettleInput): Promise<Verdict>;
  /** The test word: success without the gateway, for a test session that is being collected. */
  skip(session: Session): Promise<Verdict>;
  /** The caller left: payment-failed when the last card was declined, else abandoned. A running charge goes on. */
  giveUp(session: Session): Promise<Session | null>;
  /** Starts recovery; answers its stop. Needs the lease of `owner`. */
  startJanitor(): () => Promise<void>;
}

export function createPayments(deps: PaymentsDeps): Payments {
  const tokens = new AccessTokens(deps.clock);
  const reversals = createReversals(deps, tokens);
  const search = createSearch(deps, tokens, reversals);
  return {
    settle: (input) => settle(deps, tokens, search, reversals, input),
    skip: (session) => skip(deps, session),
    async giveUp(session) {
      crashPoint("abandoning");
      const declined = await lastDecline(deps.database.db, session.id);
      if (declined === null || !isDeclineCode(declined)) return await deps.sessions.apply(session.id, "abandon");
      return await deps.sessions.apply(session.id, "fail", errorOf({ code: declined, message: null }));
    },
    startJanitor: () => startJanitor(deps, search, reversals),
  };
}
