import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

/**
 * One thing has one name, the one that an engineer of the field would look for. Below are names that stood for something else once, or
 * that have to be translated first; each says what to write instead. Words that are right elsewhere (key, answer, heard, search) are not
 * in the table.
 */
const INSTEAD: Readonly<Record<string, string>> = {
  room: "module",
  rooms: "modules",
  house: "project, service",
  door: "API, listener, entry point",
  doors: "API, listeners, entry points",
  mouth: "playback",
  hush: "stopPlayback",
  ear: "recogniser",
  ears: "recogniser",
  hearing: "recognition result",
  hearings: "recognition results",
  dejitter: "jitter buffer",
  reception: "receiver statistics",
  furniture: "fixtures",
  furnish: "insertFixtures",
  scene: "fixture, scenario",
  scenes: "fixtures, scenarios",
  mishap: "fault",
  mishaps: "faults",
  deed: "fault",
  deeds: "faults",
  nemesis: "fault injection",
  fate: "outcome, planned kill",
  fates: "outcomes, kill schedule",
  stranger: "unknown peer",
  strangers: "unknown peers",
  verdict: "outcome, result",
  verdicts: "outcomes, results",
  conclusion: "outcome",
  conclusions: "outcomes",
  undo: "reverse, reversal",
  undone: "reversed",
  together: "batched",
  dear: "premium-rate",
  lane: "shard, worker",
  lanes: "shards, workers",
  "hand back": "transfer-back",
  handback: "transfer-back",
  "give back": "reversal",
};

/** As above, in code that is the service's own: a gateway's folder and its simulator have the vendor's words. */
const INSTEAD_IN_OWN_CODE: Readonly<Record<string, string>> = {
  till: "service, tool sessions",
  twin: "duplicate",
  twins: "duplicates",
  judge: "check, classify",
  contestant: "server",
  bereaved: "with an ended session",
  farewell: "shutdown",
  farewells: "shutdowns",
  deaf: "without trunks",
  suspicions: "consecutive findings",
  surroundings: "default context",
  calm: "without faults",
  won: "succeeded",
  "last heard": "last packet",
  "heard at": "received at",
  "made session": "created session",
};
/** Names of databases that a test makes, whose installation is called so. */
const EXACT: ReadonlySet<string> = new Set(["till_test", "till_two", "till_cut"]);
const VENDORS = /^(?:src\/gateways\/|simulators\/|prove\/bugs\/)/;

const root = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = "{src,prove,test,bench,scripts,simulators,softphone,examples}";
const CODE = globSync(`${FOLDERS}/**/*.{ts,js,mjs}`, { cwd: root }).filter((file) => file !== "test/words.test.ts");
const PAGES = globSync(["*.md", "docs/**/*.md", "docs/*.yaml", "prove/bugs/*.patch"], { cwd: root });
const read = (file: string) => readFileSync(root + file, "utf8");

/** The words of a name: `openHttpDoor`, `HTTP_DOOR` and `http-door.ts` have three or four. */
function wordsOf(name: string): string[] {
  const apart = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2");
  return apart.toLowerCase().match(/[a-z]+/g) ?? [];
}

/** Names in code: identifiers, and texts that are nothing but a name in snake_case, as log events and metrics are. Prose is left out. */
function namesIn(code: string): string[] {
  const prose = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$|"(?![a-z]+(?:_[a-z0-9]+)+")(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/gm;
  return code.replaceAll(prose, " ").match(/[A-Za-z_$][\w$]*/g) ?? [];
}

function forbidden(words: readonly string[], where: string, table = INSTEAD): string[] {
  const pairs = words.slice(1).map((word, index) => `${words[index]} ${word}`);
  return [...words, ...pairs].filter((word) => Object.hasOwn(table, word)).map((word) => `${where}: "${word}", say ${table[word]}`);
}

test("files and folders have the field's names", () => {
  assert.ok(CODE.length > 500);
  assert.deepEqual(
    [...CODE, ...PAGES].flatMap((file) => forbidden(wordsOf(file), file)),
    [],
  );
});

test("identifiers, log events and metrics have the field's names", () => {
  const found = CODE.flatMap((file) => namesIn(read(file)).flatMap((name) => forbidden(wordsOf(name), `${file}, ${name}`)));
  assert.deepEqual([...new Set(found)], []);
});

test("the service's own files and identifiers have no figure of speech for what GLOSSARY names", () => {
  const own = CODE.filter((file) => !VENDORS.test(file));
  assert.ok(own.length > 400);
  const found = own.flatMap((file) =>
    [file, ...namesIn(read(file))]
      .filter((name) => !EXACT.has(name))
      .flatMap((name) => forbidden(wordsOf(name), `${file}, ${name}`, INSTEAD_IN_OWN_CODE)),
  );
  assert.deepEqual([...new Set(found)], []);
});

/** In prose these have a plain meaning too: room for something, a house number. Applied migrations cannot be changed and are left out. */
const PLAIN_IN_PROSE: ReadonlySet<string> = new Set([
  "room",
  "hearing",
  "reception",
  "ear",
  "scene",
  "scenes",
  "verdict",
  "conclusion",
  "undo",
  "undone",
  "together",
  "lane",
  "lanes",
]);
const PLAIN_PHRASE = /house number/g;

test("comments and pages use no figure of speech for a thing that has a name", () => {
  const found = [...CODE, ...PAGES].flatMap((file) =>
    forbidden(
      (
        read(file)
          .toLowerCase()
          .replaceAll(PLAIN_PHRASE, "")
          .match(/[a-z]+/g) ?? []
      ).filter((word) => !PLAIN_IN_PROSE.has(word)),
      file,
    ),
  );
  assert.deepEqual([...new Set(found)], []);
});

test("a name is taken apart at its humps, underscores and dashes", () => {
  assert.deepEqual(wordsOf("openHTTPDoor"), ["open", "http", "door"]);
  assert.deepEqual(wordsOf("SCENE_COUNT"), ["scene", "count"]);
  assert.deepEqual(wordsOf("front-door.ts"), ["front", "door", "ts"]);
  assert.deepEqual(namesIn('const a = "a room"; /* a room */ log.info("door_opened"); // room\n`room`'), [
    "const",
    "a",
    "log",
    "info",
    "door_opened",
  ]);
});
