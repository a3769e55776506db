/**
 * `npm run requirements`: the rows, the tests that prove each, the rows without one; writes docs/requirements.md.
 * `npm run requirements -- A B` prints only these sections.
 */
import { writeFileSync } from "node:fs";
import { readRequirements, renderRequirements } from "./requirement-rows.ts";

const { sections, strays } = readRequirements();
writeFileSync(new URL("../docs/requirements.md", import.meta.url), renderRequirements(sections));

const letters = process.argv.slice(2);
const unknown = letters.filter((letter) => !sections.some((section) => section.letter === letter));
if (unknown.length > 0) {
  process.stderr.write(`No such section: ${unknown.join(", ")}. There are: ${sections.map((section) => section.letter).join(", ")}.\n`);
  process.exit(1);
}
const chosen = sections.filter(({ letter }) => letters.length === 0 || letters.includes(letter));
for (const { letter, title, rows } of chosen) {
  console.log(`\n${letter}. ${title}`);
  for (const { id, says, tests } of rows) {
    console.log(`  ${id}  ${says}`);
    for (const { file, name } of tests) console.log(`         ${file}: ${name}`);
  }
}
console.log("\nRows without a test:");
for (const { letter, rows } of chosen) {
  const bare = rows.filter(({ tests }) => tests.length === 0).map(({ id }) => id);
  console.log(`  ${letter.padEnd(3)} ${String(bare.length).padStart(3)} of ${String(rows.length).padStart(3)}  ${bare.join(" ")}`);
}
if (strays.length > 0) console.log(`\nCited, but no row: ${strays.join(", ")}`);
