import { OperatorError } from "#src/kernel/errors.ts";
import { parseUuid } from "#src/kernel/ids.ts";
import { formatAmount } from "#src/kernel/money.ts";
import type { ProjectOverview } from "#src/projects/index.ts";
import type { Session, Status } from "#src/sessions/index.ts";
import { unknownProject } from "./find-project.ts";
import type { CommandModules } from "./modules.ts";
import { limitOf, operation, type Operations, runnerOf } from "./operation.ts";
import { facts, moment, table } from "./table.ts";

const list = operation({
  arguments: "[--status S] [--project P] [--limit N]",
  summary: "The newest sessions, 50 unless --limit says otherwise. P: a project's slug, ORGANIZATION/SLUG or id.",
  options: { status: { type: "string" }, project: { type: "string" }, limit: { type: "string" } },
  read: async ({ status, project = null, limit }) => ({ status: await statusOf(status), project, limit: limitOf(limit) }),
  async work({ sessions, projects, database }, { project: name, ...filter }) {
    const project = name === null ? null : namedIn(await projects.overview(database.db), name);
    const found = await sessions.list(database.db, { project, ...filter });
    const words = await wordsFor({ projects, database });
    return found.map((session) => listed(session, words));
  },
  show: (rows) =>
    rows.length === 0
      ? "There are no such sessions."
      : table(
          ["SESSION", "PROJECT", "KEYS", "STATUS", "AMOUNT", "MODE", "GATEWAY", "CALLER", "MADE"],
          rows.map((row) => [
            row.session_id,
            `${row.organization}/${row.project}`,
            row.environment,
            row.phase === null || row.phase === "collecting" ? row.status : `${row.status} (${row.phase})`,
            `${row.amount} ${row.currency}`,
            row.mode,
            row.gateway,
            row.caller,
            moment(row.created_at),
          ]),
        ),
});

/** What a list is narrowed to by: a slug means every organisation's project of that name, archived ones too. */
function namedIn(projects: readonly ProjectOverview[], name: string): string {
  if (projects.some(({ id, project }) => name === project || name.toLowerCase() === id)) return name;
  const one = projects.find(({ organization, project }) => `${organization}/${project}` === name);
  if (!one) throw new OperatorError(unknownProject(projects, name));
  return one.id;
}

const show = operation({
  arguments: "ID",
  summary: "One session: what it asked for, each attempt at the gateway, its webhook, how the transfer-back went.",
  options: {},
  takes: 1,
  read: readId,
  async work(modules, { id }) {
    const { db } = modules.database;
    const { attemptsOf } = await import("#src/payments/index.ts");
    const { erasedAt } = await import("#src/sessions/index.ts");
    const { findEvent } = await import("#src/webhooks/index.ts");
    const session = await find(modules, id);
    return {
      ...detailed(session, await wordsFor(modules)),
      erased_at: await erasedAt(db, id),
      attempts: await attemptsOf(db, id),
      webhook: await findEvent(db, id),
    };
  },
  show({ attempts, webhook, ...session }) {
    const sections = [
      facts([
        ["session", session.session_id],
        ["project", `${session.organization}/${session.project}`],
        ["keys", session.environment],
        ["status", session.phase === null ? session.status : `${session.status}, ${session.phase}`],
        ["error", session.error && [session.error.code, session.error.message].filter(Boolean).join(": ")],
        ["amount", `${session.amount} ${session.currency}, ${session.mode} by ${session.gateway}`],
        ["card", session.card],
        ["channel", session.channel],
        ["caller", session.caller],
        ["callback", session.callback],
        ["transfer", session.transfer_status],
        ["made", moment(session.created_at)],
        ["changed", moment(session.updated_at)],
        ["expires", session.completed_at === null ? moment(session.expires_at) : null],
        ["completed", moment(session.completed_at)],
        ["erased", moment(session.erased_at)],
        ["held by", session.claimed_by],
        ["call", session.call_id],
      ]),
      attempts.length === 0
        ? "No attempt: the gateway was never asked."
        : table(
            ["ATTEMPT", "REFERENCE", "CARD", "OUTCOME", "CODE", "REVERSAL", "STARTED", "FINISHED", "SUPPORT ID", "REASON", "GATEWAY SAID"],
            attempts.map((attempt) => [
              attempt.number,
              attempt.reference,
              `${attempt.card_brand} ${attempt.card_last4}`,
              attempt.outcome ?? "under way",
              attempt.decline_code,
              attempt.reversal,
              moment(attempt.started_at),
              moment(attempt.finished_at),
              attempt.support_id,
              attempt.reason,
              attempt.said,
            ]),
          ),
      webhook === null
        ? session.completed_at === null
          ? "No webhook yet: the session is not final."
          : "No webhook: its project had no status_webhook."
        : table(
            ["WEBHOOK", "EVENT", "STATE", "TRIES", "LAST ANSWER", "NEXT TRY"],
            [[webhook.id, webhook.event, webhook.state, webhook.tries, webhook.last_status, moment(webhook.next_try_at)]],
          ),
    ];
    return sections.join("\n\n");
  },
});

const cancel = operation({
  arguments: "ID",
  summary: "Cancels a session by the API's rule: while it waits or a card is being collected, never once the gateway was asked.",
  options: {},
  takes: 1,
  read: readId,
  async work(modules, { id }) {
    const { organizationId, environment } = await find(modules, id);
    const result = await modules.sessions.cancel(id, { organizationId, environment }, "operator", "command");
    if (result.kind === "cancelled") return listed(result.session, await wordsFor(modules));
    const why = result.kind === "missing" ? "it is gone" : result.phase === null ? `status: ${result.status}` : "payment in progress";
    throw new OperatorError(`Session ${id} cannot be cancelled (${why}).`);
  },
  show: ({ session_id }) => `Session ${session_id} is cancelled.`,
});

const erase = operation({
  arguments: "ID",
  summary: "Erases who called and what for: caller, memory, description, billing address, the webhook's body. The outcome stays.",
  options: {},
  takes: 1,
  read: readId,
  async work({ database }, { id }) {
    const { eraseSession } = await import("#src/retention/index.ts");
    const { erasedAt } = await import("#src/sessions/index.ts");
    const found = await eraseSession(database, id);
    if (found === "missing") throw new OperatorError(`There is no session ${id}.`);
    if (found === "open") throw new OperatorError(`Session ${id} has not ended: cancel it first, or erase it when it has.`);
    return { session_id: id, erased_at: await erasedAt(database.db, id) };
  },
  show: ({ session_id }) => `Session ${session_id} is erased: only its outcome is left.`,
});

export const operations: Operations = {
  "sessions list": list,
  "sessions show": show,
  "sessions cancel": cancel,
  "sessions erase": erase,
};
export const run = runnerOf("sessions", operations);

async function find({ sessions, database }: CommandModules, id: string): Promise<Session> {
  const session = await sessions.find(database.db, id);
  if (!session) throw new OperatorError(`There is no session ${id}.`);
  return session;
}

/** What a session is told with, besides its row. */
interface Words {
  /** Organisations' slugs by their ids: a project's own slug may be another organisation's too. */
  slugs: ReadonlyMap<string, string>;
  isTerminal: (status: Status) => boolean;
}

async function wordsFor({ projects, database }: Pick<CommandModules, "projects" | "database">): Promise<Words> {
  const { isTerminal } = await import("#src/sessions/index.ts");
  const overview = await projects.overview(database.db);
  return { slugs: new Map(overview.map(({ organizationId, organization }) => [organizationId, organization])), isTerminal };
}

function listed(session: Session, { slugs, isTerminal }: Words) {
  return {
    session_id: session.id,
    organization: slugs.get(session.organizationId) ?? null,
    project: session.projectSlug,
    environment: session.environment,
    channel: session.channel,
    status: session.status,
    phase: session.phase,
    is_terminal: isTerminal(session.status),
    amount: formatAmount(session.amountMinor, session.currency),
    currency: session.currency,
    mode: session.mode,
    gateway: session.gateway,
    caller: session.caller,
    created_at: session.createdAt,
  };
}

function detailed(session: Session, words: Words) {
  return {
    ...listed(session, words),
    error: session.errorCode === null ? null : { code: session.errorCode, message: session.errorMessage },
    card: session.cardLast4 === null ? null : `${session.cardBrand ?? ""} ${session.cardLast4}`.trim(),
    description: session.description,
    callback: session.callback,
    memory: session.memory,
    processor: session.processor,
    transfer_status: session.transferStatus,
    claimed_by: session.claimedBy,
    call_id: session.callId,
    updated_at: session.updatedAt,
    expires_at: session.expiresAt,
    completed_at: session.completedAt,
  };
}

async function statusOf(text: string | undefined): Promise<Status | null> {
  if (text === undefined) return null;
  const { STATUSES } = await import("#src/sessions/index.ts");
  const status = STATUSES.find((one) => one.toLowerCase() === text.toLowerCase());
  if (!status) throw new OperatorError(`--status takes ${STATUSES.join(", ")}; "${text}" is none of them.`);
  return status;
}

function readId(_: object, text: string): { id: string } {
  const id = parseUuid(text);
  if (id === null) throw new OperatorError(`"${text}" is not a session's id, such as 018f7a52-0000-4000-8000-000000000000.`);
  return { id };
}
