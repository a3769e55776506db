import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { readRequirements } from "../scripts/requirement-rows.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");
const FOLDERS = "{src,prove,test,bench,scripts,simulators,softphone,examples,migrations}";
const CODE = globSync(`${FOLDERS}/**/*.{ts,js,mjs,sql,css,html,yaml}`, { cwd: root });
const PAGES = globSync(["*.md", "docs/**/*.md"], { cwd: root });
const OWN = "test/citations.test.ts";

/** Every place in code and pages that `form` matches, with its first group. */
function citations(form: RegExp, files: readonly string[] = [...CODE, ...PAGES]): { file: string; cited: string }[] {
  return files
    .filter((file) => file !== OWN)
    .flatMap((file) => Array.from(read(file).matchAll(form), (match) => ({ file, cited: match[1] ?? match[0] })));
}

/** Numbers that begin a row of a table in `page`. */
function rowsOf(page: string): ReadonlySet<string> {
  return new Set(Array.from(read(page).matchAll(/^\| ([A-Z]-?\d+) \|/gm), ([, number]) => number!));
}

function strays(form: RegExp, known: ReadonlySet<string>, files?: readonly string[]): string[] {
  const found = citations(form, files);
  assert.ok(found.length > 10, "nothing was found: the form is wrong");
  return found.filter(({ cited }) => !known.has(cited)).map(({ file, cited }) => `${file}: ${cited}`);
}

test("every R-number that code or a page cites is a requirement", () => {
  const rows = readRequirements().sections.flatMap((section) => section.rows.map((row) => row.id));
  const tests = ["test/requirements.test.ts", "scripts/requirement-rows.ts"];
  assert.deepEqual(
    strays(/\b(R-\d{3})\b/g, new Set(rows)).filter((stray) => !tests.some((file) => stray.startsWith(file))),
    [],
  );
});

test("every S-number that code or a page cites is a promise of docs/security.md", () => {
  assert.deepEqual(strays(/\b(S-\d\d)\b/g, rowsOf("docs/security.md")), []);
});

test("every I- and E-number that code or a page cites stands in docs/invariants.md", () => {
  // Two digits at most and no other sign around it: E.164, IN IP4 and base64 hold such letters too.
  assert.deepEqual(strays(/(?<![\w.+/=-])([IE]\d{1,2})(?![\w.+/=-]|\.\d)/g, rowsOf("docs/invariants.md")), []);
});

test("every check that docs/security.md and docs/invariants.md name is there, and cites the number", () => {
  for (const page of ["docs/security.md", "docs/invariants.md"]) {
    for (const [row, number] of read(page).matchAll(/^\| ([SE]-?\d+) \|.*\|$/gm)) {
      const files = row.match(/(?:src|test)\/[\w./-]+\.test\.ts/g) ?? [];
      for (const file of files) assert.ok(existsSync(root + file), `${page}: ${file}`);
      if (number!.startsWith("S") && files.length > 0) {
        assert.ok(
          files.some((file) => read(file).includes(number!)),
          `${number} is cited by none of its checks`,
        );
      }
    }
  }
});

/** `NAME` stands for any name. */
test("every file that a comment or page names exists", () => {
  const form =
    /(?<![\w./#@-])((?:src|prove|test|bench|scripts|simulators|softphone|docs|examples|migrations)\/[\w./-]+\.(?:ts|mjs|js|md|yaml|sql))\b/g;
  const missing = citations(form).filter(({ cited }) => !cited.includes("NAME") && !existsSync(root + cited));
  assert.deepEqual(missing, []);
});

test("every decision that is cited by its number exists", () => {
  const missing = citations(/docs\/decisions\/(\d{4})\b/g).filter(
    ({ cited }) => globSync(`docs/decisions/${cited}-*.md`, { cwd: root }).length !== 1,
  );
  assert.deepEqual(missing, []);
});

test("every section of a page that code cites exists", () => {
  const found = CODE.filter((file) => file !== OWN).flatMap((file) =>
    // A comment's line may break between the page and its section.
    Array.from(
      read(file)
        .replaceAll(/\n\s*(?:\*|\/\/) /g, " ")
        .matchAll(/\b(docs\/[a-z-]+\.md), ([A-Z][a-z][\w-]*(?: [\w-]+)*)/g),
      ([, page, words]) => ({
        file,
        page: page!,
        words: words!,
      }),
    ),
  );
  assert.ok(found.length > 20);
  const headings = (page: string) => Array.from(read(page).matchAll(/^#+ (.+)$/gm), ([, heading]) => heading!);
  const missing = found.filter(({ page, words }) => !headings(page).some((heading) => words.startsWith(heading)));
  assert.deepEqual(missing, []);
});

/** Documents are cited by their path. A name in capitals names one that nobody who has this repository alone can read. */
test("no comment cites a document by a name in capitals", () => {
  const form =
    /\b((?:SPEC|SECURITY|OPERATOR|RELIABILITY|REQUIREMENTS|DESIGN|FEATURES|GLOSSARY|STYLE|STACK|VOICE)(?:\.md|,? (?:section|S-|R-|E\d|table)|, [A-Z]))/g;
  assert.deepEqual(citations(form), []);
});

test("every link of a page leads to a file that is there, and to a heading of it", () => {
  const broken = PAGES.flatMap((page) =>
    Array.from(withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g), ([, link]) => link!)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = "", heading] = link.split("#");
        const target = path === "" ? page : join(dirname(page), path);
        return !existsSync(root + target) || (heading !== undefined && !headingsOf(target).has(heading));
      })
      .map((link) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

/** Code holds brackets that are no links. */
const withoutCode = (text: string) => text.replace(/^```[^]*?^```/gm, "").replace(/`[^`\n]*`/g, "");

/** As GitHub makes an anchor of a heading. */
function headingsOf(page: string): ReadonlySet<string> {
  const headings = Array.from(read(page).matchAll(/^#+ (.*)$/gm), ([, text]) => text!.toLowerCase());
  return new Set(headings.map((text) => text.replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}

const OPERATIONS = read("docs/operations.md");
const SOURCE = globSync("src/**/*.ts", { cwd: root }).filter((file) => !/test(ing)?\.ts$/.test(file));

test("every warning and error of the log is in docs/operations.md, and every line that its tables name is one", () => {
  const lines = (levels: string) =>
    new Set(citations(new RegExp(`log\\??\\.(?:${levels})\\(\\s*"([a-z_]+)"`, "g"), SOURCE).map(({ cited }) => cited));
  const told = [...lines("warn|error")];
  assert.ok(told.length > 50, "nothing was found: the form is wrong");
  assert.deepEqual(
    told.filter((event) => !OPERATIONS.includes(`\`${event}\``)),
    [],
  );
  const [, tables = ""] = OPERATIONS.split("\n## Logs\n");
  const [section = ""] = tables.split("\n## Start-up");
  const named = Array.from(section.matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/gm), ([, events]) => events!.match(/[a-z_]+/g)!).flat();
  const all = new Set(citations(/"([a-z]+(?:_[a-z]+)+)"/g, SOURCE).map(({ cited }) => cited));
  assert.deepEqual(
    named.filter((event) => !all.has(event)),
    [],
  );
});

test("docs/operations.md names the metrics that there are, and no others", () => {
  const there = citations(/\.(?:counter|gauge|timings)\(\s*"([a-z_]+)"/g, SOURCE).map(({ cited }) => `voicetill_${cited}`);
  const named = Array.from(OPERATIONS.matchAll(/`(voicetill_[a-z_]+)`/g), ([, name]) => name!);
  assert.deepEqual([...new Set(named)].sort(), [...new Set(there)].sort());
});

test("the shell function of docs/operations.md passes each setting on whole, one with a space too", () => {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-shell-"));
  try {
    writeFileSync(join(folder, "settings"), "# trunks\nSIP_TRUNKS=192.0.2.1, 192.0.2.2\nLOG_LEVEL=*\n");
    writeFileSync(
      join(folder, "voicetill.mjs"),
      "console.log([process.env.SIP_TRUNKS, process.env.LOG_LEVEL, ...process.argv.slice(2)].join('|'));",
    );
    const [shell = ""] = /^voicetill\(\) \{[^}]*\}$/m.exec(OPERATIONS) ?? [];
    const here = shell.replace("/opt/voicetill", folder).replace("/etc/voicetill/settings", "settings").replace("scripts/", "");
    const script = `runuser() { shift 3; "$@"; }\n${here}\nvoicetill doctor "a b"`;
    for (const reader of ["sh", "bash"])
      assert.equal(execFileSync(reader, ["-c", script], { encoding: "utf8" }), "192.0.2.1, 192.0.2.2|*|doctor|a b\n", reader);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
