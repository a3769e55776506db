import { type Clock, sleep } from "#src/kernel/clock.ts";
import { AppError } from "#src/kernel/errors.ts";
import type { CreatedSession, RefusedSession, ToolSessions } from "#src/integrations/index.ts";
import type { ApiKeyIdentity } from "#src/projects/index.ts";
import type { Client } from "./access/client-address.ts";
import type { ApiDeps } from "./deps.ts";
import { createIdempotency } from "./idempotency.ts";
import { sessionCreation } from "./session-creation.ts";
import { Invalid, type Item } from "./schemas/faults.ts";
import { sessionCreate, webCallCreate } from "./schemas/session.ts";
import { parse } from "./schemas/validate.ts";
import type { TrafficAudit } from "./traffic-audit.ts";

const BETWEEN_TRIES_MS = 100;
const MOST_TRIES = 10;
/** Of one call: the newest. */
const MOST_SESSIONS = 100;

/** A call without a number is paid by link or not at all. */
class NoLink extends Error {
  override message = "the project offers no payment link";
}

/** What is kept of a session for later deliveries of the same request. */
interface Stored {
  session_id: string;
  phone_number: string | null;
  short_code?: string;
  pay_url?: string;
  expires_at: string;
}

/** What the tools of voice platforms work with: sessions are made as POST /v1/sessions makes them, by its schema and its rules. */
export function createToolSessions(deps: ApiDeps, traffic: TrafficAudit): (identity: ApiKeyIdentity, client: Client) => ToolSessions {
  const { database, sessions, clock, sipUriFor } = deps;
  const { db } = database;
  const idempotency = createIdempotency(database, sessions, clock);
  const creation = sessionCreation(deps);

  async function create(
    identity: ApiKeyIdentity,
    client: Client,
    ...[body, name]: Parameters<ToolSessions["create"]>
  ): Promise<CreatedSession> {
    const valid = body["caller"] === null ? parse(webCallCreate, body, "body") : parse(sessionCreate, body, "body");
    const prepare = async () => {
      const { session, response } = await creation(identity, valid);
      if (session.caller === null && !("pay_url" in response(""))) throw new NoLink();
      return { session, response: (id: string) => ({ ...response(id), expires_at: null }) };
    };
    // The name stands for the request, whatever else a delivery brings.
    const creating = () => idempotency.create({ ...name, body: null, status: 200 }, prepare);
    const { text, replayed } = await createWhenFree(creating, clock);
    const stored = JSON.parse(text) as Stored;
    if (!replayed) traffic.sessionCreated(identity, client, () => stored.session_id);
    const {
      session_id: sessionId,
      phone_number: phoneNumber,
      short_code: code = null,
      pay_url: payUrl = null,
      expires_at: expiresAt,
    } = stored;
    return { kind: "created", sessionId, phoneNumber, code, payUrl, expiresAt, isRepeat: replayed };
  }

  return (identity, client) => ({
    async create(body, name) {
      try {
        return await create(identity, client, body, name);
      } catch (error) {
        const refused = refusalOf(error);
        if (refused) return refused;
        throw error;
      }
    },
    find: (scope, id) => sessions.find(db, id, scope),
    async madeIn(name) {
      const responses = await sessions.findResponses(db, name, MOST_SESSIONS);
      const found = await Promise.all(responses.map(({ text }) => sessions.find(db, (JSON.parse(text) as Stored).session_id)));
      return found.filter((session) => session !== null);
    },
    withdraw: async (id) => (await sessions.apply(id, "cancel", { from: "PENDING", actor: `key:${identity.keyId}` })) !== null,
    findByCaller: (scope, caller, projectId) => sessions.findByCaller(db, scope, caller, projectId),
    findTriedByCaller: (scope, caller, projectId, since) => sessions.findTriedByCaller(db, scope, caller, projectId, since),
    sipUriFor,
    linkFor: (session) => deps.widget?.linkFor(session) ?? null,
    nowMs: () => clock.now(),
  });
}

/** `create`, tried again for a second while another process is at the same request: its session is this one's too. */
async function createWhenFree<T>(create: () => Promise<T>, clock: Clock): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof AppError && error.code === "idempotency_key_in_use") || tries === MOST_TRIES) throw error;
    }
    await sleep(clock, BETWEEN_TRIES_MS);
  }
}

/** What the agent is told instead of a 404, 409 or 422; null for what is the service's own fault. */
function refusalOf(error: unknown): RefusedSession | null {
  const refused = (field: string, words: string) => ({ kind: "refused", field, words }) as const;
  if (error instanceof Invalid) return refused(String(error.items[0]!.loc[1]), wordsOf(error.items[0]!));
  if (error instanceof NoLink) return refused("link", error.message);
  if (!(error instanceof AppError)) return null;
  if (error.code === "project_not_found") return refused("project", "project is not known");
  if (error.code === "idempotency_key_in_use") return refused("busy", "the same request is under way");
  return null;
}

/** The words of a 422's item as a sentence about its field: "amount must be greater than 0". */
function wordsOf({ loc, type, msg }: Item): string {
  const field = loc.slice(1).join(".");
  if (type === "missing") return `${field} is missing`;
  if (type === "enum" && field === "gateway") return "gateway is none of the gateways' names";
  const words = msg.replace(/^Value error, /, "").replace(/^(?:Decimal input|Input|String) should /, "must ");
  return words.startsWith("must ") ? `${field} ${words}` : words;
}
