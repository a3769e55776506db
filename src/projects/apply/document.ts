import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Node } from "yaml";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Path } from "../commands/change.ts";

/** Reading an apply file: YAML 1.2, of which JSON is a part; every complaint names its line and repeats no value. */

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export interface ApplyDocument {
  /** The file as plain values, variables filled in. */
  readonly value: unknown;
  /** Throws a sentence for each fault that names the line of its `path`, in the order of the file. */
  refuse(faults: readonly { path: Path; reason: string }[]): never;
}

/** Names of the environment variables that the file uses: what a command must send along when another process applies it. */
export function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map((match) => match[1] ?? ""))].sort();
}

/** Paths of the recordings that the file names, each once; the file's faults are told by whoever reads it whole. */
export function recordingsOf(text: string, env: Readonly<Record<string, string | undefined>>): string[] {
  return [...new Set(recordingPlaces(readDocument(text, env).value).map(({ file }) => file))];
}

/** Where a file as it was read names recordings. */
export function recordingPlaces(value: unknown): { path: Path; file: string }[] {
  const at = (node: unknown, key: PropertyKey): unknown => (typeof node === "object" && node !== null ? Reflect.get(node, key) : undefined);
  const list = (node: unknown): unknown[] => (Array.isArray(node) ? node : []);
  return list(at(value, "organizations")).flatMap((organization, first) =>
    list(at(organization, "projects")).flatMap((project, second) =>
      Object.entries(Object(at(at(project, "voice"), "recordings")) as object).flatMap(([id, file]) =>
        typeof file === "string" ? [{ path: ["organizations", first, "projects", second, "voice", "recordings", id], file }] : [],
      ),
    ),
  );
}

/** Parses `text` and replaces `${NAME}` in strings by `env`. Throws OperatorError. */
export function readDocument(text: string, env: Readonly<Record<string, string | undefined>>): ApplyDocument {
  const lines = new LineCounter();
  // prettyErrors would quote the source, secrets included.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const lineAt = (offset: number | undefined) => (offset === undefined ? 1 : lines.linePos(offset).line);
  const complain = (faults: readonly { offset: number | undefined; reason: string }[]): never => {
    const told = faults.map(({ offset, reason }) => ({ line: lineAt(offset), reason })).toSorted((a, b) => a.line - b.line);
    throw new OperatorError([...new Set(told.map(({ line, reason }) => `apply file, line ${line}: ${reason}`))].join("\n"));
  };

  const fault = document.errors[0] ?? document.warnings[0];
  if (fault) complain([{ offset: fault.pos[0], reason: `not readable as YAML or JSON (${fault.code})` }]);

  const faults: { offset: number | undefined; reason: string }[] = [];
  visit(document, {
    Alias: (_key, node) => void faults.push({ offset: node.range?.[0], reason: "aliases are not supported" }),
    Scalar: (_key, node) => {
      if (typeof node.value !== "string") return;
      node.value = node.value.replace(VARIABLE, (match, name: string) => {
        if (env[name] === undefined) faults.push({ offset: node.range?.[0], reason: `the environment variable ${name} is not set` });
        return env[name] ?? match;
      });
    },
  });
  if (faults.length > 0) complain(faults);

  return {
    value: document.toJS() as unknown,
    refuse: (faults) => complain(faults.map(({ path, reason }) => ({ offset: offsetOf(document, path), reason }))),
  };
}

/** Where `path` stands in the file; of a part that is missing, where its nearest parent stands. */
function offsetOf(document: Document.Parsed, path: Path): number | undefined {
  let offset: number | undefined = document.contents?.range[0];
  let node: Node | null = document.contents;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === part);
      if (!pair || !isScalar(pair.key)) break;
      offset = pair.key.range?.[0];
      node = pair.value as Node | null;
    } else {
      const item = isSeq(node) ? (node.items[part as number] as Node | undefined) : undefined;
      if (!item) break;
      offset = item.range?.[0];
      node = item;
    }
  }
  return offset;
}
