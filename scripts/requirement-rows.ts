import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

/** A row of docs/requirements.yaml and the tests that cite it. */
export interface Row {
  id: string;
  says: string;
  tests: { file: string; name: string }[];
}

export interface Section {
  letter: string;
  title: string;
  rows: Row[];
}

const root = fileURLToPath(new URL("..", import.meta.url));
const TESTS = ["src/**/*.test.ts", "simulators/**/*.test.ts", "test/**/*.test.ts"];
/** `test("...")`, `t.test("...")`, `it("...")`: the first argument, on the same line or the next. */
const TEST_NAME = /\b(?:test|it)\(\s*(["'`])(?<name>(?:\\.|(?!\1)[^\\])*)\1/g;
const CITED = /R-(?<first>\d{3})(?: to R-(?<last>\d{3}))?/g;

/** The rows that a test's name cites: `R-040`, every row of `R-007 to R-010`, and `table C2`. */
export function cited(name: string, known: readonly string[]): string[] {
  const ids = known.filter((id) => !id.startsWith("R-") && name.includes(id));
  for (const { groups } of name.matchAll(CITED)) {
    const first = `R-${groups!["first"]}`;
    const last = groups!["last"] ? `R-${groups!["last"]}` : first;
    // An unknown number is passed on as it is: a slip of the pen must show.
    ids.push(...(first === last ? [first] : known.filter((id) => id >= first && id <= last)));
  }
  return ids;
}

/** The table with its tests, and citations of rows that do not exist. */
export function readRequirements(): { sections: Section[]; strays: string[] } {
  const table = parse(readFileSync(`${root}docs/requirements.yaml`, "utf8")) as Record<
    string,
    { title: string; rows: Record<string, string> }
  >;
  const sections = Object.entries(table).map(([letter, { title, rows }]) => ({
    letter,
    title,
    rows: Object.entries(rows).map(([id, says]): Row => ({ id, says, tests: [] })),
  }));
  const byId = new Map(sections.flatMap(({ rows }) => rows).map((row) => [row.id, row]));
  const strays: string[] = [];
  for (const file of TESTS.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()) {
    for (const { groups } of readFileSync(root + file, "utf8").matchAll(TEST_NAME)) {
      const name = groups!["name"]!;
      for (const id of cited(name, [...byId.keys()])) {
        const row = byId.get(id);
        if (row) row.tests.push({ file, name });
        else strays.push(`${file}: ${id}`);
      }
    }
  }
  return { sections, strays };
}

/** docs/requirements.md: each row with the test files that cite it. */
export function renderRequirements(sections: readonly Section[]): string {
  const counts = sections.map(
    ({ letter, title, rows }) => `| ${letter} | ${title} | ${rows.length} | ${rows.filter(({ tests }) => tests.length > 0).length} |`,
  );
  const tables = sections.map(({ letter, title, rows }) => {
    const lines = rows.map(({ id, says, tests }) => {
      const files = [...new Set(tests.map(({ file }) => `\`${file}\``))];
      return `| ${id} | ${says} | ${files.join("<br>") || "no test"} |`;
    });
    return `## ${letter}. ${title}\n\n| row | promise | tested in |\n|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `# Requirements and their tests

Generated from \`docs/requirements.yaml\` and the names of the tests by \`npm run requirements\`, which also prints the tests' names;
a test keeps it current. A row counts as tested when a test's name cites it; whether that test passes is what \`npm test\` says.

| section | | rows | tested |
|---|---|---|---|
${counts.join("\n")}

${tables.join("\n")}`;
}
