import { OperatorError } from "#src/kernel/errors.ts";

/** Prints `usage` when `args` ask for help; true when they did. For the commands that are no `Operation`. */
export function isHelped(args: readonly string[], usage: string): boolean {
  const isAsked = args.includes("--help") || args.includes("-h");
  if (isAsked) process.stdout.write(`${usage}\n`);
  return isAsked;
}

/** The one sentence for a fault of the operator's making, `help` being the command that tells more; null for a fault of ours. */
export function mistakeOf(error: unknown, help: string): string | null {
  const { code, message } = error as Error & { code?: string };
  if (code?.startsWith("ERR_PARSE_ARGS")) return `${message.split(/[.\n]/, 1)[0] ?? ""}: ${help} tells more.`;
  return error instanceof OperatorError ? message : null;
}
