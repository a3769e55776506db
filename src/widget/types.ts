import type { CardCells } from "#src/kernel/card.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Payments } from "#src/payments/index.ts";
import type { Database, Log } from "#src/platform/index.ts";
import type { Project, Projects } from "#src/projects/index.ts";
import type { Session, Sessions, Status } from "#src/sessions/index.ts";
import type { Scripts } from "./frame/scripts.ts";

/** A widget session as its frame finds it. */
export interface Opened {
  session: Session;
  project: Project;
  /** Another try is under way, or its answer was lost. */
  processing: boolean;
  triesLeft: number;
  /** A nonce for the frame: fresh, for the page and for whoever shows that it has the page. */
  nonce: string;
}

export type Found =
  | ({ kind: "open" } & Opened)
  /** `result`: the signed result, for whoever shows one of the session's nonces; else null. */
  | { kind: "ended"; session: Session; project: Project; result: string | null }
  | { kind: "missing" };

export interface Charge {
  sessionId: string;
  nonce: string | undefined;
  /** Null: what was sent is no card. It counts as a try all the same. */
  card: CardCells | null;
  /** The shopper's address. */
  customerIp: string | null;
}

export type ChargeResult =
  | { kind: "paid"; status: Status; brand: string; last4: string }
  | { kind: "declined"; code: string; message: string; retryable: boolean; triesLeft: number; nonce: string }
  | { kind: "malformed"; nonce: string }
  /** A payment is under way, or its outcome is not known yet. */
  | { kind: "busy" }
  /** The session is final. */
  | { kind: "ended"; result: string }
  /** No nonce of this session, or one that was used. */
  | { kind: "invalid nonce" }
  | { kind: "missing" };

export interface WidgetDeps {
  database: Database;
  sessions: Pick<Sessions, "find" | "transition" | "apply">;
  projects: Pick<Projects, "projectById">;
  payments: Pick<Payments, "settle" | "giveUp">;
  clock: Clock;
  random: Pick<Random, "bytes">;
  /** This run of this process, as in its lease. */
  owner: string;
  log: Log;
  /** Signs nonces: the same 32 bytes in every process. */
  key: Uint8Array;
  /** Public base address, without a trailing slash. Known once the service listens. */
  publicUrl: () => string;
  /** The page's scripts as a browser runs them. Default: made in a thread of their own. */
  scripts?: () => Promise<Scripts>;
}
