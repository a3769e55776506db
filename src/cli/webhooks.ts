import { OperatorError } from "#src/kernel/errors.ts";
import { parseUuid } from "#src/kernel/ids.ts";
import type { Environment } from "#src/kernel/payment.ts";
import type { EventFilter } from "#src/webhooks/index.ts";
import { findProject } from "./find-project.ts";
import { limitOf, operation, type Operations, runnerOf } from "./operation.ts";
import { moment, table } from "./table.ts";

const FILTERS = ["failed", "pending", "dead"] as const;

const list = operation({
  arguments: "[--failed|--pending|--dead] [--limit N]",
  summary:
    "The newest status webhooks. Pending: a try is to come. Dead: given up, a resend starts afresh. Failed: tried in vain, either of both.",
  options: { failed: { type: "boolean" }, pending: { type: "boolean" }, dead: { type: "boolean" }, limit: { type: "string" } },
  read(values): { filter: EventFilter; limit: number } {
    const [filter, ...more] = FILTERS.filter((name) => values[name]);
    if (more.length > 0) throw new OperatorError("webhooks list takes one of --failed, --pending, --dead.");
    return { filter: filter ?? "all", limit: limitOf(values.limit) };
  },
  async work({ database }, { filter, limit }) {
    const { listEvents } = await import("#src/webhooks/index.ts");
    return await listEvents(database.db, filter, limit);
  },
  show: (events) =>
    events.length === 0
      ? "There are no such webhooks."
      : table(
          ["WEBHOOK", "EVENT", "PROJECT", "SESSION", "STATE", "TRIES", "LAST ANSWER", "NEXT TRY", "MADE"],
          events.map((event) => [
            event.id,
            event.event,
            `${event.organization}/${event.project}`,
            event.session_id,
            event.state === "dead" && event.endpoint !== "on" ? `dead (endpoint ${event.endpoint})` : event.state,
            event.tries,
            event.last_status,
            moment(event.next_try_at),
            moment(event.created_at),
          ]),
        ),
});

const resend = operation({
  arguments: "ID-or-session...",
  summary: "Sends webhooks again from the start of their schedule, whatever became of them; a disabled endpoint is enabled by it.",
  options: {},
  takes: "some",
  read: (_, ...names: string[]) => ({ ids: names.map((text) => parseUuid(text) ?? text) }),
  async work({ database, webhooks }, { ids }) {
    const { findEvent } = await import("#src/webhooks/index.ts");
    // All of them are looked at before the first is sent.
    const found = [];
    for (const id of ids) {
      const event = await findEvent(database.db, id);
      if (!event) throw new OperatorError(missing(id));
      if (event.endpoint === "none") {
        throw new OperatorError(
          `The project ${event.organization}/${event.project} has no status_webhook: apply one, then resend ${event.id}.`,
        );
      }
      if (event.erased) throw new OperatorError(`The body of ${event.id} is erased: its time is over, or its session was erased.`);
      found.push(event);
    }
    for (const { id } of found) await webhooks.resend(id);
    return found.map(({ id, event, session_id }) => ({ id, event, session_id }));
  },
  show: (sent) => sent.map(({ id, event, session_id }) => `${id} (${event} of ${session_id}) is sent again.`).join("\n"),
});

const test = operation({
  arguments: "PROJECT [--live]",
  summary:
    "Sends the event webhook.test once to the project's status_webhook, signed as every webhook, and says what it answered. PROJECT: its slug, or ORGANIZATION/SLUG.",
  options: { live: { type: "boolean" } },
  takes: 1,
  opening: { leavesAudit: true },
  read: ({ live }, name: string): { name: string; environment: Environment } => ({ name, environment: live ? "live" : "test" }),
  async work({ database, projects, webhooks }, { name, environment }) {
    const { id, project } = findProject(await projects.overview(database.db), name);
    const answer = await webhooks.test({ id, slug: project }, environment);
    if (!answer) throw new OperatorError(`${name} has no status_webhook for ${environment} sessions: apply one.`);
    return answer;
  },
  show: ({ url, sent, status, reason, ms }) =>
    status === null
      ? `${sent ? `${url} did not answer` : `Nothing was sent to ${url}`}: ${reason}.`
      : `${url} answered ${status} in ${ms} ms${isTaken(status) ? "." : ": 2xx says that it was taken."}`,
  fails: ({ status }) => !isTaken(status),
});

const isTaken = (status: number | null) => status !== null && status >= 200 && status < 300;

export const operations: Operations = { "webhooks list": list, "webhooks resend": resend, "webhooks test": test };
export const run = runnerOf("webhooks", operations);

function missing(id: string): string {
  if (parseUuid(id) === null) return `There is no webhook "${id}"; voicetill webhooks list shows them.`;
  return `There is no webhook of session ${id}: there is no such session, it is not final, or its project had no status_webhook.`;
}
