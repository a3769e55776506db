import { readFileSync } from "node:fs";
import { z } from "zod";
import { LANGUAGE_TAGS } from "../src/kernel/language.ts";
import { GATEWAYS_BUILT } from "../src/gateways/index.ts";
import { fileShape } from "../src/projects/apply/apply.ts";
import { webhookEndpoint } from "../src/projects/commands/shapes.ts";
import { fenced, row } from "./markdown.ts";

/** docs/apply-file.md, from the shape that `voicetill apply` reads a file by. */

interface Shape {
  type?: string;
  description?: string;
  enum?: (string | number | boolean)[];
  const?: string | number | boolean;
  anyOf?: Shape[];
  items?: Shape;
  properties?: Record<string, Shape>;
  required?: string[];
  minimum?: number;
  maximum?: number;
  /** Its own words for `values`. */
  values?: string;
}

const shapeOf = (schema: z.ZodType): Shape => z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline" }) as Shape;

/** Blocks that have a table of their own, and what stands before it. */
const BLOCKS: Readonly<Record<string, string>> = {
  organizations: "Known again by `slug`.",
  "organizations[].api_keys": "Known again by `name`.",
  "organizations[].projects": "Known again by `slug`.",
  "organizations[].projects[].voice": "Calls.",
  "organizations[].projects[].widget": "The card form in a browser ([widget.md](widget.md)).",
  "organizations[].projects[].integrations":
    "What the voice platforms show with their requests, where they are to ([platforms.md](platforms.md)).",
};

const WEBHOOK = "organizations[].projects[].status_webhook";
const GATEWAYS = "organizations[].projects[].gateways";

function typeOf({ values: words, type, enum: values, const: value, anyOf, items, minimum, maximum }: Shape): string {
  if (words !== undefined) return words;
  if (values) return values.map((one) => `\`${String(one)}\``).join(", ");
  if (value !== undefined) return `\`${String(value)}\``;
  if (anyOf) return anyOf.map(typeOf).join(" or ");
  if (items) return `list of ${typeOf(items)}`;
  if (type === "integer") return minimum !== undefined && maximum !== undefined ? `${minimum} to ${maximum}` : "whole number";
  return { string: "text", boolean: "`true`, `false`", object: "map", null: "null" }[type ?? ""] ?? "text";
}

function rowsOf(shape: Shape, prefix: string, path: string): string[] {
  return Object.entries(shape.properties ?? {}).flatMap(([key, value]) => {
    const inside = `${path}.${key}`;
    if (inside === WEBHOOK) return [row(`\`${key}\``, "map or null", "Where outcomes are sent: below. null takes it away.")];
    if (inside === GATEWAYS) return [row(`\`${key}\``, "map", "Credentials and options: below.")];
    if (inside in BLOCKS) return [row(`\`${key}\``, value.items ? "list" : "map", "Below.")];
    if (value.properties) return rowsOf(value, `${prefix}${key}.`, path);
    const isRequired = shape.required?.includes(key) ?? false;
    return [row(`\`${prefix}${key}\``, typeOf(value), `${isRequired ? "Required. " : ""}${value.description ?? ""}`)];
  });
}

const table = (shape: Shape, path: string) =>
  ["| key | values | meaning |", "|---|---|---|", ...rowsOf(shape.items ?? shape, "", shape.items ? `${path}[]` : path)].join("\n");

/** The block at `path`, of the whole file's shape. */
function find(shape: Shape, path: string): Shape {
  return path.split(".").reduce((at: Shape, part) => (at.items ?? at).properties?.[part.replace("[]", "")] ?? {}, shape);
}

export function renderApplyFile(): string {
  const whole = shapeOf(fileShape({ gateways: GATEWAYS_BUILT, languages: LANGUAGE_TAGS }));
  const sections = Object.entries(BLOCKS).map(([path, words]) => `## ${path}\n\n${words}\n\n${table(find(whole, path), path)}`);
  const example = readFileSync(new URL("../examples/apply.yaml", import.meta.url), "utf8").trimEnd();
  return `# Apply file

Generated from the shape that \`voicetill apply\` reads a file by, with \`npm run pages\`; a test keeps it current.

YAML 1.2 or JSON. \`voicetill apply FILE\` brings the installation to what it declares, in one transaction: all of it or, at a fault, nothing. Applying it again changes
nothing; what it does not mention is left alone. All faults are told at once, each with its line, and a key that is unknown with those that are known; what only the stored state or a gateway
can refuse comes once the rest is right. A key without a value is refused: null is written out. No organisation, project of one or key of one may stand in it twice. \`\${NAME}\` in a text is taken from the environment, for secrets. \`voicetill apply --dry-run FILE\` says what would differ and changes nothing; \`voicetill export\` writes the present state as such
a file, without secrets.

${fenced("yaml", example)}

${sections.join("\n\n")}

## ${WEBHOOK}

One endpoint for both environments with these keys, or \`test\` and \`live\` with these keys each, of which one may be left out (left alone) or null (taken away). \`live\` takes https alone. An endpoint
that its receiver switched off by a 410 is switched on by being applied. [webhooks.md](webhooks.md).

${table(shapeOf(webhookEndpoint), WEBHOOK)}

## ${GATEWAYS}

\`gateways.NAME\`, for any of ${Object.keys(GATEWAYS_BUILT).join(", ")}; [gateways.md](gateways.md) leads to the credentials and options of each.

| key | values | meaning |
|---|---|---|
${[
  row(
    "`test.credentials`, `live.credentials`",
    "map",
    "As `voicetill gateways` lists them; those of `webhook` stand in `test` and `live` directly.",
  ),
  row(
    "`test.endpoint`",
    "text or null",
    "In test only: the base address that replaces the vendor's host. The vendor's paths are appended to it, also where a vendor has several hosts.",
  ),
  row("options such as `capture`", "", "Beside `test` and `live` for both, or in one of them."),
].join("\n")}

null takes away: \`stripe: null\` all that is stored of a gateway, \`live: null\` one environment's credentials, options and endpoint, \`FIELD: null\` one credential that the gateway can do without. What the file does
not mention stays. Sessions that have not been charged fail with \`gateway_credentials_invalid\`; a payment whose outcome is still looked up (\`voicetill unmatched list\`) is not found without its credentials, so let those end before.

A test key of a project without credentials for a gateway uses that gateway's simulator when simulators are on.
`;
}
