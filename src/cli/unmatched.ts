import { OperatorError } from "#src/kernel/errors.ts";
import { formatAmount } from "#src/kernel/money.ts";
import type { AttemptView } from "#src/payments/index.ts";
import { limitOf, operation, type Operations, runnerOf, type Sent } from "./operation.ts";
import { moment, table } from "./table.ts";

const list = operation({
  arguments: "[--limit N]",
  summary:
    "What fits nothing: calls that no session matched, rule by rule, payments whose outcome or refund somebody must look into, and callbacks by number where no trunk dials them.",
  options: { limit: { type: "string" } },
  read: ({ limit }) => ({ limit: limitOf(limit, 20) }),
  async work({ database, trunks }, { limit }) {
    const { needsOperator } = await import("#src/payments/index.ts");
    const { listNumberCallbacks } = await import("#src/sessions/index.ts");
    const { listUnmatched } = await import("#src/voice/index.ts");
    return {
      calls: await listUnmatched(database.db, limit),
      payments: (await needsOperator(database.db, limit)).map((attempt) => ({
        ...attempt,
        amount: formatAmount(attempt.amount_minor, attempt.currency),
        todo: todoOf(attempt),
      })),
      callbacks: trunks.outbound === null ? await listNumberCallbacks(database.db, limit) : [],
    };
  },
  show({ calls, payments, callbacks }) {
    const told = calls.map(({ at, source, call_id, misses }) => {
      const rules = misses.map(({ rule, value, why, readings }) => {
        const read = readings.length > 0 && readings[0] !== value ? ` (read as ${readings.join(" or ")})` : "";
        return [`  ${rule}`, value, `${why}${read}`];
      });
      return `${moment(at)}  from ${source}  call ${call_id}\n${table([], rules)}`;
    });
    const rows = payments.map((row) => [
      row.reference,
      `${row.organization}/${row.project}`,
      row.gateway,
      `${row.amount} ${row.currency}`,
      `${row.card_brand} ${row.card_last4}`,
      moment(row.started_at),
      row.status,
      row.todo,
    ]);
    const undialled = callbacks.map((row) => [
      row.session_id,
      `${row.organization}/${row.project}`,
      row.status,
      row.transfer_status,
      moment(row.created_at),
    ]);
    return [
      "Calls that matched no session (the last week):",
      told.length === 0 ? "  none" : told.join("\n\n"),
      "",
      "Payments to look into:",
      rows.length === 0 ? "  none" : table(["REFERENCE", "PROJECT", "GATEWAY", "AMOUNT", "CARD", "STARTED", "SESSION", "WHAT TO DO"], rows),
      ...(callbacks.length === 0
        ? []
        : ["", "Callbacks by telephone number, which no trunk dials (SIP_OUTBOUND):", table(CALLBACK, undialled)]),
    ].join("\n");
  },
});

const CALLBACK = ["SESSION", "PROJECT", "STATUS", "TRANSFER", "MADE"];

const close = operation({
  arguments: "REFERENCE",
  summary:
    "Takes a payment off the list, once what the list says was done at the gateway. It comes back if something new becomes of it. Calls and callbacks leave the list by themselves after a week.",
  options: {},
  takes: 1,
  read: (_, reference: string) => ({ reference }),
  async work({ database }, { reference }) {
    const { closeEntry } = await import("#src/payments/index.ts");
    const closed = await closeEntry(database, reference);
    if (typeof closed === "string") throw new OperatorError(NOT_CLOSED[closed](reference));
    return { ...closed, amount: formatAmount(closed.amount_minor, closed.currency), todo: todoOf(closed) };
  },
  show: ({ reference, amount, currency, gateway, card_brand, card_last4, todo }) =>
    `Payment ${reference} is closed: ${amount} ${currency} by ${gateway}, ${card_brand} ${card_last4}. It was to do: ${todo}.`,
});

const NOT_CLOSED: Readonly<Record<"missing" | "pending" | "closed", (reference: string) => string>> = {
  missing: (reference) => `There is no payment "${reference}" to look into; voicetill unmatched list shows them.`,
  pending: (reference) => `Payment ${reference} cannot be closed yet: its outcome is being looked for, or it is being reversed.`,
  closed: (reference) => `Payment ${reference} is closed already.`,
};

export const operations: Operations = { "unmatched list": list, "unmatched close": close };
export const run = runnerOf("unmatched", operations);

/** One sentence on what this attempt asks of its operator. */
export function todoOf({
  outcome,
  reversal,
  finished_at,
  mode,
  stored_as: card,
}: Pick<Sent<AttemptView> | AttemptView, "outcome" | "reversal" | "finished_at" | "mode" | "stored_as">): string {
  const reversed = mode === "tokenize" ? "deleted" : "reversed";
  if (reversal === "failed" && mode === "tokenize")
    return `delete the card${card === null ? "" : ` ${card}`} at the gateway by hand${outcome === "approved" || card !== null ? "" : ", if it was stored"}, unless another session has stored it too: it could not be deleted from here`;
  if (reversal === "failed") return "void or refund the money at the gateway by hand: it could not be reversed from here";
  if (reversal === "due") return `nothing yet: it is being ${reversed}`;
  if (outcome === "unknown" && finished_at === null) return "nothing yet: its outcome is being looked for";
  return "look the reference up at the gateway: the outcome could not be established";
}
