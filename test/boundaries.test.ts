import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { GATEWAYS } from "#src/kernel/payment.ts";

/**
 * The modules and what each may import (ARCHITECTURE.md, "The modules"): only what stands above it here, `*` being all of that. Another
 * module is entered through its `index.ts`, except the kernel, whose files are imported one by one, and the roles, which are loaded
 * one by one.
 */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  config: ["kernel"],
  platform: ["kernel", "config"],
  sessions: ["kernel", "platform"],
  gateways: ["kernel"],
  conversation: ["kernel"],
  projects: ["kernel", "platform", "gateways", "conversation"],
  checkout: ["kernel", "platform", "sessions", "projects", "gateways"],
  payments: ["kernel", "platform", "sessions", "projects", "gateways"],
  sip: ["kernel"],
  media: ["kernel"],
  speech: ["kernel", "platform"],
  voice: ["kernel", "platform", "sessions", "projects", "checkout", "payments", "conversation", "sip", "media", "speech"],
  webhooks: ["kernel", "platform", "sessions", "projects", "gateways"],
  widget: ["kernel", "platform", "sessions", "projects", "payments"],
  integrations: ["kernel", "platform", "sessions", "checkout"],
  alarms: ["kernel", "platform", "payments"],
  retention: ["kernel", "platform", "sessions", "payments", "webhooks"],
  api: ["kernel", "config", "platform", "sessions", "projects", "gateways", "checkout", "payments", "webhooks", "widget", "integrations"],
  "instruments.ts": ["kernel", "platform", "sessions", "payments"],
  "version.ts": [],
  roles: ["*"],
  "app.ts": ["*"],
  cli: ["*"],
  "main.ts": ["cli"],
};

/** The scripted test caller, outside of `src`. */
const SOFTPHONE: readonly string[] = ["kernel", "conversation", "sip", "media", "speech"];

/** What a module may reach past another module's index: the database's test double, for tests alone. */
const OPEN_FILES = new Set([
  "platform/testing.ts",
  "sessions/testing.ts",
  "gateways/testing.ts",
  "payments/testing.ts",
  "sip/testing.ts",
  "integrations/testing.ts",
]);

/** Host time, chance and environment belong to these alone; everything else takes Clock, Random and Config from its caller. */
const HOST_ACCESS = /\b(Date\.now|Math\.random|setTimeout|setInterval|setImmediate|randomUUID|randomBytes|process\.env)\b/;
const HOST_ALLOWED = [
  /^kernel\/(clock|random)\.ts$/,
  /^config\//,
  /^platform\//,
  /^cli\//,
  /^main\.ts$/,
  /^app\.ts$/,
  /^media\/worker/,
  /^media\/pacer/,
  /^media\/socket/,
  /^speech\//,
  /^widget\/browser\//,
];

const root = fileURLToPath(new URL("..", import.meta.url));
const src = join(root, "src");

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

const files = filesBelow(src);
/** Tests and what only they may import. */
const isTestCode = (file: string) => /(\.test|\/testing|\/behaviour)\.ts$/.test(file);
const product = files.filter((file) => !isTestCode(file));
const moduleOf = (file: string) => relative(src, file).split("/")[0] ?? "";

const matchesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((match) => match[1] ?? "");
/** What a file imports, of types alone too. */
const importsOf = (file: string) => matchesIn(readFileSync(file, "utf8"), /(?:from|import)\s*\(?\s*"([^"]+)"/g);
/** Those and the files that it starts as threads or reads. */
const usesOf = (file: string) => [...importsOf(file), ...matchesIn(readFileSync(file, "utf8"), /new URL\("(\.[^"]+)"/g)];

function targetOf(file: string, specifier: string): string | null {
  if (specifier.startsWith("#")) return join(root, specifier.slice(1));
  if (specifier.startsWith(".")) return resolve(dirname(file), specifier);
  return null;
}

test("the boundary check sees every file", () => {
  assert.ok(files.length > 100, `only ${files.length} files found`);
  const modules = new Set(product.map(moduleOf));
  assert.deepEqual(
    [...modules].filter((module) => !(module in MODULES)),
    [],
    "a module that the table does not know",
  );
  assert.deepEqual(
    Object.keys(MODULES).filter((module) => !modules.has(module)),
    [],
    "a module of the table that does not exist",
  );
});

/** What a line of the table allows; every line names lines above it only. */
function allowedFor(module: string): readonly string[] {
  const above = Object.keys(MODULES).slice(0, Object.keys(MODULES).indexOf(module));
  const allowed = MODULES[module]?.includes("*") ? above : (MODULES[module] ?? []);
  assert.deepEqual(
    allowed.filter((other) => !above.includes(other)),
    [],
    `${module} stands above what it may import`,
  );
  return allowed;
}

test("imports run downwards only and enter another module through its index.ts", () => {
  const faults: string[] = [];
  for (const file of files) {
    const module = moduleOf(file);
    const allowed = allowedFor(module);
    const isTest = isTestCode(file);
    for (const specifier of usesOf(file)) {
      const target = targetOf(file, specifier);
      if (specifier.startsWith("#simulators/") && !isTest && module !== "app.ts" && module !== "cli")
        faults.push(`${relative(root, file)} imports a simulator`);
      if (specifier.startsWith("#softphone/") && !isTest && module !== "cli") faults.push(`${relative(root, file)} imports the softphone`);
      if (!target || !target.startsWith(src)) continue;
      const inner = relative(src, target);
      const other = inner.split("/")[0] ?? "";
      if (other === module) continue;
      const isFace =
        other === "kernel" || other === "roles" || inner === other || inner === `${other}/index.ts` || (isTest && OPEN_FILES.has(inner));
      const isAllowed = isTest || allowed.includes(other);
      if (!isAllowed || !isFace) faults.push(`${relative(root, file)} -> ${inner}`);
    }
  }
  assert.deepEqual(faults, []);
});

test("ARCHITECTURE.md has the modules in their order, with what each may import", () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const rows = [...page.matchAll(/^\| `([\w.]+)` \| .* \| ([^|]+) \|$/gm)].map(([, module = "", allowed = ""]) => {
    if (allowed === "nothing") return [module, []];
    return [module, allowed === "everything above" ? ["*"] : allowed.split(", ")];
  });
  assert.deepEqual(rows, Object.entries(MODULES));
});

test("no file imports one that imports it, over whatever others, for its types neither", () => {
  const all = ["src", "softphone", "simulators", "prove", "bench", "scripts", "test"].flatMap((folder) => filesBelow(join(root, folder)));
  const known = new Set(all);
  const imported = new Map(
    all.map((file) => [
      file,
      importsOf(file)
        .flatMap((specifier) => targetOf(file, specifier) ?? [])
        .filter((target) => known.has(target)),
    ]),
  );
  assert.deepEqual(cyclesOf(imported), []);
});

test("a cycle is found, through types and over any number of files", () => {
  const graph = { a: ["b"], b: ["c", "d"], c: ["a"], d: [], e: ["e2", "d"], e2: ["e"], f: ["a"] };
  assert.deepEqual(cyclesOf(new Map(Object.entries(graph))), ["a -> b -> c -> a", "e -> e2 -> e"]);
  assert.deepEqual(importsOf(fileURLToPath(import.meta.url)).slice(0, 2), ["node:assert/strict", "node:fs"]);
});

/** One way round for each file from which one leads back to it, of files that share a way round only the first. */
function cyclesOf(imported: ReadonlyMap<string, readonly string[]>): string[] {
  const inCycle = new Set<string>();
  return [...imported.keys()].flatMap((start) => {
    if (inCycle.has(start)) return [];
    const from = new Map<string, string | null>([[start, null]]);
    for (const file of from.keys()) {
      for (const next of imported.get(file) ?? []) {
        if (next === start) {
          const way = [];
          for (let at: string | null = file; at !== null; at = from.get(at) ?? null) way.unshift(at);
          for (const one of way) inCycle.add(one);
          return [[...way, start].map((one) => relative(root, resolve(root, one))).join(" -> ")];
        }
        if (!from.has(next)) from.set(next, file);
      }
    }
    return [];
  });
}

test("a gateway imports its contract and the shared parts, never another gateway", () => {
  const faults: string[] = [];
  for (const file of product.filter((file) => moduleOf(file) === "gateways")) {
    const [, vendor = ""] = relative(src, file).split("/");
    if (vendor.endsWith(".ts") || vendor === "kit") continue;
    for (const specifier of importsOf(file)) {
      const target = targetOf(file, specifier);
      if (!target?.startsWith(join(src, "gateways"))) continue;
      const [, other = ""] = relative(src, target).split("/");
      if (other !== vendor && other !== "kit" && other !== "contract.ts") faults.push(`${relative(root, file)} -> ${specifier}`);
    }
  }
  assert.deepEqual(faults, []);
});

/** Where the interface itself lists the gateways and their fields. */
const NAMES_GATEWAYS = [/^gateways\//, /^kernel\/payment\.ts$/, /^api\/(?:schemas|openapi)\//];

test("no vendor's name stands outside its gateway's folder: what the rest must know is a capability", () => {
  // At the start of a word, or of a part of one: `stripe_x`, `isStripe`; not the "nmi" of `inMinor`.
  const names = ["authnet", ...GATEWAYS.filter((name) => name !== "webhook")];
  const capitals = names.map((name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  const vendors = new RegExp(`(?<![A-Za-z])(?:${[...names, ...capitals].join("|")})|(?<=[a-z])(?:${capitals.join("|")})`);
  const cardForwarding = /gateway.*["'`]webhook["'`]|["'`]webhook["'`].*gateway/i;
  const faults: string[] = [];
  for (const file of product) {
    const name = relative(src, file);
    if (NAMES_GATEWAYS.some((pattern) => pattern.test(name))) continue;
    for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
      // A field of the interface, and the columns that keep it.
      const rest = line.replaceAll("stripe_account", "");
      if (vendors.test(rest) || cardForwarding.test(rest)) faults.push(`${name}:${index + 1} ${line.trim()}`);
    }
  }
  assert.deepEqual(faults, []);
});

test("simulators share nothing with the product but the kernel", () => {
  const faults: string[] = [];
  for (const file of filesBelow(join(root, "simulators")).filter((file) => !file.endsWith(".test.ts"))) {
    for (const specifier of importsOf(file)) {
      const isOwn = specifier.startsWith(".") || specifier.startsWith("#simulators/") || specifier.startsWith("node:");
      if (!isOwn && !specifier.startsWith("#src/kernel/")) faults.push(`${relative(root, file)} -> ${specifier}`);
    }
  }
  assert.deepEqual(faults, []);
});

test("the softphone is made of the modules of a call alone", () => {
  const faults: string[] = [];
  for (const file of filesBelow(join(root, "softphone")).filter((file) => !file.endsWith(".test.ts"))) {
    for (const specifier of importsOf(file).filter((specifier) => specifier.startsWith("#"))) {
      const [, module = "", ...path] = specifier.split("/");
      const isFace = module === "kernel" || path.join("/") === "index.ts";
      if (!specifier.startsWith("#src/") || !SOFTPHONE.includes(module) || !isFace) faults.push(`${relative(root, file)} -> ${specifier}`);
    }
  }
  assert.deepEqual(faults, []);
});

test("the core asks its caller for time, chance and settings, never the host", () => {
  const faults: string[] = [];
  for (const file of product) {
    const name = relative(src, file);
    if (HOST_ALLOWED.some((pattern) => pattern.test(name))) continue;
    for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
      const code = line.replace(/\/\/.*$/, "").replace(/^\s*\*.*$/, "");
      if (HOST_ACCESS.test(code)) faults.push(`${name}:${index + 1} ${line.trim()}`);
    }
  }
  assert.deepEqual(faults, []);
});

test("files stay short: over 500 lines needs its reason in the first comment", () => {
  const lengths = product.map((file) => ({ file, lines: readFileSync(file, "utf8").split("\n").length })).sort((a, b) => a.lines - b.lines);
  const median = lengths[Math.floor(lengths.length / 2)]?.lines ?? 0;
  assert.ok(median < 150, `the median file has ${median} lines`);
  const unexplained = lengths.filter(({ file, lines }) => lines > 500 && !/Length:/.test(readFileSync(file, "utf8").slice(0, 600)));
  assert.deepEqual(
    unexplained.map(({ file }) => relative(root, file)),
    [],
  );
});

test("a gateway's adapter of over 400 lines says why in its first comment", () => {
  const adapters = readdirSync(join(root, "src/gateways"), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== "kit",
  );
  const unexplained = adapters.filter(({ parentPath, name }) => {
    const folder = join(parentPath, name);
    const files = readdirSync(folder).filter((file) => !/^(behaviour|testing)\.ts$|\.test\.ts$/.test(file));
    const texts = files.map((file) => readFileSync(join(folder, file), "utf8"));
    return texts.join("").split("\n").length > 400 && !texts.some((text) => /Length:/.test(text));
  });
  assert.deepEqual(
    unexplained.map(({ name }) => name),
    [],
  );
});

test("the tour of one call names files that exist, and names that stand in them", () => {
  const tour = readFileSync(join(root, "docs/one-call.md"), "utf8");
  const hops = [...tour.matchAll(/`((?:src|simulators|migrations)\/[\w./-]+)`(?: (?:\| |\()`(\w+)`)?/g)];
  const faults = hops.flatMap(([, path = "", name = ""]) => {
    if (!existsSync(join(root, path))) return [`${path} is missing`];
    return name === "" || new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, path), "utf8")) ? [] : [`${path} has no ${name}`];
  });
  assert.ok(hops.filter(([, , name]) => name).length >= 50, "the tour names too few hops");
  assert.deepEqual(faults, []);
});
