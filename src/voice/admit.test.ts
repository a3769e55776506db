import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { sql } from "kysely";
import type { Session } from "#src/sessions/index.ts";
import { admit } from "./admit.ts";
import { TestCall, voiceFixture, type VoiceFixture } from "./testing.ts";

let fixture: VoiceFixture;
before(async () => {
  fixture = await voiceFixture();
  await fixture.addNumber("+15550001111", fixture.projectId);
});
after(() => fixture.close());
afterEach(() => fixture.database.db.deleteFrom("sessions").execute());

const CALLER = "+14155550100";
const statusOf = async ({ id }: Session) => (await fixture.sessions.find(fixture.database.db, id))?.status;
/** Created so many seconds earlier than it was. */
async function older(session: Session, seconds: number): Promise<Session> {
  const created = sql<Date>`created_at - make_interval(secs => ${seconds})`;
  await fixture.database.db.updateTable("sessions").set({ created_at: created }).where("id", "=", session.id).execute();
  return session;
}
const call = (invite: ConstructorParameters<typeof TestCall>[0] = {}) => new TestCall({ from: CALLER, to: "+15559990000", ...invite });
async function admitted(incoming = call()): Promise<string | number> {
  const admission = await admit(incoming.incoming, fixture.deps);
  return "status" in admission ? admission.status : admission.session.id;
}

test("a caller whom two organisations wait for is given to neither: 404, both stay PENDING, and it is listed as ambiguous (R-217)", async () => {
  const other = await fixture.organization("other");
  const live = await older(await fixture.create({ environment: "live" }), 60);
  const foreign = await fixture.create(other);
  for (const invite of [{}, { from: "agent", fields: [`X-Caller: ${CALLER}`] }, { to: CALLER, from: "agent" }]) {
    const admission = await admit(call(invite).incoming, fixture.deps);
    assert.equal("status" in admission && admission.status, 404);
    assert.match("misses" in admission ? (admission.misses?.at(-1)?.why ?? "") : "", /^ambiguous/);
  }
  assert.deepEqual([await statusOf(live), await statusOf(foreign)], ["PENDING", "PENDING"]);
});

test("an X-Caller that is ambiguous ends the search: no other number's session is taken in its place (R-217)", async () => {
  const other = await fixture.organization("third");
  await fixture.create();
  await fixture.create(other);
  const agents = await fixture.create({ caller: "+14155550199" });
  assert.equal(await admitted(call({ from: "+14155550199", fields: [`X-Caller: ${CALLER}`] })), 404);
  assert.equal(await statusOf(agents), "PENDING");
});

test("with the number of a project dialled only its sessions count, whoever else waits for the caller (R-217, R-277)", async () => {
  const other = await fixture.organization("fourth");
  const own = await older(await fixture.create(), 60);
  const foreign = await fixture.create(other);
  assert.equal(await admitted(call({ to: "+15550001111" })), own.id);
  assert.equal(await statusOf(foreign), "PENDING");
  assert.equal(await admitted(call({ to: "+15550001111" })), 404, "the other organisation's is not taken instead");
  assert.equal(await statusOf(foreign), "PENDING");
});

test("a call by a project's own trunk takes that project's session alone, and a trunk that two projects name names neither (R-217)", async () => {
  const other = await fixture.organization("trunks");
  const own = await older(await fixture.create(), 60);
  const foreign = await fixture.create(other);
  const setTrunks = (project: string, trunks: readonly string[]) =>
    fixture.database.db
      .updateTable("projects")
      .set({ voice: JSON.stringify({ trunks }) })
      .where("id", "=", project)
      .execute();
  assert.equal(await admitted(), 404, "two organisations, and nothing names a project");
  await setTrunks(own.projectId, ["2001:db8::/32", "198.51.100.0/28"]);
  await setTrunks(foreign.projectId, ["198.51.100.7"]);
  assert.equal(await admitted(), 404, "both projects name the trunk");
  await setTrunks(foreign.projectId, ["198.51.100.8"]);
  assert.equal(await admitted(), own.id);
  assert.equal(await admitted(), 404, "the other organisation's is not taken instead");
  assert.equal(await statusOf(foreign), "PENDING");
  for (const project of [own.projectId, foreign.projectId]) await setTrunks(project, []);
});

test("of one organisation's sessions the live one is taken before the test one, then the newest (R-217)", async () => {
  const oldest = await older(await fixture.create({ environment: "live" }), 120);
  const live = await older(await fixture.create({ environment: "live" }), 60);
  const newest = await fixture.create();
  assert.equal(await admitted(), live.id);
  assert.equal(await admitted(), oldest.id);
  assert.equal(await admitted(), newest.id);
  assert.equal(await admitted(), 404);
});

test("a call that names a session takes it, whoever else waits for the caller (R-212)", async () => {
  const other = await fixture.organization("fifth");
  await fixture.create();
  const named = await fixture.create(other);
  assert.equal(await admitted(call({ fields: [`X-Session-Id: ${named.id}`] })), named.id);
  assert.equal(await admitted(call({ fields: [`X-Session-Id: ${named.id}`] })), 486);
});

test("an INVITE costs a handful of queries, however many numbers it carries and however many countries there are (R-216)", async () => {
  const { db } = fixture.database;
  const { organizationId } = await fixture.organization("travels");
  const countries = [
    "AR",
    "AU",
    "BR",
    "CA",
    "CH",
    "DE",
    "DK",
    "ES",
    "FR",
    "GB",
    "IE",
    "IN",
    "IT",
    "JP",
    "MX",
    "NL",
    "NZ",
    "PL",
    "PT",
    "SE",
  ];
  for (const country of countries) {
    const id = fixture.deps.random.uuid();
    const row = {
      id,
      organization_id: organizationId,
      slug: country.toLowerCase(),
      name: country,
      currency: "EUR",
      language: "en",
      country,
    };
    await db.insertInto("projects").values(row).execute();
  }
  let queries = 0;
  const counted = new Proxy(db, {
    get(target, name) {
      if (["selectFrom", "executeQuery"].includes(String(name))) queries++;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const deps = { ...fixture.deps, database: { ...fixture.database, db: counted } };
  const numbers = Array.from({ length: 40 }, (_, index) => `<sip:20794609${String(index).padStart(2, "0")}@carrier.example>`);
  const fields = ["X-Caller: 4155550188", ...numbers.map((number) => `P-Asserted-Identity: ${number}`)];
  const admission = await admit(call({ to: "2079460999", from: "2079460998", fields }).incoming, deps);
  assert.equal("status" in admission && admission.status, 404);
  assert.ok(queries <= 4, `${queries} queries`);
  const readings = "misses" in admission ? (admission.misses ?? []).map((miss) => miss.readings.length) : [];
  assert.ok(Math.max(...readings) <= 6 && readings.length <= 6, String(readings));
  await db.deleteFrom("projects").where("organization_id", "=", organizationId).execute();
});
