import { createHash } from "node:crypto";
import type { Gateway, GatewayIo, GatewaySettings } from "#src/gateways/index.ts";
import { sleep, type Clock } from "#src/kernel/clock.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import { isDatabaseUnavailable, type Log, type Outbound } from "#src/platform/index.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { addNotes, type Attempt } from "./attempts.ts";
import type { PaymentsDeps } from "./types.ts";

interface IoDeps {
  outbound: Pick<Outbound, "send">;
  clock: Clock;
  random: Random;
  tokens: AccessTokens;
  projects: Pick<PaymentsDeps["projects"], "rotateCredentials">;
  egressIp?: string | null;
  log: Pick<Log, "warn">;
  gateways: Readonly<Partial<Record<GatewayName, Pick<Gateway, "name" | "credentialFields">>>>;
}

export interface IoScope {
  sessionId: string;
  projectId: string;
  gateway: GatewayName;
  settings: GatewaySettings;
  deadlineMs: number;
  note(notes: Record<string, string>): Promise<void>;
}

/** How long after a connection of the database broke a note is written again. */
const NOTE_AGAIN_MS = 100;

/** The answer of `work` with what a gateway may touch during one attempt or one look-up, all of it under one total deadline. */
export async function withGatewayIo<T>(deps: IoDeps, scope: IoScope, work: (io: GatewayIo) => Promise<T>): Promise<T> {
  const { outbound, clock, random, tokens, projects, log } = deps;
  const { sessionId, projectId, gateway, settings } = scope;
  const controller = new AbortController();
  const ends = clock.monotonic() + scope.deadlineMs;
  const end = clock.after(scope.deadlineMs, () => controller.abort());
  const left = () => Math.max(0, ends - clock.monotonic());

  const io: GatewayIo = {
    settings,
    clock,
    random,
    egressIp: deps.egressIp ?? null,
    signal: controller.signal,
    async send(request) {
      if (left() === 0) return { kind: "not sent", reason: "deadline passed" };
      const timeoutMs = Math.min(request.timeoutMs ?? left(), left());
      const answer = await outbound.send({ ...request, timeoutMs, httpsOnly: settings.environment === "live" });
      if (answer.kind !== "answered") {
        const event = answer.kind === "lost" ? "gateway_answer_lost" : "gateway_not_reached";
        log.warn(event, { session: sessionId, gateway, reason: answer.reason });
      }
      return answer;
    },
    async wait(ms) {
      if (ms >= left()) return false;
      await sleep(clock, ms);
      return true;
    },
    async note(notes) {
      for (;;) {
        try {
          return await scope.note(notes);
        } catch (error) {
          // Nothing is known of the payment by it: while there is time, the adapter goes on once the note stands.
          if (!isDatabaseUnavailable(error) || !(await io.wait(NOTE_AGAIN_MS))) throw error;
        }
      }
    },
    accessToken: (mint, { renew = false } = {}) => tokens.get(tokenKey(deps.gateways[gateway], projectId, settings), mint, renew),
    rotateCredentials: (change) => projects.rotateCredentials(projectId, gateway, settings.environment, change),
  };
  try {
    return await work(io);
  } finally {
    end();
  }
}

/**
 * Whom an access token was minted for: other credentials or options need another. A refresh token that the vendor replaces
 * with each use is left out: what was minted with the old one goes on.
 */
function tokenKey(gateway: Pick<Gateway, "name" | "credentialFields"> | undefined, projectId: string, settings: GatewaySettings): string {
  const fixed = gateway?.credentialFields.filter(({ rotates }) => !rotates).map(({ name }) => settings.credentials[name]?.reveal() ?? null);
  const hash = createHash("sha256")
    .update(JSON.stringify([fixed, settings.options]))
    .digest("base64");
  return [gateway?.name, projectId, settings.environment, settings.endpoint, hash].join(" ");
}

/** One look-up or void with all its requests. */
const LOOK_UP_MS = 30_000;

/** By attempt: what `tokenKey` made of the credentials of its own version, while this process has seen them in force. */
export type SeenCredentials = Map<string, string>;

/**
 * The answer of `work` with the endpoint that the attempt went to and the credentials of now; null when there are none. `unchanged`:
 * they are the attempt's: no operator has applied others since, or, as far as `seen` tells, the same ones again; what the vendor itself
 * replaces counts as the same. Others may be another account's, which never had the attempt: only then does an absence say anything.
 */
export async function withAttempt<T>(
  deps: PaymentsDeps,
  tokens: AccessTokens,
  attempt: Attempt,
  work: (io: GatewayIo) => Promise<T>,
  seen: SeenCredentials = new Map(),
): Promise<{ answer: T; unchanged: boolean } | null> {
  const { database, sessions, projects, gateways } = deps;
  const session = await sessions.find(database.db, attempt.trace.sessionId);
  if (!session) return null;
  const settings = await projects.gatewaySettings(database.db, session.projectId, attempt.gateway, attempt.environment);
  if (!settings) return null;
  const scope: IoScope = {
    sessionId: session.id,
    projectId: session.projectId,
    gateway: attempt.gateway,
    settings: { ...settings, endpoint: attempt.endpoint },
    deadlineMs: LOOK_UP_MS,
    note: (notes) => addNotes(database.db, attempt.id, notes),
  };
  const answer = await withGatewayIo({ ...deps, tokens }, scope, work);
  const key = tokenKey(gateways[attempt.gateway], session.projectId, scope.settings);
  if (settings.version === attempt.credentialVersion) seen.set(attempt.id, key);
  return { answer, unchanged: seen.get(attempt.id) === key };
}
