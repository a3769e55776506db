import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Document, type ErrorCode, type Node } from "yaml";
import { OperatorError } from "#src/kernel/errors.ts";
import type { Path } from "../commands/change.ts";

/** Reading an apply file: YAML 1.2, of which JSON is a part; every complaint names its line and repeats no value. */

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** What makes a file unreadable most often; the parser's own words quote the source. */
const UNREADABLE: Readonly<Partial<Record<ErrorCode, string>>> = {
  DUPLICATE_KEY: "this key stands there twice",
  TAB_AS_INDENT: "a tab indents this line; YAML takes spaces",
  BAD_INDENT: "this line is indented otherwise than those beside it",
  MISSING_CHAR: "a sign is missing before this place: a quote, a bracket, a comma or a colon",
  UNEXPECTED_TOKEN: "this does not belong here, perhaps a comma or colon is missing before it",
  MULTILINE_IMPLICIT_KEY: "a key has no colon behind it",
  MULTIPLE_DOCS: "a second document begins here; a file holds one",
};

/** Where a code is for more than one fault, by the parser's words, which are constants. */
const UNREADABLE_BY_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Flow (map|sequence) in block/, "a bracket or brace above is not closed, or this line begins too far left inside it"],
  [/^Sequence item without -/, "this line is indented otherwise than those beside it"],
];

function whyUnreadable({ code, message }: { code: ErrorCode; message: string }): string {
  const [, words] = UNREADABLE_BY_WORDS.find(([pattern]) => pattern.test(message)) ?? [];
  return words ?? UNREADABLE[code] ?? "cannot be read as YAML or JSON";
}

export interface ApplyDocument {
  /** The file as plain values, variables filled in. */
  readonly value: unknown;
  /** Whether each key and variable has a value; where one has none, null or its `${NAME}` is left in `value` and `refuse` tells so too. */
  readonly isComplete: boolean;
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
  return list(at(value, "organizations")).flatMap((organization, first) =>
    list(at(organization, "projects")).flatMap((project, second) =>
      Object.entries(Object(at(at(project, "voice"), "recordings")) as object).flatMap(([id, file]) =>
        typeof file === "string" ? [{ path: ["organizations", first, "projects", second, "voice", "recordings", id], file }] : [],
      ),
    ),
  );
}

/** What a file declares twice in one list: both could not hold, and applying it again would change it again. */
export function repetitions(value: unknown): { path: Path; reason: string }[] {
  const organizations = list(at(value, "organizations"));
  return [
    ...repeated(organizations, ["organizations"], "slug"),
    ...organizations.flatMap((organization, index) => [
      ...repeated(list(at(organization, "projects")), ["organizations", index, "projects"], "slug"),
      ...repeated(list(at(organization, "api_keys")), ["organizations", index, "api_keys"], "name"),
    ]),
  ];
}

function repeated(entries: readonly unknown[], list: Path, key: string): { path: Path; reason: string }[] {
  const names = entries.map((entry) => at(entry, key));
  return names.flatMap((name, index) => {
    if (typeof name !== "string" || names.indexOf(name) === index) return [];
    const path = [...list, index, key];
    return [{ path, reason: `${path.join(".")}: ${JSON.stringify(name)} stands in this list already` }];
  });
}

const at = (node: unknown, key: PropertyKey): unknown => (typeof node === "object" && node !== null ? Reflect.get(node, key) : undefined);
const list = (node: unknown): unknown[] => (Array.isArray(node) ? node : []);

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
  if (fault) complain([{ offset: fault.pos[0], reason: whyUnreadable(fault) }]);

  const aliases: { offset: number | undefined; reason: string }[] = [];
  const unset: { node: Node; offset: number | undefined; reason: string }[] = [];
  visit(document, {
    Alias: (_key, node) => void aliases.push({ offset: node.range?.[0], reason: "aliases are not supported" }),
    Scalar: (key, node) => {
      // A line whose value was commented out is not one that takes away what is stored.
      if (node.value === null && node.source === "" && key !== "key")
        unset.push({ node, offset: node.range?.[0], reason: "there is no value here; null is written out where it is meant" });
      if (typeof node.value !== "string") return;
      node.value = node.value.replace(VARIABLE, (match, name: string) => {
        if (env[name] === undefined) unset.push({ node, offset: node.range?.[0], reason: `the environment variable ${name} is not set` });
        return env[name] ?? match;
      });
    },
  });
  if (aliases.length > 0) complain([...aliases, ...unset]);

  return {
    value: document.toJS() as unknown,
    isComplete: unset.length === 0,
    refuse: (faults) => {
      const placed = faults.map(({ path, reason }) => ({ ...placeOf(document, path), reason }));
      // Nothing can be said of a value that is not there.
      return complain([...unset, ...placed.filter(({ node }) => !unset.some((variable) => variable.node === node))]);
    },
  };
}

/** Where `path` stands in the file, and what is there; of a part that is missing, its nearest parent. */
function placeOf(document: Document.Parsed, path: Path): { offset: number | undefined; node: Node | null } {
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
  return { offset, node };
}
