import { z } from "zod";
import { type Command, type CommandDeps, CommandsFault, runCommands, tryCommands } from "../commands.ts";
import type { ChangeReport, Path } from "../commands/change.ts";
import { explain, faultsOf, shapesFor } from "../commands/shapes.ts";
import { type ApplyDocument, readDocument, recordingPlaces, repetitions } from "./document.ts";

/** A command of the file, and where its values stand. */
interface Placed {
  command: Command;
  path: Path;
}

export interface ApplyOptions {
  /** Nothing is changed: the report says what would be. */
  dryRun?: boolean;
  /** The recordings that the file names, by its paths: mu-law at 8 kHz in base64, or why there is none, in a clause. */
  recordings?: Readonly<Record<string, RecordingRead>>;
}

export type RecordingRead = { ulaw: string } | { fault: string };

/**
 * Brings the installation to what `text` declares, in one transaction (docs/operations.md, Apply file). Applying the same text again
 * changes nothing; what it does not mention is left alone. Throws OperatorError with the line of each fault, and then
 * nothing is changed.
 */
export async function applyFile(
  deps: CommandDeps,
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  { dryRun = false, recordings = {} }: ApplyOptions = {},
): Promise<ChangeReport> {
  const document = readDocument(text, env);
  const placed = commandsOf(validate(document, deps, recordings));
  try {
    return await (dryRun ? tryCommands : runCommands)(
      { ...deps, recordings: soundsOf(recordings) },
      { actor: "apply", source: "command" },
      placed.map(({ command }) => command),
    );
  } catch (error) {
    if (!(error instanceof CommandsFault)) throw error;
    return document.refuse(
      error.faults.map(({ index, fault: { path, reason } }) => ({ path: [...(placed[index]?.path ?? []), ...path], reason })),
    );
  }
}

/** The whole file. */
export function fileShape({ gateways, languages }: Pick<CommandDeps, "gateways" | "languages">) {
  const { organization, apiKey, project } = shapesFor(gateways, languages);
  return z.strictObject({
    organizations: z.array(organization.extend({ api_keys: z.array(apiKey).optional(), projects: z.array(project).optional() })),
  });
}

type ApplyFile = z.infer<ReturnType<typeof fileShape>>;

const soundsOf = (recordings: Readonly<Record<string, RecordingRead>>) =>
  new Map(
    Object.entries(recordings).flatMap(([file, read]) => ("ulaw" in read ? [[file, Buffer.from(read.ulaw, "base64")] as const] : [])),
  );

/** The whole file is looked at before anything of it is done: what is wrong is told at once, a misspelt key at its end too. */
function validate(
  document: ApplyDocument,
  deps: Pick<CommandDeps, "gateways" | "languages">,
  recordings: Readonly<Record<string, RecordingRead>>,
): ApplyFile {
  const result = fileShape(deps).safeParse(document.value, { error: explain });
  const unreadable = recordingPlaces(document.value).flatMap(({ path, file }) => {
    const read = Object.hasOwn(recordings, file) ? recordings[file] : undefined;
    return read && "fault" in read ? [{ path, reason: `the recording ${JSON.stringify(file)} ${read.fault}` }] : [];
  });
  const others = [...unreadable, ...repetitions(document.value)];
  if (result.success && others.length === 0 && document.isComplete) return result.data;
  const misshapen = result.success ? [] : faultsOf(result.error);
  return document.refuse([
    ...misshapen.map(({ path, reason }) => ({ path, reason: path.length === 0 ? `the file: ${reason}` : reason })),
    ...others,
  ]);
}

function commandsOf({ organizations }: ApplyFile): Placed[] {
  return organizations.flatMap(({ api_keys: keys = [], projects = [], ...organization }, index) => {
    const path = ["organizations", index];
    const { slug } = organization;
    return [
      { command: { kind: "save organization", values: organization }, path },
      ...keys.map((values, key): Placed => ({
        command: { kind: "save API key", organization: slug, values },
        path: [...path, "api_keys", key],
      })),
      ...projects.map((values, project): Placed => ({
        command: { kind: "save project", organization: slug, values },
        path: [...path, "projects", project],
      })),
    ];
  });
}
