import { readFileSync } from "node:fs";
import { OperatorError } from "#src/kernel/errors.ts";
import { type ChangeReport, variablesOf } from "#src/projects/index.ts";
import { only, operation, type Operations, runnerOf } from "./operation.ts";

const apply = operation({
  arguments: "FILE",
  summary: "Brings the installation to what FILE declares (YAML or JSON, - for standard input); a second time it changes nothing.",
  options: {},
  opening: { creates: true },
  read(_, positionals) {
    const text = readText(only(positionals, "apply FILE [--json]   (FILE: YAML or JSON, - for standard input)"));
    return { text, env: chosen(text) };
  },
  work: ({ projects }, { text, env }) => projects.applyFile(text, env),
  show: describe,
});

export const operations: Operations = { apply };
export const run = runnerOf("apply", operations);

function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw new OperatorError(`The file ${JSON.stringify(file)} cannot be read.`, { cause });
  }
}

/** The variables that the file names: no other part of the environment goes to another process. */
function chosen(text: string): Record<string, string | undefined> {
  return Object.fromEntries(variablesOf(text).map((name) => [name, process.env[name]]));
}

function describe({ changes, generated }: ChangeReport): string {
  const done = changes.length === 0 ? ["Nothing to change."] : changes.map(({ object, action }) => `${action.padEnd(9)}${object}`);
  const secrets = generated.map(({ object, secret }) => `  ${object}: ${secret}`);
  return [...done, ...(secrets.length > 0 ? ["", "Shown once, keep them now:", ...secrets] : [])].join("\n");
}
