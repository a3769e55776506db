import { nearest } from "#src/kernel/nearest.ts";

export { mistakeOf } from "./help.ts";
export { VERSION } from "#src/version.ts";

/** A command's own file is loaded only when it is called: `voicetill listen` must not start a database. */
interface Command {
  summary: string;
  load(): Promise<{ run(args: string[]): Promise<number> }>;
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { summary: "run the service (what `npm start` runs); --help lists the settings", load: () => import("./serve.ts") },
  demo: { summary: "one whole payment by telephone with nobody at the phone", load: () => import("./demo.ts") },
  apply: {
    summary: "apply [--dry-run] FILE: organisations, projects, keys, gateways from a YAML or JSON file",
    load: () => import("./apply.ts"),
  },
  export: { summary: "the present state as an apply file, without secrets", load: () => import("./export.ts") },
  call: { summary: "call TARGET: place a test call to a session id or SIP URI", load: () => import("./call.ts") },
  listen: { summary: "receive status webhooks, verify them, print them", load: () => import("./listen.ts") },
  simulators: { summary: "the gateway simulators alone", load: () => import("./simulators.ts") },
  gateways: {
    summary: "the gateways and their credentials; gateways test: does the vendor take a project's?",
    load: () => import("./gateways.ts"),
  },
  keys: { summary: "keys create | list | revoke: API keys", load: () => import("./keys.ts") },
  integrations: { summary: "integrations show PROJECT: finished settings for voice platforms", load: () => import("./integrations.ts") },
  sessions: { summary: "sessions list | show | cancel | erase", load: () => import("./sessions.ts") },
  webhooks: { summary: "webhooks list | resend | test: status webhooks and what became of them", load: () => import("./webhooks.ts") },
  widget: { summary: "widget preview PROJECT: a test session, to look at its card form", load: () => import("./widget.ts") },
  voice: { summary: "voice preview PROJECT: what its callers hear, as sound files and a page", load: () => import("./voice.ts") },
  mcp: { summary: "an MCP server: an agent developer's tool uses a running service", load: () => import("./mcp.ts") },
  unmatched: { summary: "unmatched list | close: calls without a session, payments to look into", load: () => import("./unmatched.ts") },
  sip: { summary: "sip trace: the SIP messages of calls in a file, for ten minutes", load: () => import("./sip.ts") },
  audit: { summary: "audit list | verify: who did what, and whether the log was tampered with", load: () => import("./audit.ts") },
  "master-key": { summary: "master-key rotate | reencrypt: a new key for what is sealed", load: () => import("./master-key.ts") },
  doctor: { summary: "check the installation and this machine, and say what to do", load: () => import("./doctor.ts") },
  migrate: { summary: "bring the database to this version", load: () => import("./migrate.ts") },
  config: { summary: "print the settings in force, secrets masked", load: () => import("./config.ts") },
};

/** The sentence for a command that there is not. */
export function unknownCommand(name: string): string {
  const meant = nearest(name, Object.keys(COMMANDS));
  return `There is no command "${name}"; ${meant === null ? "" : `did you mean "${meant}"? `}voicetill --help lists them.`;
}

/** The list of commands, for `--help`. */
export function usage(): string {
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(14)}${summary}`);
  return ["Usage: voicetill COMMAND [OPTIONS]   (--json prints machine-readable output)", "       voicetill --version", "", ...lines].join(
    "\n",
  );
}
