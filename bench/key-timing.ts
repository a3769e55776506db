/**
 * Whether the time of a refusal tells how much of a key was right: npm run bench -- key-timing [--tries 10000]
 *
 * Keys that share all but their last character with a real one, against keys that share nothing with it, in turns, each time
 * on a new one; medians, and the p of a Mann-Whitney test that both are drawn alike (R-050: medians within 2 %, p > 0.01). A
 * comparison of the medians of two halves of the same kind shows what the machine's own noise makes of it. On PGlite, or the
 * server of TEST_DATABASE_URL.
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { alphanumeric, systemRandom } from "#src/kernel/random.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { authenticate, createKeyDigest, newApiKey, visibleParts } from "#src/projects/api-key-authentication.ts";

const { values } = parseArgs({ options: { tries: { type: "string", default: "10000" } } });
const tries = Number(values.tries);

const database = await testDatabase();
const digestOf = createKeyDigest(new Uint8Array(32).fill(5));
const real = newApiKey(systemRandom, "test");
const organizationId = randomUUID();
await database.db.insertInto("organizations").values({ id: organizationId, slug: "acme", name: "Acme" }).execute();
await database.db
  .insertInto("api_keys")
  .values({
    id: randomUUID(),
    organization_id: organizationId,
    name: "real",
    mode: "test",
    digest: digestOf(real),
    ...visibleParts(real),
    scopes: [],
  })
  .execute();

const kinds = {
  near: () => real.slice(0, -3) + alphanumeric(systemRandom, 3),
  far: () => newApiKey(systemRandom, "test"),
};
const times: Record<keyof typeof kinds, number[]> = { near: [], far: [] };
const one = async (kind: keyof typeof kinds): Promise<number> => {
  const token = kinds[kind]();
  const began = performance.now();
  await authenticate(database.db, token, digestOf);
  return performance.now() - began;
};
for (let warm = 0; warm < 500; warm++) await one(warm % 2 ? "near" : "far");
for (let turn = 0; turn < tries; turn++) {
  // Which comes first changes too.
  for (const kind of turn % 2 ? (["near", "far"] as const) : (["far", "near"] as const)) times[kind].push(await one(kind));
}
await database.close();

const median = (sample: readonly number[]) => sample.toSorted((a, b) => a - b)[sample.length >> 1]!;
const halves = [times.far.filter((_, index) => index % 2 === 0), times.far.filter((_, index) => index % 2 === 1)] as const;
const apart = (a: readonly number[], b: readonly number[]) =>
  `${(100 * Math.abs(median(a) / median(b) - 1)).toFixed(2)} % apart, p = ${mannWhitney(a, b).toFixed(3)}`;
console.log(`${tries} keys of each kind, ${database.kind}`);
console.log(
  `median: right but for the end ${(1000 * median(times.near)).toFixed(1)} us, all wrong ${(1000 * median(times.far)).toFixed(1)} us`,
);
console.log(`near and far:     ${apart(times.near, times.far)}   (R-050: under 2 %, p over 0.01)`);
console.log(`far and far:      ${apart(...halves)}   (the machine's own)`);

/** Two-sided p by the normal approximation, which is exact enough for thousands; ties in a clock of nanoseconds are rare. */
function mannWhitney(a: readonly number[], b: readonly number[]): number {
  const ranked = [...a.map((time) => ({ time, first: true })), ...b.map((time) => ({ time, first: false }))].toSorted(
    (x, y) => x.time - y.time,
  );
  const rankSum = ranked.reduce((sum, { first }, index) => sum + (first ? index + 1 : 0), 0);
  const u = rankSum - (a.length * (a.length + 1)) / 2;
  const mean = (a.length * b.length) / 2;
  const deviation = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12);
  return 2 * (1 - normal(Math.abs(u - mean) / deviation));
}

/** The standard normal distribution function for z >= 0, by Simpson's rule over its density. */
function normal(z: number): number {
  const steps = 1000;
  const width = Math.min(z, 10) / steps;
  const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  let sum = 0;
  for (let step = 0; step < steps; step++) {
    const x = step * width;
    sum += (width / 6) * (density(x) + 4 * density(x + width / 2) + density(x + width));
  }
  return 0.5 + sum;
}
