import type { Random } from "#src/kernel/random.ts";
import type { Database, Db } from "#src/platform/index.ts";
import type { Gateways } from "../gateway-descriptor.ts";
import type { Vault } from "../vault.ts";
import type { ApplyDocument } from "./document.ts";

/** What applying a file did. `generated` holds keys and secrets that are shown here and never again. */
export interface ApplyReport {
  changes: { object: string; action: Action }[];
  generated: { object: string; secret: string }[];
}

export type Action = "created" | "changed" | "replaced" | "removed" | "enabled";

/** One application of one file: what its steps share. */
export interface Run {
  readonly tx: Db;
  readonly databaseKind: Database["kind"];
  readonly vault: Vault;
  readonly random: Random;
  readonly gateways: Gateways;
  readonly digestOf: (token: string) => Buffer;
  readonly document: ApplyDocument;
  readonly report: ApplyReport;
}

export function note(run: Run, object: string, action: Action): void {
  run.report.changes.push({ object, action });
}
