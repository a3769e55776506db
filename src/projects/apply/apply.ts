import { z } from "zod";
import { type Command, type CommandDeps, CommandsFault, runCommands } from "../commands.ts";
import type { ChangeReport, Path } from "../commands/change.ts";
import { shapesFor } from "../commands/shapes.ts";
import type { Gateways } from "../gateway-descriptor.ts";
import { type ApplyDocument, readDocument } from "./document.ts";

/** A command of the file, and where its values stand. */
interface Placed {
  command: Command;
  path: Path;
}

/**
 * Brings the installation to what `text` declares, in one transaction (docs/operations.md, Apply file). Applying the same text again
 * changes nothing; what it does not mention is left alone. Throws OperatorError with the line of the fault, and then
 * nothing is changed.
 */
export async function applyFile(deps: CommandDeps, text: string, env: Readonly<Record<string, string | undefined>>): Promise<ChangeReport> {
  const document = readDocument(text, env);
  const placed = commandsOf(validate(document, deps.gateways));
  try {
    return await runCommands(
      deps,
      { actor: "apply", source: "command" },
      placed.map(({ command }) => command),
    );
  } catch (error) {
    if (!(error instanceof CommandsFault)) throw error;
    return document.refuse([...(placed[error.index]?.path ?? []), ...error.fault.path], error.fault.reason);
  }
}

function fileShape(gateways: Gateways) {
  const { organization, apiKey, project } = shapesFor(gateways);
  return z.strictObject({
    organizations: z.array(organization.extend({ api_keys: z.array(apiKey).optional(), projects: z.array(project).optional() })),
  });
}

type ApplyFile = z.infer<ReturnType<typeof fileShape>>;

/** The whole file is looked at before anything of it is done: a misspelt key at its end is told first. */
function validate(document: ApplyDocument, gateways: Gateways): ApplyFile {
  const result = fileShape(gateways).safeParse(document.value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const where = issue?.path.map(String).join(".") ?? "";
  if (issue?.code === "unrecognized_keys") {
    const key = issue.keys[0] ?? "";
    document.refuse([...issue.path, key], `unknown key "${key}"${where === "" ? "" : ` in ${where}`}`);
  }
  return document.refuse(issue?.path ?? [], `${where === "" ? "the file" : where}: ${issue?.message ?? "invalid"}`);
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
