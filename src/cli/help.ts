/** Prints `usage` when `args` ask for help; true when they did. For the commands that are no `Operation`. */
export function isHelped(args: readonly string[], usage: string): boolean {
  const isAsked = args.includes("--help") || args.includes("-h");
  if (isAsked) process.stdout.write(`${usage}\n`);
  return isAsked;
}
