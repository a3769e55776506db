import { COMMANDS, mistakeOf, unknownCommand, usage, VERSION } from "./cli/index.ts";

/**
 * The one program: `voicetill COMMAND ...`. A fault of the operator's making ends in one sentence and exit status 1; anything
 * else is a fault of ours and shows its stack.
 */
const [name = "serve", ...args] = process.argv.slice(2);
const isHelp = name === "help" || name === "--help" || name === "-h";
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;

// Whoever reads what is printed may go away, or his disk be full: no call and no charge ends for that.
process.stderr.on("error", () => {});
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code === "EPIPE") return;
  process.stderr.write(`Standard output cannot be written (${code}).\n`);
  process.once("exit", () => (process.exitCode ||= 1));
});

if (name === "--version") {
  process.stdout.write(`${args.includes("--json") ? JSON.stringify({ version: VERSION }) : VERSION}\n`);
} else if (isHelp) {
  process.stdout.write(`${usage()}\n`);
} else if (!command) {
  process.stderr.write(`${unknownCommand(name)}\n`);
  process.exitCode = 1;
} else {
  try {
    process.exitCode = await (await command.load()).run(args);
  } catch (error) {
    process.stderr.write(`${mistakeOf(error, name) ?? (error as Error).stack ?? String(error)}\n`);
    // What a start that failed halfway has left open must not keep the process: whoever supervises it waits for its end.
    process.exit(1);
  }
}
