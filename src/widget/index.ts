import type { CardCells } from "#src/kernel/card.ts";
import { AppError } from "#src/kernel/errors.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Payments } from "#src/payments/index.ts";
import type { Database, Log } from "#src/platform/index.ts";
import type { Project, Projects } from "#src/projects/index.ts";
import { isTerminal, type Session, type Sessions, type Status } from "#src/sessions/index.ts";
import { chargeOnce } from "./charge.ts";
import { createFrame, type Frame } from "./frame/frame.ts";
import { createNonces } from "./nonce.ts";
import { MOST_TRIES, triesOf } from "./tries.ts";

export { type CardComplaint, type CardFault, readCardBody } from "./card-body.ts";

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
  | { kind: "over"; session: Session; project: Project; result: string | null }
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
  | { kind: "over"; result: string }
  /** No nonce of this session, or one that was used. */
  | { kind: "stranger" }
  | { kind: "missing" };

export interface Widget {
  /** The session behind a frame's address; `missing` for one that is unknown or not a widget's. */
  find(sessionId: string, nonce?: string): Promise<Found>;
  /** Whether the nonce was issued for this session; it may be used already. */
  knows(sessionId: string, nonce: string | undefined): boolean;
  /**
   * One try to pay, counted in the database whatever becomes of it. The caller wipes the card. It goes on when the browser
   * has left. Throws AppError `unavailable` when nothing could be written: then nothing was sent.
   */
  charge(charge: Charge): Promise<ChargeResult>;
  /** The address of the page on which this session is paid. */
  urlFor(sessionId: string): string;
  /** What the browser is given: the page, its script and its style. */
  frame: Frame;
  /** Refuses new charges; those that run go on. */
  drain(): void;
  /** Resolves when no charge is left. */
  idle(): Promise<void>;
}

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
}

/** Payment sessions in the browser: what the frame may ask, and its one way to charge. */
export function createWidget(deps: WidgetDeps): Widget {
  const { database, sessions, projects } = deps;
  const nonces = createNonces(deps.key, deps.random);
  const running = new Set<Promise<unknown>>();
  let isDraining = false;

  async function find(sessionId: string, nonce?: string): Promise<Found> {
    const session = await sessions.find(database.db, sessionId);
    if (session?.channel !== "widget") return { kind: "missing" };
    const project = await projects.projectById(database.db, session.projectId);
    if (!project) return { kind: "missing" };
    if (isTerminal(session.status)) {
      const isKnown = nonces.read(sessionId, nonce) !== null;
      return { kind: "over", session, project, result: isKnown ? nonces.result(sessionId, session.status) : null };
    }
    const { used, busy } = await triesOf(database.db, sessionId, null);
    const processing = busy || (session.phase !== null && session.phase !== "collecting");
    return { kind: "open", session, project, processing, triesLeft: MOST_TRIES - used, nonce: nonces.issue(sessionId) };
  }

  return {
    find,
    knows: (sessionId, nonce) => nonces.read(sessionId, nonce) !== null,
    charge(charge) {
      if (isDraining) return Promise.reject(new AppError("unavailable"));
      const whole = chargeOnce(deps, nonces, charge).finally(() => running.delete(whole));
      running.add(whole);
      return whole;
    },
    urlFor: (sessionId) => `${deps.publicUrl()}/widget/${sessionId}`,
    frame: createFrame(() => new URL(deps.publicUrl()).pathname.replace(/\/$/, "")),
    drain: () => void (isDraining = true),
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
