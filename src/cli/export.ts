import { stringify } from "yaml";
import { operation, type Operations, runnerOf } from "./operation.ts";

const HEAD = `# What voicetill export found. Applied here it changes nothing. Secrets are not in it: elsewhere, API keys and the webhooks' secrets are
# made anew, and apply names the credentials and platforms' secrets that are missing. Recordings are named: apply reads them beside this file.
`;

const exported = operation({
  arguments: "",
  summary: "Writes the present state as an apply file, without its secrets: organisations, keys in force, projects and their settings.",
  options: {},
  opening: { leavesAudit: true },
  read: () => ({}),
  work: ({ projects, database }) => projects.exportState(database.db),
  show: (state) => `${HEAD}${stringify(state, { lineWidth: 0 })}`.trimEnd(),
});

export const operations: Operations = { export: exported };
export const run = runnerOf("export", operations);
