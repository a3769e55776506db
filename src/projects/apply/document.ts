import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Node } from "yaml";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Path } from "../commands/change.ts";

/** Reading an apply file: YAML 1.2, of which JSON is a part; every complaint names its line and repeats no value. */

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export interface ApplyDocument {
  /** The file as plain values, variables filled in. */
  readonly value: unknown;
  /** Throws the one sentence that names the line of `path`. */
  refuse(path: Path, sentence: string): never;
}

/** Names of the environment variables that the file uses: what a command must send along when another process applies it. */
export function variablesOf(text: string): string[] {
  return [...new Set([...text.matchAll(VARIABLE)].map((match) => match[1] ?? ""))].sort();
}

/** Parses `text` and replaces `${NAME}` in strings by `env`. Throws OperatorError. */
export function readDocument(text: string, env: Readonly<Record<string, string | undefined>>): ApplyDocument {
  const lines = new LineCounter();
  // prettyErrors would quote the source, secrets included.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const lineAt = (offset: number | undefined) => (offset === undefined ? 1 : lines.linePos(offset).line);
  const complain = (line: number, sentence: string): never => {
    throw new OperatorError(`apply file, line ${line}: ${sentence}`);
  };

  const fault = document.errors[0] ?? document.warnings[0];
  if (fault) complain(lineAt(fault.pos[0]), `not readable as YAML or JSON (${fault.code})`);

  visit(document, {
    Alias: (_key, node) => complain(lineAt(node.range?.[0]), "aliases are not supported"),
    Scalar: (_key, node) => {
      if (typeof node.value !== "string") return;
      node.value = node.value.replace(
        VARIABLE,
        (_match, name: string) => env[name] ?? complain(lineAt(node.range?.[0]), `the environment variable ${name} is not set`),
      );
    },
  });

  return {
    value: document.toJS() as unknown,
    refuse: (path, sentence) => complain(lineAt(offsetOf(document, path)), sentence),
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
