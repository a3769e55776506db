import { setTimeout as delay } from "node:timers/promises";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { type Config, readConfig } from "#src/config/index.ts";
import { FolderInUse, OperatorError } from "#src/kernel/errors.ts";
import { requestRunning } from "./control.ts";
import { isHelped } from "./help.ts";
import { type CommandModules, type CommandOpening, openForCommand } from "./modules.ts";

/** A value as JSON brings it to the other side. */
export type Sent<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Sent<Item>[]
    : T extends object
      ? { [Name in keyof T]: Sent<T[Name]> }
      : T;

/**
 * A day-to-day command. `read` and `show` run in the command's own process, `work` runs where the database is: there too,
 * or with embedded storage in the service that runs on it. What goes between them is JSON, wherever `work` runs.
 */
export interface Operation<Options extends ParseArgsOptionsConfig, Input extends object, Output, Shown = Sent<Output>> {
  /** What stands behind the command's name: its arguments, and what it does. */
  arguments: string;
  summary: string;
  options: Options;
  /** How many arguments it takes beside its options; left out: none. */
  takes?: 1 | 2 | "some";
  /** Throws OperatorError for what cannot be meant; null: something is missing, and how it is called is told. */
  read(values: Values<Options>, ...positionals: string[]): Input | null | Promise<Input | null>;
  work(modules: CommandModules, input: Input): Promise<Output>;
  /** What is done with the output in the command's own process: files are written where the operator is. Left out: nothing. */
  finish?(output: Sent<Output>, values: Values<Options>): Promise<Shown>;
  /** For people; `--json` prints what is shown itself. */
  show(shown: Shown): string;
  /** True when what is shown says that something is wrong: exit status 1. */
  fails?(shown: Shown): boolean;
  /** How the modules are opened when no service runs. */
  opening?: CommandOpening;
}

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>["values"];

/** An operation whose types matter to itself alone. */
// oxlint-disable-next-line typescript/no-explicit-any -- the one place where operations of all types meet
type AnyOperation = Operation<any, any, any, any>;

/** Operations by their full names, such as "keys create". */
export type Operations = Readonly<Record<string, AnyOperation>>;

export function operation<const Options extends ParseArgsOptionsConfig, Input extends object, Output, Shown = Sent<Output>>(
  definition: Operation<Options, Input, Output, Shown>,
): Operation<Options, Input, Output, Shown> {
  return definition;
}

/** The `run` of a command that consists of `operations`: those named `command` or `command WORD`. */
export function runnerOf(command: string, operations: Operations): (args: string[]) => Promise<number> {
  return async (args) => {
    const [name, rest] = Object.hasOwn(operations, command) ? [command, args] : [`${command} ${args[0] ?? ""}`, args.slice(1)];
    const chosen = Object.hasOwn(operations, name) ? operations[name] : undefined;
    if (isHelped(args, usage(chosen ? { [name]: chosen } : operations))) return 0;
    if (!chosen) {
      const words = Object.keys(operations).map((full) => full.slice(command.length + 1));
      const asked = args[0] === undefined ? `${command} needs to know what to do` : `There is no command "${command} ${args[0]}"`;
      throw new OperatorError(`${asked}: ${words.map((word) => `voicetill ${command} ${word}`).join(", ")} (--help tells more).`);
    }
    const { json, values, positionals } = parseArguments(name, chosen, rest);
    const { takes = 0 } = chosen;
    const isCalledRight = takes === "some" ? positionals.length > 0 : positionals.length === takes;
    const input = isCalledRight ? ((await chosen.read(values, ...positionals)) as object | null) : null;
    if (!input) throw new OperatorError(`Usage: voicetill ${name} ${chosen.arguments}`.trim());
    const output = await perform(readConfig(process.env), name, chosen, input);
    const shown: unknown = chosen.finish ? await chosen.finish(output, values) : output;
    process.stdout.write(`${json ? JSON.stringify(shown) : chosen.show(shown)}\n`);
    return chosen.fails?.(shown) ? 1 : 0;
  };
}

function parseArguments(name: string, { options, arguments: words }: AnyOperation, args: string[]) {
  try {
    const parsed = parseArgs({
      args,
      allowPositionals: true,
      options: { ...(options as ParseArgsOptionsConfig), json: { type: "boolean" } },
    });
    const { json, ...values } = parsed.values;
    return { json: json === true, values, positionals: parsed.positionals };
  } catch (cause) {
    const [fault] = (cause as Error).message.split(/[.\n]/, 1);
    throw new OperatorError(`${fault}. Usage: voicetill ${name} ${words}`.trim(), { cause });
  }
}

export const perform = (config: Config, name: string, chosen: AnyOperation, input: object): Promise<unknown> =>
  inServiceElse(config, name, input, () => workHere(config, chosen, input));

/** Does the work where the database is: in the service that runs on the embedded folder, else `here`. */
export const inServiceElse = (config: Config, name: string, input: object, here: () => Promise<unknown>): Promise<unknown> =>
  whenFolderIsFree(async () => {
    const done = config.embedded ? await requestRunning(config.dataDir, name, input) : null;
    return done ? done.output : await here();
  });

/** How often, and how long apart, the embedded folder is asked for that another command has, or a service that is starting. */
const TRIES = 40;
const APART_MS = 250;

/** Does `work`, again for 10 s while it meets a folder in use. `onUse` is told of each time, with its number; what it throws ends the waiting. */
export async function whenFolderIsFree<T>(
  work: () => Promise<T>,
  onUse: (inUse: FolderInUse, tries: number) => Promise<void> = async () => {},
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FolderInUse) || tries === TRIES) throw error;
      await onUse(error, tries);
    }
    await delay(APART_MS);
  }
}

async function workHere(config: Config, chosen: AnyOperation, input: object): Promise<unknown> {
  const modules = await openForCommand(config, chosen.opening ?? {});
  try {
    return JSON.parse(JSON.stringify((await chosen.work(modules, input)) ?? null));
  } finally {
    await modules.close();
  }
}

/** The running service's side: what a command sent over the control socket. Null: this version has no such operation. */
export async function runOperation(
  operations: Operations,
  modules: CommandModules,
  name: string,
  input: unknown,
): Promise<{ output: unknown } | null> {
  if (!Object.hasOwn(operations, name)) return null;
  return { output: (await operations[name]!.work(modules, input)) ?? null };
}

function usage(operations: Operations): string {
  return Object.entries(operations)
    .map(([name, { arguments: words, summary }]) => `voicetill ${`${name} ${words}`.trim()} [--json]\n    ${summary}`)
    .join("\n\n");
}

/** `--limit`: a whole number from 1 to 10,000. */
export const limitOf = (text: string | undefined, otherwise = 50): number => countOf("limit", text, otherwise, 10_000);

/** The whole number from 1 to `most` that an option takes. */
export function countOf(option: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined) return otherwise;
  const count = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most) throw new OperatorError(`--${option} takes a number from 1 to ${most}; "${text}" is none.`);
  return count;
}
