import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { OperatorError } from "#src/kernel/errors.ts";
import { applyDocument, type ChangeReport, type RecordingRead } from "#src/projects/index.ts";
import { operation, type Operations, runnerOf, type Sent } from "./operation.ts";

const apply = operation({
  arguments: "[--dry-run] FILE",
  summary:
    "Brings the installation to what FILE declares (YAML or JSON, - for standard input); a second time it changes nothing. --dry-run: only says what would differ.",
  options: { "dry-run": { type: "boolean" } },
  takes: 1,
  opening: { creates: true },
  async read({ "dry-run": dryRun = false }, file: string) {
    const text = readText(file);
    const { recordingsOf, variablesOf } = await applyDocument();
    // The variables that the file names: no other part of the environment goes to another process.
    const env = Object.fromEntries(variablesOf(text).map((name) => [name, process.env[name]]));
    const folder = file === "-" ? "." : dirname(file);
    const sounds = recordingsOf(text, env).map(async (name) => [name, await readSound(resolve(folder, name))] as const);
    const recordings = Object.fromEntries(await Promise.all(sounds));
    return { text, env, dryRun, recordings };
  },
  work: ({ projects }, { text, env, dryRun, recordings }) => projects.applyFile(text, env, { dryRun, recordings }),
  show: describe,
});

export const operations: Operations = { apply };
export const run = runnerOf("apply", operations);

function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file === "-" ? 0 : file);
  } catch (cause) {
    throw new OperatorError(`The file ${JSON.stringify(file)} cannot be read.`, { cause });
  }
  try {
    // A sign that cannot be read would be stored as another one, in a secret too.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new OperatorError(`The file ${JSON.stringify(file)} is not UTF-8.`, { cause });
  }
}

/** Read where the operator is: the service may be another user's, or elsewhere. */
async function readSound(path: string): Promise<RecordingRead> {
  const { readRecording, SoundFault } = await import("#src/speech/index.ts");
  try {
    return { ulaw: Buffer.from(await readRecording(readFileSync(path))).toString("base64") };
  } catch (error) {
    return { fault: error instanceof SoundFault ? error.message : "cannot be read" };
  }
}

function describe({ changes, generated, differences }: Sent<ChangeReport>): string {
  const verb = differences ? "would be " : "";
  const done = changes.length === 0 ? ["Nothing to change."] : changes.map(({ object, action }) => `${verb}${action.padEnd(9)}${object}`);
  const secrets = generated.map(({ object, secret }) => `  ${object}: ${secret}`);
  if (differences) {
    const shown = (value: unknown) => (value === undefined ? "(nothing)" : shortened(JSON.stringify(value)));
    const lines = differences.map(({ of, key, from, to }) => `  ${of} ${key}: ${shown(from)} -> ${shown(to)}`);
    const told = lines.length > 0 ? ["", "What would differ, secrets apart:", ...lines] : [];
    return [...done, ...told, "", "Nothing was changed (--dry-run)."].join("\n");
  }
  return [...done, ...(secrets.length > 0 ? ["", "Shown once, keep them now:", ...secrets] : [])].join("\n");
}

const LONGEST = 120;

function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}... (${text.length} characters)`;
}
