import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { sql } from "kysely";
import { ManualClock } from "#src/kernel/testing.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { createOutbound, silentLog } from "#src/platform/index.ts";
import type { Session, SessionEvent } from "#src/sessions/index.ts";
import { sessionsFixture } from "#src/sessions/testing.ts";
import type { Fixture } from "#src/sessions/testing.ts";
import { createDelivery } from "./delivery.ts";
import type { DeliveryDeps } from "./delivery.ts";
import { claimDueEvent, keepBody, markDelivered } from "./events.ts";
import { bodyOf, createWebhooks, outboxOf, verifyWebhook } from "./index.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A merchant's endpoint on loopback whose responses the test decides. */
class Receiver {
  readonly received: Received[] = [];
  answer: (response: ServerResponse) => void = (response) => response.writeHead(200).end();
  readonly #server: Server;
  #waiting: (() => void)[] = [];

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
        for (const wake of this.#waiting.splice(0)) wake();
        this.answer(response);
      });
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async count(wanted: number): Promise<void> {
    while (this.received.length < wanted) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end();

describe("the status webhook", () => {
  let fixture: Fixture;
  let receiver: Receiver;
  let endpoint: Awaited<ReturnType<DeliveryDeps["projects"]["webhookEndpoint"]>>;
  let clock: ManualClock;
  let deps: DeliveryDeps;

  before(async () => {
    fixture = await sessionsFixture(outboxOf(() => `evt_${systemRandom.uuid()}`));
  });
  after(() => fixture.close());

  beforeEach(async () => {
    receiver = new Receiver();
    await receiver.listen();
    endpoint = { url: receiver.url, secrets: [new Secret(SECRET)], amountUnit: "dollars", disabledAt: null };
    await fixture.database.db
      .insertInto("webhook_endpoints")
      .values({ project_id: fixture.projectId, url: receiver.url, secrets: Buffer.from("none") })
      .execute();
    clock = new ManualClock();
    deps = {
      database: fixture.database,
      projects: {
        webhookEndpoint: async () => endpoint,
        disableWebhookEndpoint: async (_db, _projectId, _environment, url) => {
          if (endpoint?.url !== url) return false;
          endpoint = { ...endpoint, disabledAt: new Date() };
          return true;
        },
        enableWebhookEndpoint: async () => {
          if (endpoint) endpoint = { ...endpoint, disabledAt: null };
        },
      },
      gateways: {},
      outbound: createOutbound({ allow: ["127.0.0.0/8"] }),
      clock,
      random: { ...systemRandom, fraction: () => 0.5 },
      log: silentLog,
    };
  });
  afterEach(async () => {
    await receiver.close();
    await fixture.database.db.deleteFrom("webhook_events").execute();
    await fixture.database.db.deleteFrom("webhook_endpoints").execute();
  });

  test("a test event is sent once, signed as every webhook, and its answer told; nothing of it is kept", async () => {
    const webhooks = createWebhooks(deps);
    const shop = { id: fixture.projectId, slug: "shop" };
    receiver.answer = status(503);
    const answer = await webhooks.test(shop, "test");
    assert.partialDeepStrictEqual(answer, { url: receiver.url, sent: true, status: 503, reason: null });
    const [{ headers, body } = assert.fail("nothing came"), ...more] = receiver.received;
    assert.deepEqual(more, []);
    assert.deepEqual(JSON.parse(body), { id: answer?.id, event: "webhook.test", project: "shop", environment: "test" });
    assert.equal(verifyWebhook(headers, body, SECRET, clock.now()).verified, true);
    assert.equal((await fixture.database.db.selectFrom("webhook_events").selectAll().execute()).length, 0);
    assert.partialDeepStrictEqual(await webhooks.test(shop, "live"), { sent: false, status: null, reason: "https required" });
    endpoint = null;
    assert.equal(await webhooks.test(shop, "test"), null);
  });

  /** A session that has just become final, with its event written. */
  async function finalSession(differences: Partial<Parameters<Fixture["create"]>[0]> = {}): Promise<Session> {
    const session = await fixture.create(differences);
    const final = await fixture.sessions.apply(session.id, "cancel");
    assert.ok(final);
    return final;
  }

  const eventOf = (session: Session) =>
    fixture.database.db.selectFrom("webhook_events").selectAll().where("session_id", "=", session.id).executeTakeFirstOrThrow();

  /** One try of everything that is due. */
  async function tryDue(): Promise<void> {
    const delivery = createDelivery(deps);
    await delivery.sweep();
    await delivery.idle();
  }

  const makeDue = (id: string) =>
    fixture.database.db
      .updateTable("webhook_events")
      .set({ next_try_at: sql<Date>`clock_timestamp() - interval '1 second'` })
      .where("id", "=", id)
      .execute();

  /** Seconds until the event's next try, by the database's clock. */
  async function waitOf(id: string): Promise<number> {
    const row = await fixture.database.db
      .selectFrom("webhook_events")
      .select(sql<number>`extract(epoch from next_try_at - clock_timestamp())::float8`.as("seconds"))
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return row.seconds;
  }

  const isAbout = (actual: number, expected: number) =>
    assert.ok(Math.abs(actual - expected) < 20, `${actual} s, expected about ${expected} s`);

  test("a final session is told once, signed so that a receiver verifies it (R-340, R-348)", async () => {
    const session = await finalSession();
    await tryDue();
    await tryDue();
    assert.equal(receiver.received.length, 1);
    const { headers, body } = receiver.received[0] ?? assert.fail();
    assert.deepEqual(verifyWebhook(headers, body, SECRET, clock.now()), { verified: true, id: (await eventOf(session)).id });
    assert.equal((JSON.parse(body) as { event: string }).event, "payment.cancelled");
    assert.equal(headers["content-type"], "application/json");
    assert.ok((await eventOf(session)).delivered_at);
  });

  const ENDINGS: readonly (readonly [event: string, path: readonly SessionEvent[]])[] = [
    ["payment.success", ["claim", "charge", "approve"]],
    ["payment.success", ["claim", "skip"]],
    ["payment.authorized", ["claim", "charge", "authorize"]],
    ["payment.failed", ["claim", "charge", "lose", "fail"]],
    ["payment.expired", ["expire"]],
    ["payment.cancelled", ["cancel"]],
    ["payment.abandoned", ["claim", "abandon"]],
  ];
  for (const [event, path] of ENDINGS) {
    test(`a session that goes through ${path.join(", ")} sends ${event}, once, at its end (R-340, R-342, R-353)`, async () => {
      const { id } = await fixture.create();
      if (event === "payment.expired") await fixture.expireIn(id, -1000);
      for (const step of path) {
        assert.equal((await fixture.database.db.selectFrom("webhook_events").selectAll().execute()).length, 0, `sent before ${step}`);
        assert.ok(await fixture.sessions.apply(id, step), step);
      }
      await tryDue();
      const told = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
      assert.deepEqual(
        told.map((body) => [body["event"], body["session_id"], body["status"]]),
        [[event, id, (await fixture.sessions.find(fixture.database.db, id))?.status]],
      );
    });
  }

  test("the event exists exactly when the session is final: rolled back with it (R-285)", async () => {
    const session = await fixture.create();
    const rolledBack = fixture.database.transaction(async (tx) => {
      await fixture.sessions.transition(tx, session.id, "cancel");
      throw new Error("rolled back");
    });
    await assert.rejects(rolledBack, /rolled back/);
    assert.equal((await fixture.database.db.selectFrom("webhook_events").selectAll().execute()).length, 0);
  });

  test("a project without an endpoint has no events", async () => {
    await fixture.database.db.deleteFrom("webhook_endpoints").execute();
    await finalSession();
    assert.equal((await fixture.database.db.selectFrom("webhook_events").selectAll().execute()).length, 0);
  });

  test("a new event is sent at once also when the database server's clock was set back by an hour since it was written (R-288)", async () => {
    const { id } = await eventOf(await finalSession());
    await fixture.database.db
      .updateTable("webhook_events")
      .set({ next_try_at: sql<Date>`next_try_at + interval '1 hour'` })
      .where("id", "=", id)
      .execute();
    await tryDue();
    assert.equal(receiver.received.length, 1);
  });

  for (const [nth, tries, seconds] of [
    ["second", 0, 7],
    ["third", 1, 301],
    ["fourth", 2, 1_801],
  ] as const) {
    test(`the ${nth} try comes at its time also when the database server's clock is set back meanwhile (R-288, R-349)`, async () => {
      receiver.answer = status(500);
      const { id } = await eventOf(await finalSession());
      await fixture.database.db.updateTable("webhook_events").set({ tries }).where("id", "=", id).execute();
      await makeDue(id);
      const delivery = createDelivery(deps);
      await delivery.sweep();
      await delivery.idle();
      await fixture.database.db
        .updateTable("webhook_events")
        .set({ next_try_at: sql<Date>`next_try_at + interval '1 hour'` })
        .where("id", "=", id)
        .execute();
      clock.advance(1000 * seconds);
      await delivery.idle();
      assert.equal(receiver.received.length, 2);
    });
  }

  test("each try carries the same id and bytes under a fresh timestamp", async () => {
    receiver.answer = status(500);
    await finalSession();
    const delivery = createDelivery(deps);
    await delivery.sweep();
    await delivery.idle();
    // The second try comes by itself, whatever the database's clock says.
    clock.advance(3_600_000);
    await receiver.count(2);
    await delivery.idle();
    const [first, second] = receiver.received;
    assert.ok(first && second);
    assert.equal(second.headers["webhook-id"], first.headers["webhook-id"]);
    assert.equal(second.body, first.body);
    assert.equal(Number(second.headers["webhook-timestamp"]) - Number(first.headers["webhook-timestamp"]), 3600);
    assert.equal(verifyWebhook(second.headers, second.body, SECRET, clock.now()).verified, true);
  });

  test("a failing receiver is tried ten times over the schedule, then the event is dead (R-349)", async () => {
    receiver.answer = status(503);
    const session = await finalSession();
    const { id } = await eventOf(session);
    for (const seconds of [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]) {
      await tryDue();
      isAbout(await waitOf(id), seconds);
      await makeDue(id);
    }
    assert.equal((await eventOf(session)).dead_at, null);
    await tryDue();
    const dead = await eventOf(session);
    assert.ok(dead.dead_at);
    assert.equal(dead.last_status, "503");
    assert.equal(dead.tries, 10);
    await makeDue(id);
    await tryDue();
    assert.equal(receiver.received.length, 10);
    assert.equal(
      (await fixture.sessions.find(fixture.database.db, session.id))?.status,
      "cancelled",
      "a failing webhook changed its session (R-352)",
    );
  });

  test("a redirect is a failure and is not followed (R-350)", async () => {
    const elsewhere = new Receiver();
    await elsewhere.listen();
    receiver.answer = status(302, { location: elsewhere.url });
    const session = await finalSession();
    await tryDue();
    assert.equal((await eventOf(session)).last_status, "302");
    assert.equal(elsewhere.received.length, 0);
    await elsewhere.close();
  });

  test("a connection that breaks is tried again", async () => {
    receiver.answer = (response) => void response.destroy();
    const session = await finalSession();
    await tryDue();
    const event = await eventOf(session);
    assert.equal(event.delivered_at, null);
    assert.equal(event.dead_at, null);
    assert.equal(event.tries, 1);
  });

  test("a long answer counts by its status: nobody reads it (R-350)", async () => {
    receiver.answer = (response) => void response.writeHead(200).end("x".repeat(1_000_000));
    const session = await finalSession();
    await tryDue();
    assert.ok((await eventOf(session)).delivered_at);
  });

  test("an encoded answer counts by its status: it is not asked again (R-349, R-350)", async () => {
    receiver.answer = (response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("ok"));
    const session = await finalSession();
    await tryDue();
    assert.ok((await eventOf(session)).delivered_at);
  });

  test("a worker that is woken for another event leaves one alone whose time has not come (R-349)", async () => {
    const { id } = await eventOf(await finalSession());
    await fixture.database.transaction(async (tx) => {
      const soon = sql<Date>`clock_timestamp() + interval '900 milliseconds'`;
      await tx.updateTable("webhook_events").set({ tries: 1, next_try_at: soon }).where("id", "=", id).execute();
      assert.equal(await claimDueEvent(tx, fixture.projectId, "others"), null);
    });
  });

  test("Retry-After is honoured", async () => {
    receiver.answer = status(429, { "retry-after": "7200" });
    const session = await finalSession();
    await tryDue();
    isAbout(await waitOf((await eventOf(session)).id), 7_200);
  });

  test("410 switches the endpoint off, and what waits for it is dead (R-349)", async () => {
    const [first, second] = [await finalSession(), await finalSession()];
    receiver.answer = status(410);
    await tryDue();
    await makeDue((await eventOf(second)).id);
    await tryDue();
    assert.ok(endpoint?.disabledAt);
    for (const session of [first, second]) assert.ok((await eventOf(session)).dead_at);
    const count = receiver.received.length;
    await finalSession();
    await tryDue();
    assert.equal(receiver.received.length, count);
  });

  test("a 410 of an address that was replaced while it was asked stops nothing: the event goes to the new one (R-291, R-349)", async () => {
    const moved = new Receiver();
    await moved.listen();
    receiver.answer = (response) => {
      endpoint = { url: moved.url, secrets: [new Secret(SECRET)], amountUnit: "dollars", disabledAt: null };
      status(410)(response);
    };
    const session = await finalSession();
    await tryDue();
    assert.equal(endpoint?.disabledAt, null);
    assert.equal(moved.received.length, 1);
    assert.partialDeepStrictEqual(await eventOf(session), { dead_at: null, last_status: "200" });
    await moved.close();
  });

  test("a try goes to the address of that moment, with the secrets of that moment (R-291)", async () => {
    receiver.answer = status(500);
    const { id } = await eventOf(await finalSession());
    await tryDue();
    const moved = new Receiver();
    await moved.listen();
    const newSecret = "whsec_IAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    endpoint = { url: moved.url, secrets: [new Secret(newSecret), new Secret(SECRET)], amountUnit: "cents", disabledAt: null };
    await makeDue(id);
    await tryDue();
    const { headers, body } = moved.received[0] ?? assert.fail();
    for (const secret of [newSecret, SECRET]) assert.equal(verifyWebhook(headers, body, secret, clock.now()).verified, true);
    assert.equal(receiver.received.length, 1);
    await moved.close();
  });

  test("plain http is refused for a live session, and only then (R-350)", async () => {
    const session = await finalSession({ environment: "live" });
    await tryDue();
    assert.equal(receiver.received.length, 0);
    const event = await eventOf(session);
    assert.equal(event.last_status, "https required");
    assert.equal(event.dead_at, null);
  });

  test("an address inside the network is refused (R-350, R-260)", async () => {
    deps = { ...deps, outbound: createOutbound({ allow: [] }) };
    const session = await finalSession();
    await tryDue();
    assert.equal((await eventOf(session)).last_status, "address not allowed");
    assert.equal(receiver.received.length, 0);
  });

  test("two workers at once send an event once", async () => {
    for (let count = 0; count < 5; count++) await finalSession();
    await Promise.all([tryDue(), tryDue(), tryDue()]);
    assert.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 5);
    assert.equal(receiver.received.length, 5);
  });

  test("an event's bytes are made once, also when its first worker comes back after another has taken it (R-285)", async () => {
    const session = await finalSession();
    const { id } = await eventOf(session);
    const slow = (await claimDueEvent(fixture.database.db, fixture.projectId, "others"))!;
    assert.equal(slow.id, id);
    await makeDue(id);
    await tryDue();
    assert.equal(await keepBody(fixture.database.db, id, bodyOf(id, slow.body, {}).replace("shop", "elsewhere")), false);
    assert.equal((await eventOf(session)).body, receiver.received[0]!.body);
  });

  test("a receiver that never answers holds up no other project (R-351)", async () => {
    const hanging = new Receiver();
    hanging.answer = () => {};
    await hanging.listen();
    const otherProject = systemRandom.uuid();
    const { organizationId } = fixture.scope;
    await fixture.database.db
      .insertInto("projects")
      .values({
        id: otherProject,
        organization_id: organizationId,
        slug: otherProject,
        name: "x",
        currency: "USD",
        language: "en-US",
        country: "US",
      })
      .execute();
    await fixture.database.db
      .insertInto("webhook_endpoints")
      .values({ project_id: otherProject, url: hanging.url, secrets: Buffer.from("none") })
      .execute();
    const slow = { url: hanging.url, secrets: [new Secret(SECRET)], amountUnit: "dollars" as const, disabledAt: null };
    const quick = endpoint;
    deps = {
      ...deps,
      projects: { ...deps.projects, webhookEndpoint: async (_db, projectId) => (projectId === otherProject ? slow : quick) },
    };
    for (let count = 0; count < 6; count++) await finalSession({ projectId: otherProject });
    const session = await finalSession();

    const delivery = createDelivery(deps);
    delivery.wake(otherProject);
    await hanging.count(4);
    delivery.wake(session.projectId);
    await receiver.count(1);
    assert.equal(hanging.received.length, 4, "more tries at once than one endpoint may have");
    hanging.answer = (response) => void response.destroy();
    await hanging.close();
    await delivery.idle();
  });

  test("test sessions whose receiver never answers hold up no webhook of a live session that has an address of its own (R-351, R-431)", async () => {
    const { db } = fixture.database;
    const [hanging, reached] = ["https://test.example/hook", "https://live.example/hook"];
    await db.deleteFrom("webhook_endpoints").execute();
    const own = { project_id: fixture.projectId, secrets: Buffer.from("none") };
    await db
      .insertInto("webhook_endpoints")
      .values([
        { ...own, environment: "test", url: hanging },
        { ...own, environment: "live", url: reached },
      ])
      .execute();
    const [fourAsked, liveAsked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const sent: string[] = [];
    deps = {
      ...deps,
      projects: {
        ...deps.projects,
        webhookEndpoint: async (_db, _projectId, environment) =>
          endpoint && { ...endpoint, url: environment === "live" ? reached : hanging },
      },
      outbound: {
        async send({ url }) {
          if (sent.push(url) === 4) fourAsked.resolve();
          if (url === reached) liveAsked.resolve();
          else await over.promise;
          return { kind: "answered", status: 200, headers: {}, body: new Uint8Array() };
        },
      },
    };
    for (let count = 0; count < 6; count++) await finalSession();
    const delivery = createDelivery(deps);
    delivery.wake(fixture.projectId);
    await fourAsked.promise;

    const live = await finalSession({ environment: "live" });
    delivery.wake(fixture.projectId);
    await liveAsked.promise;
    assert.deepEqual(sent, [hanging, hanging, hanging, hanging, reached], "more tries at once than one address may have");
    over.resolve();
    await delivery.idle();
    assert.notEqual((await eventOf(live)).delivered_at, null);
  });

  test("a delivered or dead event can be sent again, under its old id", async () => {
    const session = await finalSession();
    await tryDue();
    const { id } = await eventOf(session);
    assert.equal(await createWebhooks(deps).resend(id), true);
    await tryDue();
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers["webhook-id"]),
      [id, id],
    );
    assert.equal(await createWebhooks(deps).resend("evt_unknown"), false);
  });

  test("an event resent after a 410 switches the endpoint on again and arrives (R-349)", async () => {
    receiver.answer = status(410);
    const session = await finalSession();
    await tryDue();
    const { id } = await eventOf(session);
    receiver.answer = status(200);
    assert.equal(await createWebhooks(deps).resend(id), true);
    assert.equal(endpoint?.disabledAt, null);
    await tryDue();
    assert.equal(receiver.received.length, 2);
    assert.ok((await eventOf(session)).delivered_at);
  });

  for (const [tries, code] of [
    [9, 503],
    [10, 503],
    [1, 410],
  ] as const) {
    test(`an event resent while its try ${tries} was under way is sent, whatever that one is answered then: ${code} (R-349)`, async () => {
      const session = await finalSession();
      const { id } = await eventOf(session);
      const before = { tries: tries - 1, next_try_at: sql<Date>`clock_timestamp()` };
      await fixture.database.db.updateTable("webhook_events").set(before).where("id", "=", id).execute();
      const webhooks = createWebhooks(deps);
      receiver.answer = (response) => {
        receiver.answer = status(200);
        void webhooks.resend(id).then(() => status(code)(response));
      };
      await tryDue();
      await tryDue();
      assert.partialDeepStrictEqual(await eventOf(session), { dead_at: null, tries: 1, last_status: "200" });
      assert.equal(endpoint?.disabledAt, null);
      assert.equal(receiver.received.length, 2);
    });
  }

  test("an event that another try has delivered is neither dead nor waiting, however this one failed (R-349)", async () => {
    const session = await finalSession();
    const { id } = await eventOf(session);
    await fixture.database.db.updateTable("webhook_events").set({ tries: 9 }).where("id", "=", id).execute();
    await makeDue(id);
    receiver.answer = (response) => void markDelivered(fixture.database.db, id, "200").then(() => status(503)(response));
    await tryDue();
    assert.partialDeepStrictEqual(await eventOf(session), { tries: 10, dead_at: null, last_status: "200" });
  });

  test("a worker hears of a session's end at once (R-285)", async () => {
    const stop = createWebhooks(deps).startSweep();
    await finalSession();
    await receiver.count(1);
    await stop();
  });

  test("an event whose worker died in mid-try is taken up by the sweep", async () => {
    const session = await finalSession();
    const { id } = await eventOf(session);
    await fixture.database.db
      .updateTable("webhook_events")
      .set({ tries: 1, next_try_at: sql<Date>`clock_timestamp() + interval '30 seconds'` })
      .where("id", "=", id)
      .execute();
    await tryDue();
    assert.equal(receiver.received.length, 0, "a try that may be running was disturbed");
    await makeDue(id);
    const stop = createWebhooks(deps).startSweep();
    await receiver.count(1);
    await stop();
    assert.ok((await eventOf(session)).delivered_at);
  });

  test("sweeping is known to have stopped when no sweep succeeds any more (R-056)", async () => {
    const { sweep, isSweeping } = createDelivery(deps);
    assert.equal(isSweeping(), false, "before the first");
    await sweep();
    clock.advance(80_000);
    assert.equal(isSweeping(), true);
    clock.advance(20_000);
    assert.equal(isSweeping(), false);
    await sweep();
    assert.equal(isSweeping(), true);
  });

  /** Until so many tasks wait for the clock. */
  async function waiting(tasks: number): Promise<void> {
    while (clock.pending < tasks) await new Promise((resolve) => void setImmediate(resolve));
  }

  /** Lets the database see what was due after some time as due now, then lets that time pass for the process. */
  async function pass(ms: number, id: string): Promise<void> {
    await makeDue(id);
    clock.advance(ms);
  }

  test("a try that failed is made again when its time has come, not at the next sweep (R-349)", async () => {
    const stop = createWebhooks(deps).startSweep();
    const session = await finalSession();
    receiver.answer = status(503);
    await receiver.count(1);
    const { id } = await eventOf(session);
    await waiting(2);
    receiver.answer = status(200);
    clock.advance(4_900);
    assert.equal(clock.pending, 2, "woken too early");
    await pass(200, id);
    await receiver.count(2);
    await stop();
    assert.ok((await eventOf(session)).delivered_at);
    assert.equal(clock.pending, 0);
  });

  test("each of many tries that failed is made again at its time (R-349, R-351)", async () => {
    receiver.answer = status(503);
    const sessions = await Promise.all(Array.from({ length: 12 }, () => finalSession()));
    const stop = createWebhooks(deps).startSweep();
    await receiver.count(12);
    await waiting(13);
    for (const session of sessions) await makeDue((await eventOf(session)).id);
    clock.advance(5_100);
    await receiver.count(24);
    await stop();
    assert.equal(clock.pending, 0);
  });

  test("a sweep sees to what another worker left behind and is due before the next one", async () => {
    const session = await finalSession();
    const { id } = await eventOf(session);
    const soon = { tries: 1, next_try_at: sql<Date>`clock_timestamp() + interval '20 seconds'` };
    await fixture.database.db.updateTable("webhook_events").set(soon).where("id", "=", id).execute();
    const stop = createWebhooks(deps).startSweep();
    await waiting(2);
    assert.equal(receiver.received.length, 0);
    await pass(20_100, id);
    await receiver.count(1);
    await stop();
    assert.ok((await eventOf(session)).delivered_at);
  });
});
