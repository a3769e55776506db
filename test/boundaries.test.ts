import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/**
 * The modules and what each may import (ARCHITECTURE.md, "The modules"). Imports run downwards only; another module is entered
 * through its `index.ts`, except the kernel, whose files are imported one by one, and the roles, which are loaded one by one.
 */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  config: ["kernel"],
  platform: ["kernel", "config"],
  sessions: ["kernel", "platform"],
  gateways: ["kernel"],
  projects: ["kernel", "platform", "gateways"],
  checkout: ["kernel", "platform", "sessions", "projects", "gateways"],
  payments: ["kernel", "platform", "sessions", "projects", "gateways"],
  conversation: ["kernel"],
  sip: ["kernel"],
  media: ["kernel"],
  speech: ["kernel", "platform"],
  voice: ["kernel", "platform", "sessions", "projects", "checkout", "payments", "conversation", "sip", "media", "speech"],
  webhooks: ["kernel", "platform", "sessions", "projects", "gateways"],
  widget: ["kernel", "platform", "sessions", "projects", "payments"],
  retention: ["kernel", "platform", "sessions", "payments", "webhooks"],
  api: ["kernel", "config", "platform", "sessions", "projects", "gateways", "checkout", "payments", "webhooks", "widget"],
  roles: ["*"],
  cli: ["*"],
  "main.ts": ["*"],
  "version.ts": [],
  "app.ts": ["*"],
  "instruments.ts": ["kernel", "platform", "sessions", "payments"],
};

/** What a module may reach past another module's index: the database's test double, for tests alone. */
const OPEN_FILES = new Set(["platform/testing.ts", "sessions/testing.ts", "gateways/testing.ts", "payments/testing.ts", "sip/testing.ts"]);

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

function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g), ...text.matchAll(/new URL\("(\.[^"]+)"/g)].map((match) => match[1] ?? "");
}

function targetOf(file: string, specifier: string): string | null {
  if (specifier.startsWith("#src/")) return join(src, specifier.slice("#src/".length));
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

test("imports run downwards only and enter another module through its index.ts", () => {
  const faults: string[] = [];
  for (const file of files) {
    const module = moduleOf(file);
    const allowed = MODULES[module] ?? [];
    const isTest = isTestCode(file);
    for (const specifier of importsOf(file)) {
      const target = targetOf(file, specifier);
      if (specifier.startsWith("#simulators/") && !isTest && !allowed.includes("*"))
        faults.push(`${relative(root, file)} imports a simulator`);
      if (!target || !target.startsWith(src)) continue;
      const inner = relative(src, target);
      const other = inner.split("/")[0] ?? "";
      if (other === module) continue;
      const isFace =
        other === "kernel" || other === "roles" || inner === other || inner === `${other}/index.ts` || (isTest && OPEN_FILES.has(inner));
      const isAllowed = isTest || allowed.includes("*") || allowed.includes(other);
      if (!isAllowed || !isFace) faults.push(`${relative(root, file)} -> ${inner}`);
    }
  }
  assert.deepEqual(faults, []);
});

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

test("the tour of one call names only files that exist", () => {
  const tour = readFileSync(join(root, "docs/one-call.md"), "utf8");
  const named = [...tour.matchAll(/`((?:src|simulators|migrations)\/[\w./-]+)`/g)].map((match) => match[1] ?? "");
  assert.ok(named.length >= 20, `the tour names only ${named.length} paths`);
  const all = new Set([...files, ...filesBelow(join(root, "simulators"))].map((file) => relative(root, file)));
  const folders = new Set([...all].map((file) => dirname(file)));
  assert.deepEqual(
    named.filter((name) => !all.has(name) && !folders.has(name.replace(/\/$/, ""))),
    [],
  );
});
