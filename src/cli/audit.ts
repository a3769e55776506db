import { OperatorError } from "#src/kernel/errors.ts";
import type { ChainReport } from "#src/platform/index.ts";
import { limitOf, operation, type Operations, runnerOf } from "./operation.ts";
import { moment, table } from "./table.ts";

const list = operation({
  arguments: "[--limit N]",
  summary: "Who did what, the newest first: 50 rows, or N.",
  options: { limit: { type: "string" } },
  opening: { leavesAudit: true },
  read: ({ limit }) => ({ limit: limitOf(limit) }),
  async work({ database }, { limit }) {
    return await database.db
      .selectFrom("audit_log")
      .leftJoin("organizations", "organizations.id", "audit_log.organization_id")
      .select(["audit_log.id", "position", "at", "actor", "source", "action", "object", "result", "details"])
      .select("organizations.slug as organization")
      .orderBy("audit_log.id", "desc")
      .limit(limit)
      .execute();
  },
  show: (rows) =>
    rows.length === 0
      ? "The audit log is empty."
      : table(
          ["AT (UTC)", "WHO", "FROM", "WHAT", "OBJECT", "RESULT", "ORGANIZATION", "POSITION"],
          rows.map((row) => [
            moment(row.at),
            row.actor,
            row.source,
            row.action,
            row.object,
            row.result,
            row.organization,
            row.position ?? "not sealed yet",
          ]),
        ),
});

const verify = operation({
  arguments: "[--head POSITION:SEAL]",
  summary: "Checks the log's chain from its first row; with --head, that it still holds what it held when that head was noted.",
  options: { head: { type: "string" } },
  opening: { leavesAudit: true },
  async read({ head }) {
    if (head === undefined) return { head: null };
    const { parseHead } = await import("#src/platform/index.ts");
    const noted = parseHead(head);
    if (!noted) throw new OperatorError("--head takes a head as audit verify prints it, POSITION:SEAL.");
    return { head: noted };
  },
  async work({ database, keys }, { head }) {
    const { headText, verifyChain } = await import("#src/platform/index.ts");
    const report = await verifyChain(database.db, keys.audit, head);
    return { ok: report.fault === null && report.overdue === 0, ...report, head: report.head && headText(report.head) };
  },
  show: (report) => describe(report),
  fails: ({ ok }) => !ok,
});

export const operations: Operations = { "audit list": list, "audit verify": verify };
export const run = runnerOf("audit", operations);

function describe({ verified, head, fault, unsealed, overdue }: Omit<ChainReport, "head"> & { head: string | null }): string {
  const rows = (count: number) => `${count} ${count === 1 ? "row" : "rows"}`;
  return [
    fault === null ? `The audit log is whole: ${rows(verified)} verified.` : `The audit log is broken after ${rows(verified)}: ${fault}.`,
    ...(overdue > 0
      ? [`${rows(overdue)} of over a minute ago ${overdue === 1 ? "is" : "are"} not sealed: does a process with the role worker run?`]
      : []),
    ...(unsealed > overdue ? [`${rows(unsealed - overdue)} of the last minute will be sealed in a moment.`] : []),
    // A head of a broken log is worth nothing later.
    ...(head === null || fault !== null ? [] : ["", "Keep this head elsewhere; audit verify --head checks it later:", `  ${head}`]),
  ].join("\n");
}
