import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { Client } from "pg";
import { startRedis, withoutRedis } from "#src/api/access/testing.ts";
import { openTelephone, type Telephone } from "#softphone/caller.ts";
import { startSimulators, type Simulators } from "#simulators/index.ts";
import { freePort } from "../free-port.ts";
import { ask, openStream, type Shown } from "./processes.ts";
import { type Fleet, openFleet } from "./fleet.ts";
import { API_KEY, organization, PROMPT_CACHE, run, type Serving, stripeAt, WEBHOOK_SECRET } from "./installation.ts";
import { startKamailio, withoutKamailio } from "./kamailio.ts";
import { keyedPayment } from "./paying.ts";

/** Two processes with the interface, one with the telephone, one worker, one PostgreSQL: to a merchant they are one. */

const withoutPostgres = process.env["TEST_DATABASE_URL"]
  ? false
  : "needs PostgreSQL (TEST_DATABASE_URL): the embedded database serves one process";

describe("many processes as one", { skip: withoutPostgres }, () => {
  let fleet: Fleet;
  let simulators: Simulators;
  let telephone: Telephone;
  let database: Client;
  let receiver: Receiver;
  let [a, b, voice, worker]: Serving[] = [];
  /** Where process A really listens: it calls itself by its BASE_URL. */
  let addressOfA: string;

  before(async () => {
    [fleet, simulators, telephone, receiver] = await Promise.all([
      openFleet(),
      startSimulators({ port: 0, host: "127.0.0.1" }),
      openTelephone(PROMPT_CACHE),
      startReceiver(),
    ]);
    const [portOfA, sipPort] = [await freePort(), await freePort()];
    addressOfA = `http://127.0.0.1:${portOfA}`;
    const common = { TRUSTED_PROXIES: "127.0.0.1/32", SIP_PORT: String(sipPort) };
    // All at once on an empty database, the apply file among them: each finds the migrations to be run.
    [a, b, voice, worker] = await Promise.all([
      fleet.start("api", { ...common, PORT: String(portOfA), BASE_URL: "http://pay.example" }),
      fleet.start("api", common),
      fleet.start("voice", common),
      fleet.start("worker", common),
      fleet.apply(acme()),
    ]);
    database = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    await database.connect();
  });

  after(async () => {
    await database?.end();
    await fleet?.close();
    receiver?.close();
    await telephone?.close();
    await simulators?.close();
  });

  const acme = (project: object = {}, keys?: object[]) =>
    organization(
      { country: "US", status_webhook: { url: receiver.url, secret: WEBHOOK_SECRET }, gateways: stripeAt(simulators.url), ...project },
      keys,
    );

  let clients = 0;
  /** Each request as if from another address, so that none meets another's limit. */
  const otherAddress = () => ({ "x-forwarded-for": `198.51.${100 + Math.floor(clients / 250)}.${1 + (clients++ % 250)}` });
  type Where = "A" | "B";
  const urlOf = (where: Where) => (where === "A" ? addressOfA : b!.baseUrl);
  const send = (
    where: Where,
    method: string,
    path: string,
    { body, headers = {}, key = API_KEY }: { body?: object; headers?: object; key?: string } = {},
  ) => ask(urlOf(where) + path, method, key, { ...(body && { body }), headers: { ...otherAddress(), ...headers } });
  const order = { project: "shop", caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };
  const create = async (where: Where, fields: object = {}) => {
    const { status, body } = await send(where, "POST", "/v1/sessions", { body: { ...order, ...fields } });
    assert.equal(status, 201, JSON.stringify(body));
    return body as { session_id: string; sip_uri: string; phone_number: string | null };
  };
  const cancel = (where: Where, id: string) => send(where, "POST", `/v1/sessions/${id}/cancel`);
  const read = async (where: Where, id: string) => (await send(where, "GET", `/v1/sessions/${id}`)).body;
  const stream = (where: Where, id: string) => openStream(`${urlOf(where)}/v1/sessions/${id}/stream`, API_KEY, otherAddress());

  test("processes that start at once on an empty database all come up, each migration has run once, and each says what it has", async () => {
    const { rows } = await database.query<{ name: string; count: string }>("select name, count(*) from migrations group by name");
    assert.ok(rows.length > 0);
    assert.ok(rows.every(({ count }) => count === "1"));
    const health = async (where: Where) => (await send(where, "GET", "/health")).body;
    for (const where of ["A", "B"] as const)
      assert.partialDeepStrictEqual(await health(where), { status: "ok", checks: { database: "ok", sip: "off", worker: "off" } });
    assert.deepEqual([a!.baseUrl, a!.sip, worker!.sip], ["http://pay.example", null, null]);
    const { sip_uri, session_id } = await create("A");
    assert.equal(sip_uri, `sip:${session_id}@127.0.0.1:${voice!.sip!.port}`);
  });

  test("a process without the interface tells its health and its own metrics on HOST and PORT, and nothing else (R-056, R-057)", async () => {
    const ask = (process: Serving, path: string, headers = {}) => fetch(process.baseUrl + path, { headers });
    for (const [process, checks, gauge] of [
      [voice!, { database: "ok", sip: "ok", worker: "off" }, /^voicetill_calls_active 0$/m],
      [worker!, { database: "ok", sip: "off", worker: "ok" }, /^process_resident_memory_bytes [1-9]/m],
    ] as const) {
      assert.partialDeepStrictEqual(await (await ask(process, "/health")).json(), { status: "ok", checks });
      assert.equal((await ask(process, "/health/live")).status, 200);
      assert.match(await (await ask(process, "/metrics")).text(), gauge);
      assert.equal((await ask(process, "/metrics", { "x-forwarded-for": "203.0.113.9" })).status, 404);
      assert.equal((await ask(process, "/v1/projects")).status, 404);
    }
  });

  test("a process without the interface whose PORT is taken works all the same, and says that it has no health to ask for", async () => {
    const second = await fleet.start("worker", { PORT: new URL(worker!.baseUrl).port });
    assert.equal(second.baseUrl, "");
    assert.match(second.output(), /"event":"status_not_served"/);
    assert.equal(await second.end("SIGTERM"), 0);
  });

  test("the limit of 20 a minute is one limit over both (R-060, R-063)", async () => {
    const headers = { "x-forwarded-for": "203.0.113.50" };
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => send(n % 2 === 0 ? "A" : "B", "GET", "/v1/projects", { headers })),
    );
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    assert.deepEqual([count(200), count(429)], [20, 10]);
    const wrong = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        send(n % 2 === 0 ? "A" : "B", "GET", "/v1/auth/check", {
          key: `svc_test_${"x".repeat(32)}`,
          headers: { "x-forwarded-for": "203.0.113.51" },
        }),
      ),
    );
    assert.deepEqual(
      [401, 429].map((wanted) => wrong.filter(({ status }) => status === wanted).length),
      [10, 6],
    );
  });

  test("what one process answered, the other reads at once (R-163)", async () => {
    for (let round = 0; round < 20; round++) {
      const [here, there] = round % 2 === 0 ? (["A", "B"] as const) : (["B", "A"] as const);
      const caller = `+1415555${1000 + round}`;
      const { session_id } = await create(here, { caller });
      assert.equal((await read(there, session_id))["status"], "PENDING");
      assert.equal((await send(there, "GET", `/v1/sessions?caller=${encodeURIComponent(caller)}`)).body["session_id"], session_id);
      assert.equal((await cancel(there, session_id)).status, 204);
      assert.equal((await read(here, session_id))["status"], "cancelled");
    }
  });

  test("a stream on one shows what happens through the other, and ends (R-170)", async (t) => {
    const { session_id } = await create("A");
    const watching = await stream("A", session_id);
    const started = performance.now();
    assert.equal((await cancel("B", session_id)).status, 204);
    await watching.until("cancelled");
    t.diagnostic(`seen ${Math.round(performance.now() - started)} ms after the request was sent`);
    await watching.ended;
    assert.deepEqual(
      watching.shown.map(({ status }) => status),
      ["PENDING", "cancelled"],
    );
  });

  test("two cancels at once on two processes: one 204, one 409, every time (R-184)", async () => {
    for (let round = 0; round < 20; round++) {
      const { session_id } = await create(round % 2 === 0 ? "A" : "B");
      const answers = await Promise.all([cancel("A", session_id), cancel("B", session_id)]);
      assert.deepEqual(
        answers.map(({ status }) => status).sort((one, other) => one - other),
        [204, 409],
      );
    }
  });

  test("a cancel through one ends what the other shows and the call on the third (R-181)", async () => {
    const { session_id, sip_uri } = await create("A");
    const watching = await stream("A", session_id);
    const calling = telephone.call({
      target: sip_uri,
      turns: [{ do: "wait for", text: "payment line" }],
    });
    await watching.until("COLLECTING");
    assert.equal((await cancel("B", session_id)).status, 204);
    await watching.until("cancelled");
    const { answered, endedBy } = await calling;
    assert.deepEqual([answered, endedBy], [true, "service"]);
    await watching.ended;
  });

  test(
    "behind Kamailio two voice processes share the calls; one is killed: its sessions end, and new calls go on at the other (R-181, R-286)",
    { skip: withoutKamailio },
    async () => {
      const second = await fleet.start("voice", { TRUSTED_PROXIES: "127.0.0.1/32" });
      const balancer = await startKamailio([voice!.sip!.port, second.sip!.port]);
      const ends = new AbortController();
      try {
        const target = (id: string) => `sip:${id}@127.0.0.1:${balancer.port}`;
        const nodeOf = async (id: string) => {
          const { rows } = await database.query<{ claimed_by: string }>("select claimed_by from sessions where id = $1", [id]);
          return rows[0]!.claimed_by.includes(`-${second.child.pid}-`) ? second : voice!;
        };
        /** A caller who listens, and says nothing. */
        const listener = async () => {
          const { session_id: id } = await create("A");
          const watching = await stream("A", id);
          const call = telephone.call({ target: target(id), turns: [{ do: "wait for", text: "payment line" }], signal: ends.signal });
          call.catch(() => undefined);
          await watching.until("COLLECTING");
          return { id, watching, call, node: await nodeOf(id) };
        };
        const calls: Awaited<ReturnType<typeof listener>>[] = [];
        const at = (node: Serving) => calls.filter((call) => call.node === node);
        // Which process a call goes to is drawn by its Call-ID.
        while (at(voice!).length < 1 || at(second).length < 2) calls.push(await listener());

        const cancelled = async (where: Where, { id, call }: (typeof calls)[number]) => {
          assert.equal((await cancel(where, id)).status, 204);
          assert.equal((await call).endedBy, "service");
        };
        await Promise.all([cancelled("A", at(second)[0]!), cancelled("B", at(voice!)[0]!)]);

        const [, left] = at(second);
        assert.equal(await second.end("SIGKILL"), null);
        // Another process may end them once the lease has run out for sure: that time is over now.
        await database.query("update process_leases set heartbeat_at = heartbeat_at - interval '1 minute' where owner like $1", [
          `%-${second.child.pid}-%`,
        ]);
        await database.query("update sessions set updated_at = updated_at - interval '1 minute' where id = $1", [left!.id]);
        await Promise.all([
          left!.watching.until("abandoned"),
          ...[1, 2].map(async () => {
            const { session_id: id } = await create("B");
            const { answered } = await telephone.call({ target: target(id), turns: [...keyedPayment(), { do: "confirm if asked" }] });
            assert.deepEqual([answered, (await read("A", id))["status"], await nodeOf(id)], [true, "payment-success", voice]);
          }),
        ]);
      } finally {
        ends.abort();
        await balancer.close();
        await second.end("SIGKILL");
      }
    },
  );

  test("a payment made by telephone on one process is told by the others, its steps too, and its webhook is sent once (R-163, R-349, R-434)", async () => {
    const { session_id, sip_uri } = await create("B");
    const watching = await stream("A", session_id);
    const { answered } = await telephone.call({
      target: sip_uri,
      turns: keyedPayment(),
    });
    assert.equal(answered, true);
    await watching.until("payment-success");
    assert.deepEqual(
      watching.progress.map(({ step }) => step),
      ["asking_number", "asking_expiry", "asking_cvv", "asking_zip", "confirming", "charging"],
    );
    assert.equal((await read("B", session_id))["status"], "payment-success");
    const [event] = await receiver.of(session_id, 1);
    assert.equal(event!["event"], "payment.success");
  });

  test("posts with one Idempotency-Key to both at once make one session (R-144)", async () => {
    for (let round = 0; round < 10; round++) {
      const headers = { "idempotency-key": `round ${round}` };
      const post = (where: Where) =>
        send(where, "POST", "/v1/sessions", { body: { ...order, caller: `+1415556${1000 + round}` }, headers });
      const answers = await Promise.all([post("A"), post("B"), post("A"), post("B")]);
      const made = answers.filter(({ status }) => status === 201);
      assert.ok(made.length > 0);
      assert.ok(
        answers.every(({ status }) => status === 201 || status === 409),
        answers.map(({ status }) => status).join(),
      );
      assert.equal(new Set(made.map(({ body }) => body["session_id"])).size, 1);
      const later = await post(round % 2 === 0 ? "A" : "B");
      assert.deepEqual([later.status, later.headers.get("idempotent-replayed")], [201, "true"]);
      assert.equal(later.body["session_id"], made[0]!.body["session_id"]);
      const { rows } = await database.query("select id from sessions where caller = $1", [`+1415556${1000 + round}`]);
      assert.equal(rows.length, 1);
    }
  });

  /** Repeats `ask` until `isDone`; returns how long after now the last request was sent that was still answered the old way, ms. */
  async function lastStale(request: () => Promise<unknown>, isNew: (answer: never) => boolean): Promise<number> {
    const started = performance.now();
    let stale = 0;
    for (;;) {
      const sent = performance.now() - started;
      if (isNew((await request()) as never)) return stale;
      stale = sent;
      assert.ok(sent < 30_000, "it never changed");
    }
  }

  test("a key made by the apply file works in both; replaced, the old one is refused in both within a second (R-042)", async (t) => {
    const [old, next] = ["svc_test_RollMe00000000000000000000000001", "svc_test_RollMe00000000000000000000000002"];
    const keys = (key: string) => acme({}, [{ name: "rolled", mode: "test", key }]);
    const statusOf = async (where: Where, key: string) => (await send(where, "GET", "/v1/auth/check", { key })).status;
    await fleet.apply(keys(old));
    for (const where of ["A", "B"] as const) assert.equal(await statusOf(where, old), 200);
    await fleet.apply(keys(next));
    const stale = await Promise.all(
      (["A", "B"] as const).map((where) =>
        lastStale(
          () => statusOf(where, old),
          (status: number) => status === 401,
        ),
      ),
    );
    t.diagnostic(`last answered ${stale.map(Math.round).join(" and ")} ms after the change`);
    // Whatever the load: a request that is sent a second after the change meets no older answer.
    assert.ok(
      stale.every((ms) => ms < 1000),
      stale.join(),
    );
    for (const where of ["A", "B"] as const) assert.equal(await statusOf(where, next), 200);
  });

  test("a key made by command works in both; revoked by command, it is refused in both within a second (R-042)", async (t) => {
    const { key } = await fleet.json<{ key: string }>("keys", "create", "--org", "acme", "--name", "short-lived", "--mode", "test");
    /** Asks until the key is refused; answers when the last request was sent that was still served. */
    const lastServed = async (where: Where) => {
      for (let served = 0; ;) {
        const sent = Date.now();
        const { status } = await send(where, "GET", "/v1/auth/check", { key });
        if (status === 401) return served;
        assert.equal(status, 200);
        served = sent;
      }
    };
    const asking = [lastServed("A"), lastServed("B")];
    await fleet.json("keys", "revoke", "short-lived");
    const { rows } = await database.query<{ at: Date }>("select revoked_at as at from api_keys where name = 'short-lived'");
    const late = (await Promise.all(asking)).map((served) => served - rows[0]!.at.getTime());
    t.diagnostic(`last served ${late.join(" and ")} ms after it was revoked`);
    // Whatever the load: a request that is sent a second later meets no older answer.
    assert.ok(
      late.every((ms) => ms < 1000),
      late.join(),
    );
  });

  test("settings changed by an apply file are in force in all: sessions, gateways, webhooks", async () => {
    const elsewhere = await startReceiver();
    try {
      await fleet.apply(
        acme({ phone_numbers: ["+15550001111"], currency: "EUR", status_webhook: { url: elsewhere.url, secret: WEBHOOK_SECRET } }),
      );
      for (const where of ["A", "B"] as const) {
        const stale = await lastStale(
          () => create(where),
          ({ phone_number }: Shown) => phone_number === "+15550001111",
        );
        assert.ok(stale < 1000, String(stale));
        const { session_id } = await create(where);
        assert.equal((await read("B", session_id))["currency"], "EUR");
        assert.equal((await cancel(where, session_id)).status, 204);
        assert.equal((await elsewhere.of(session_id, 1)).length, 1);
        assert.equal(receiver.count(session_id), 0);
      }
    } finally {
      await fleet.apply(acme({ phone_numbers: [], currency: "USD" }));
      elsewhere.close();
    }
  });

  test("two workers send each webhook once (R-349, R-353)", async () => {
    const second = await fleet.start("worker");
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await create(n % 2 === 0 ? "A" : "B")).session_id);
    await Promise.all(ids.map((id, n) => cancel(n % 2 === 0 ? "B" : "A", id)));
    for (const id of ids) await receiver.of(id, 1);
    await second.end();
    const { rows } = await database.query<{ tries: number; delivered: boolean }>(
      "select tries, delivered_at is not null as delivered from webhook_events where session_id = any($1)",
      [ids],
    );
    assert.equal(rows.length, 20);
    assert.ok(ids.every((id) => receiver.count(id) === 1));
    assert.ok(rows.every(({ tries }) => tries === 1));
  });

  test("a worker killed with kill -9 in mid-delivery leaves the webhook to the next one, and the session as it was (R-286, R-352)", async () => {
    const { session_id } = await create("A");
    const held = receiver.holdNext();
    assert.equal((await cancel("B", session_id)).status, 204);
    await held;
    assert.equal(await worker!.end("SIGKILL"), null);
    // Nobody else takes the event for half a minute, in case its worker lives: that time is over now.
    await database.query("update webhook_events set next_try_at = clock_timestamp() where session_id = $1 and delivered_at is null", [
      session_id,
    ]);
    worker = await fleet.start("worker");
    const [first, again] = await receiver.of(session_id, 2);
    assert.deepEqual(again, first);
    assert.equal((await read("A", session_id))["status"], "cancelled");
  });

  test("a failing receiver never changes a session, and there is one event for each (R-352, R-353)", async () => {
    const before = receiver.answering(500);
    const sessions = await Promise.all([create("A"), create("B"), create("A")]);
    for (const { session_id } of sessions) assert.equal((await cancel("B", session_id)).status, 204);
    const shown = await Promise.all(sessions.map(({ session_id }) => read("A", session_id)));
    await Promise.all(sessions.map(({ session_id }) => receiver.of(session_id, 1)));
    receiver.answering(before);
    assert.deepEqual(await Promise.all(sessions.map(({ session_id }) => read("B", session_id))), shown);
    const { rows } = await database.query("select session_id from webhook_events where session_id = any($1)", [
      sessions.map(({ session_id }) => session_id),
    ]);
    assert.equal(rows.length, 3);
  });

  test(
    "with REDIS_URL the limit is counted there, by whichever process; without Redis requests are still served (R-060, R-063)",
    { skip: withoutRedis },
    async () => {
      const redis = await startRedis(["--requirepass", "hunter2"]);
      try {
        const env = { TRUSTED_PROXIES: "127.0.0.1/32", REDIS_URL: `redis://:hunter2@127.0.0.1:${redis.port}` };
        const pair = await Promise.all([fleet.start("api", env), fleet.start("api", env)]);
        const statuses = (address: string, requests: number) =>
          Promise.all(
            Array.from({ length: requests }, (_, n) =>
              ask(`${pair[n % 2]!.baseUrl}/v1/projects`, "GET", API_KEY, { headers: { "x-forwarded-for": address } }).then(
                ({ status }) => status,
              ),
            ),
          );
        const count = (all: number[], wanted: number) => all.filter((status) => status === wanted).length;
        const shared = await statuses("203.0.113.60", 60);
        // Each process alone would serve twenty. Where Redis answers too late on a busy machine, it counts some for itself.
        assert.ok(count(shared, 200) >= 20 && count(shared, 200) < 40, shared.join(" "));
        assert.equal(count(shared, 200) + count(shared, 429), 60);
        const { rows } = await database.query("select bucket from token_buckets where bucket like '%203.0.113.60'");
        assert.equal(rows.length, 0);

        await redis.stop();
        const alone = await statuses("203.0.113.61", 30);
        assert.equal(count(alone, 200), 30);
        for (const { baseUrl, output } of pair) {
          assert.match(await (await fetch(`${baseUrl}/metrics`)).text(), /^voicetill_rate_limit_fallback_total [1-9]/m);
          const lost = output().match(/"event":"redis_lost"/g)?.length ?? 0;
          assert.ok(lost === 1 || lost === 2, `told ${lost} times`);
          assert.doesNotMatch(output(), /hunter2/);
        }
        await Promise.all(pair.map((started) => started.end()));
      } finally {
        await redis.close();
      }
    },
  );

  test("a process that drains lets the other serve: its streams end between two events, and it ends with status 0 (R-178)", async () => {
    const { session_id } = await create("B");
    const [onA, onB] = [await stream("A", session_id), await stream("B", session_id)];
    const exit = a!.end();
    assert.match(await onA.ended, /\n\n: closing\n\n$/);
    assert.equal(await exit, 0);
    assert.equal((await cancel("B", session_id)).status, 204);
    await onB.until("cancelled");
    assert.equal(onA.shown.length, 1);
  });
});

test("commands run beside the processes: migrate finds nothing to do", { skip: withoutPostgres }, async () => {
  const fleet = await openFleet();
  try {
    const results = await Promise.all([run(["migrate"], fleet.env), run(["migrate"], fleet.env), run(["migrate"], fleet.env)]);
    assert.deepEqual(
      results.map(({ status }) => status),
      [0, 0, 0],
      results.map(({ stderr }) => stderr).join(),
    );
  } finally {
    await fleet.close();
  }
});

interface Receiver {
  url: string;
  /** Resolves with the events of the session once there are so many. */
  of(sessionId: string, count: number): Promise<Shown[]>;
  count(sessionId: string): number;
  /** The next request is taken and never answered; resolves when it is there. */
  holdNext(): Promise<void>;
  /** Answers from now on with this status; the one before. */
  answering(status: number): number;
  close(): void;
}

/** A merchant's receiver that keeps what came, by session. */
async function startReceiver(): Promise<Receiver> {
  const events: Shown[] = [];
  const arrived = new EventTarget();
  let hold: (() => void) | null = null;
  let status = 204;
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      events.push(JSON.parse(Buffer.concat(chunks).toString()) as Shown);
      if (hold) hold();
      else response.writeHead(status).end();
      hold = null;
      arrived.dispatchEvent(new Event("event"));
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const eventsOf = (sessionId: string) => events.filter((event) => event["session_id"] === sessionId);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async of(sessionId, count) {
      while (eventsOf(sessionId).length < count) await once(arrived, "event");
      return eventsOf(sessionId);
    },
    count: (sessionId) => eventsOf(sessionId).length,
    holdNext: () => new Promise((done) => (hold = done)),
    answering(next) {
      const before = status;
      status = next;
      return before;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
