import { OperatorError } from "#src/kernel/errors.ts";
import { countOf, operation, type Operations, runnerOf } from "./operation.ts";

const DEFAULT_MINUTES = 10;

const trace = operation({
  arguments: "[--minutes N | --off]",
  summary: `Writes the SIP messages of all calls into a file in the data folder of each process that takes calls: for ${DEFAULT_MINUTES} minutes, or N, or no longer. Passwords, keypad digits, media keys and sessions' memory are left out.`,
  options: { minutes: { type: "string" }, off: { type: "boolean" } },
  async read({ minutes, off = false }) {
    if (off && minutes !== undefined) throw new OperatorError("sip trace takes one of --minutes and --off.");
    const { LONGEST_TRACE_MINUTES } = await import("#src/roles/sip-trace.ts");
    return { minutes: off ? 0 : countOf("minutes", minutes, DEFAULT_MINUTES, LONGEST_TRACE_MINUTES) };
  },
  async work({ database }, { minutes }) {
    const { audit } = await import("#src/platform/index.ts");
    const { askForSipTrace } = await import("#src/roles/sip-trace.ts");
    await database.transaction(async (tx) => {
      const action = minutes > 0 ? "sip_trace.begin" : "sip_trace.end";
      await audit(tx, { actor: "operator", source: "command", action, object: "sip", details: { minutes } });
      await askForSipTrace(tx, minutes);
    });
    return { minutes };
  },
  show: ({ minutes }) =>
    minutes > 0
      ? `SIP messages are written for ${minutes} min, into sip-trace-TIME.txt in DATA_DIR; the log's line sip_trace_begun has the path.`
      : "No SIP messages are written any more.",
});

export const operations: Operations = { "sip trace": trace };
export const run = runnerOf("sip", operations);
