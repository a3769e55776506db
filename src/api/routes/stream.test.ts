import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { readdirSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { after, before, test, type TestContext } from "node:test";
import type { FastifyInstance } from "fastify";
import { type Clock, systemClock } from "#src/kernel/clock.ts";
import { ManualClock } from "#src/kernel/testing.ts";
import type { Database } from "#src/platform/index.ts";
import { memoryCounter } from "../access/memory-counter.ts";
import { KEYS, keyWithScope, startTestApi, type TestApi } from "../testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
  await api.app.listen({ host: "127.0.0.1", port: 0 });
});
after(() => api.close());

/** A client of one stream. */
class Reader {
  readonly response: IncomingMessage;
  text = "";
  ended = false;
  #wake = () => {};

  constructor(response: IncomingMessage) {
    this.response = response;
    response.on("data", (chunk: Buffer) => {
      this.text += chunk.toString();
      this.#wake();
    });
    response.on("error", () => {});
    response.on("close", () => {
      this.ended = true;
      this.#wake();
    });
  }

  get events(): { id: string; session: { status: string; is_terminal: boolean } }[] {
    return [...this.text.matchAll(/id: (\d+)\ndata: (.*)\n\n/g)].map(([, id, data]) => ({ id: id!, session: JSON.parse(data!) }));
  }

  /** Of the events that have no name: what a reader of `onmessage` sees. */
  get unnamed(): string[] {
    return this.text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":") && !/^event:/m.test(event));
  }

  get progress(): { session_id: string; step: string; try: number }[] {
    return [...this.text.matchAll(/\n\nevent: progress\ndata: (.*)(?=\n\n)/g)].map(([, data]) => JSON.parse(data!));
  }

  get statuses(): string[] {
    return this.events.map(({ session }) => session.status);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      assert.ok(!this.ended || condition(), `the stream ended with ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

async function open(
  id: string,
  { app = api.app, headers = {} }: { app?: FastifyInstance; headers?: Record<string, string> } = {},
): Promise<Reader> {
  const { port } = app.server.address() as AddressInfo;
  const request = get({
    port,
    host: "127.0.0.1",
    path: `/v1/sessions/${id}/stream`,
    agent: false,
    headers: { authorization: `Bearer ${KEYS.test}`, ...headers },
  });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return new Reader(response);
}

/** Closed with the test, however that ends. */
async function listening(t: TestContext, app: FastifyInstance): Promise<FastifyInstance> {
  t.after(() => app.close());
  await app.listen({ host: "127.0.0.1", port: 0 });
  return app;
}

test("a stream shows the state at once and each change of status, and ends with the final one (R-170 to R-172, R-175, R-179)", async () => {
  const id = await api.createSession();
  const reader = await open(id);
  assert.equal(reader.response.statusCode, 200);
  assert.match(String(reader.response.headers["content-type"]), /^text\/event-stream/);
  const {
    "cache-control": cache,
    "x-accel-buffering": buffering,
    "content-length": length,
    "content-encoding": encoding,
  } = reader.response.headers;
  assert.deepEqual([cache, buffering, length, encoding], ["no-store", "no", undefined, undefined]);
  assert.ok(reader.response.headers["x-request-id"]);

  await reader.until(() => reader.events.length === 1);
  assert.match(reader.text, /^retry: 1000\nid: 0\ndata: \{/);
  assert.deepEqual({ ...reader.events[0]!.session, step: null }, (await api.call("GET", `/v1/sessions/${id}`)).json());

  await api.sessions.claim(id, { owner: "test", callId: "call" });
  await reader.until(() => reader.events.length === 2);
  await api.sessions.apply(id, "charge");
  await api.sessions.apply(id, "approve", { cardBrand: "visa", cardLast4: "4242", processor: {} });
  await reader.until(() => reader.ended);
  assert.deepEqual(reader.statuses, ["PENDING", "COLLECTING", "payment-success"]);
  const ids = reader.events.map((event) => Number(event.id));
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(ids).size, 3);
  assert.deepEqual({ ...reader.events[2]!.session, step: null }, (await api.call("GET", `/v1/sessions/${id}`)).json());
});

test("steps of a call come as events named progress between the unnamed ones, which are as they were; GET tells the step (R-434)", async () => {
  const id = await api.createSession();
  const step = async () => (await api.call("GET", `/v1/sessions/${id}`)).json<{ step: unknown }>().step;
  const [reader, other] = [await open(id), await open(await api.createSession())];
  await reader.until(() => reader.events.length === 1);
  assert.equal(await step(), null);

  await api.sessions.claim(id, { owner: "test", callId: "call" });
  api.sessions.tellProgress(id, { step: "asking_number", try: 1 });
  await reader.until(() => reader.progress.length === 1);
  assert.equal(await step(), "asking_number");
  const late = await open(id);
  await late.until(() => late.progress.length === 1);
  api.sessions.tellProgress(id, { step: "asking_number", try: 2 });
  api.sessions.tellProgress(id, { step: "asking_number", try: 2 });
  api.sessions.tellProgress(id, { step: "confirming", try: 1 });
  await reader.until(() => reader.progress.length === 3);
  assert.equal(await step(), "confirming");
  await api.sessions.apply(id, "charge");
  assert.equal(await step(), "charging", "by the session itself, whatever was told");
  await api.sessions.apply(id, "approve", { processor: {} });
  await reader.until(() => reader.ended);
  assert.equal(await step(), null);
  api.sessions.tellProgress(id, null);

  assert.deepEqual(
    reader.progress,
    [
      { session_id: id, step: "asking_number", try: 1 },
      { session_id: id, step: "asking_number", try: 2 },
      { session_id: id, step: "confirming", try: 1 },
    ],
    "each step and try once",
  );
  assert.deepEqual(late.progress[0], { session_id: id, step: "asking_number", try: 1 });
  assert.match(reader.text, /"COLLECTING".*\n\nevent: progress\ndata: \{"session_id":"[^"]+","step":"asking_number","try":1\}\n\n/);
  assert.deepEqual(
    reader.unnamed.map((event) => /^(?:retry: 1000\n)?id: \d+\ndata: .*"status":"([^"]+)"/.exec(event)?.[1]),
    ["PENDING", "COLLECTING", "payment-success"],
  );
  for (const event of reader.unnamed) assert.ok(!event.includes('"step"'));
  assert.deepEqual(other.progress, []);
  other.response.destroy();
});

const ENDINGS = {
  cancelled: (id: string) => api.sessions.apply(id, "cancel"),
  abandoned: async (id: string) => {
    await api.sessions.claim(id, { owner: "test", callId: "call" });
    await api.sessions.apply(id, "abandon");
  },
  "payment-failed": async (id: string) => {
    await api.sessions.claim(id, { owner: "test", callId: "call" });
    await api.sessions.apply(id, "fail", { errorCode: "attempts_exhausted" });
  },
};
for (const [status, finish] of Object.entries(ENDINGS)) {
  test(`a stream ends with ${status} (R-170, R-171)`, async () => {
    const id = await api.createSession();
    const reader = await open(id);
    await reader.until(() => reader.events.length === 1);
    await finish(id);
    await reader.until(() => reader.ended);
    assert.equal(reader.statuses.at(-1), status);
    assert.ok(reader.text.endsWith("\n\n"));
  });
}

test("a stream ends when the session's time is up, swept or not (R-170, R-195)", async (t) => {
  const app = await listening(t, api.another({ sessionTtlSeconds: 1 }));
  const answer = await app.inject({
    method: "POST",
    url: "/v1/sessions",
    headers: { authorization: `Bearer ${KEYS.test}`, "content-type": "application/json" },
    payload: { project: "shop", caller: "+14155550100", amount: 1, mode: "charge", gateway: "stripe" },
  });
  const reader = await open(answer.json().session_id, { app });
  await reader.until(() => reader.ended);
  assert.deepEqual(reader.statuses, ["PENDING", "expired"]);
});

test("the stream of a finished session has one event, and none for who has seen it, transfer or not (R-173, R-174)", async () => {
  const id = await api.createSession();
  await api.sessions.apply(id, "cancel");
  const first = await open(id);
  await first.until(() => first.ended);
  assert.deepEqual(first.statuses, ["cancelled"]);
  await api.sessions.setTransferStatus(id, "completed");
  const again = await open(id, { headers: { "last-event-id": first.events[0]!.id } });
  await again.until(() => again.ended);
  assert.deepEqual([again.response.statusCode, again.text], [204, ""]);
  const behind = await open(id, { headers: { "last-event-id": "0" } });
  await behind.until(() => behind.ended);
  assert.equal(behind.response.statusCode, 200);
});

test("a comment is sent every 15 s (R-172)", async (t) => {
  const clock = new ManualClock(Date.now());
  const app = await listening(t, api.another({ clock }));
  const reader = await open(await api.createSession(), { app });
  await reader.until(() => reader.events.length === 1);
  clock.advance(15_000);
  await reader.until(() => reader.text.endsWith("\n\n:\n\n"));
  assert.equal(reader.events.length, 1);
  reader.response.destroy();
});

test("a stream ends within a second when its key is revoked or expires, and no other key's does (R-042)", async (t) => {
  const clock = new ManualClock(Date.now());
  const app = await listening(t, api.another({ clock }));
  const id = await api.createSession();
  const [revoked, expired] = ["sessions:read", "sessions:cancel"] as const;
  const change = (scope: string, values: object) =>
    api.database.db.updateTable("api_keys").set(values).where("name", "=", scope.replace(":", "-")).execute();
  await change(expired, { scopes: ["sessions:read"] });
  const bearer = (scope: string) => ({ app, headers: { authorization: `Bearer ${keyWithScope(scope)}` } });
  const readers = [await open(id, { app }), await open(id, bearer(revoked)), await open(id, bearer(expired))];
  const [kept, first, second] = readers as [Reader, Reader, Reader];
  for (const reader of readers) await reader.until(() => reader.events.length === 1);

  await change(revoked, { revoked_at: new Date() });
  clock.advance(1000);
  await first.until(() => first.ended);
  assert.ok(first.text.endsWith(": closing\n\n"));
  assert.deepEqual([kept.ended, second.ended], [false, false]);

  await change(expired, { expires_at: new Date(0) });
  // The look that follows begins when the one before has ended.
  while (!second.ended) {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(kept.ended, false);
  kept.response.destroy();
  await change(revoked, { revoked_at: null });
  await change(expired, { expires_at: null, scopes: ["sessions:cancel"] });
});

test("a stream ends within a second when its key is replaced under its name, or loses the scope (R-042, R-043)", async (t) => {
  const clock = new ManualClock(Date.now());
  const app = await listening(t, api.another({ clock }));
  const id = await api.createSession();
  const keys = [KEYS.test.replace(/.{8}$/, "Replaced"), KEYS.test.replace(/.{8}$/, "Narrowed")];
  const declare = (replaced: object, narrowed: object) =>
    api.projects.applyFile(
      JSON.stringify({
        organizations: [
          {
            slug: "acme",
            api_keys: [
              { name: "replaced", mode: "test", key: keys[0], ...replaced },
              { name: "narrowed", mode: "test", key: keys[1], ...narrowed },
            ],
          },
        ],
      }),
      {},
    );
  await declare({}, {});
  const [first, second] = await Promise.all(keys.map((key) => open(id, { app, headers: { authorization: `Bearer ${key}` } })));
  const readers = [first!, second!];
  for (const reader of readers) await reader.until(() => reader.events.length === 1);
  await declare({ key: KEYS.test.replace(/.{8}$/, "Replaces") }, { scopes: ["sessions:create"] });
  while (readers.some(({ ended }) => !ended)) {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test("a client that leaves takes its watch and its timers along (R-176)", async (t) => {
  const clock = new ManualClock(Date.now());
  let watches = 0;
  const { promise: unwatched, resolve } = Promise.withResolvers<void>();
  const watch = (id: string, onChange: () => void) => {
    watches++;
    const end = api.sessions.watch(id, onChange);
    return () => {
      watches--;
      end();
      resolve();
    };
  };
  const app = await listening(t, api.another({ clock, deps: { sessions: { ...api.sessions, watch } } }));
  const reader = await open(await api.createSession(), { app });
  await reader.until(() => reader.events.length === 1);
  assert.equal(watches, 1);
  assert.ok(clock.pending > 0);
  reader.response.destroy();
  await unwatched;
  assert.deepEqual([watches, clock.pending], [0, 0]);
});

test("2000 clients that come and go leave nothing behind: no descriptor, no timer, no watch, no listener (R-176)", async (t) => {
  const [timers, watches] = [new Set<object>(), new Set<object>()];
  const counted = (set: Set<object>, end: () => void) => {
    const one = {};
    set.add(one);
    return () => {
      set.delete(one);
      end();
    };
  };
  const clock: Clock = {
    ...systemClock,
    after: (ms, task) => {
      const cancel = counted(
        timers,
        systemClock.after(ms, () => (cancel(), task())),
      );
      return cancel;
    },
  };
  const watch = (id: string, onChange: () => void) => counted(watches, api.sessions.watch(id, onChange));
  const app = await listening(
    t,
    api.another({
      clock,
      deps: { sessions: { ...api.sessions, watch }, rateCounter: memoryCounter(clock) },
      settings: { rateLimitPerMinute: 1_000_000 },
    }),
  );
  const standing = timers.size;
  const { port } = app.server.address() as AddressInfo;
  const ids = await Promise.all(Array.from({ length: 20 }, () => api.createSession()));
  const comeAndGo = async (n: number) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`GET /v1/sessions/${ids[n % 20]!}/stream HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${KEYS.test}\r\n\r\n`);
    let text = "";
    while (!text.includes("data: ")) text += String(((await once(socket, "data")) as [Buffer])[0]);
    assert.match(text, /^HTTP\/1.1 200 /);
    // Half of them say that they go, half are just gone.
    if (n % 2) socket.end();
    else socket.resetAndDestroy();
    socket.resume();
    if (!socket.closed) await once(socket, "close");
  };
  const round = async () => {
    await Promise.all(Array.from({ length: 100 }, (_, n) => comeAndGo(n)));
    // The server hears of the last of them in a later turn, and counts and looks at keys behind; what is left behind is waited for without end.
    while (watches.size > 0 || timers.size > standing || (await connectionsOf(app)) > 0)
      await new Promise((resolve) => setImmediate(resolve));
  };
  const state = () => ({
    descriptors: readdirSync("/proc/self/fd").length,
    timers: timers.size,
    watches: watches.size,
    listeners: app.server.eventNames().reduce((sum, name) => sum + app.server.listenerCount(name), 0) + process.eventNames().length,
  });
  await round();
  const base = state();
  for (let n = 0; n < 20; n++) await round();
  const { descriptors, ...rest } = state();
  const { descriptors: before, ...restBefore } = base;
  assert.deepEqual(rest, restBefore);
  assert.equal(base.watches, 0);
  // The database's pool of ten may have grown meanwhile.
  assert.ok(descriptors <= before + 10, `${before} descriptors became ${descriptors}`);
});

const connectionsOf = (app: FastifyInstance) =>
  new Promise<number>((resolve, reject) => app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

test("five streams of one session may be open, a sixth is refused until one ends, and told when to come again (R-062, R-067)", async (t) => {
  const app = await listening(t, api.another({ settings: { rateLimitPerMinute: 100 } }));
  const id = await api.createSession();
  const readers = await Promise.all(Array.from({ length: 5 }, () => open(id, { app })));
  const refused = await open(id, { app });
  assert.equal(refused.response.statusCode, 429);
  assert.equal(refused.response.headers["retry-after"], "5");
  const other = await open(await api.createSession(), { app });
  assert.equal(other.response.statusCode, 200);
  for (const reader of [...readers, other]) reader.response.destroy();
});

test(
  "streams of a final session end at once and take no place, even while places are given back late (R-067, R-174)",
  { timeout: 20_000 },
  async (t) => {
    // The database deletes nothing: what was given back is not known to be.
    const database: Database = { ...api.database, kind: "postgres", batched: () => () => new Promise(() => {}) };
    const app = await listening(
      t,
      api.another({ settings: { rateLimitPerMinute: 100 }, deps: { database, owner: "one", rateCounter: memoryCounter(systemClock) } }),
    );
    await database.db.insertInto("process_leases").values({ owner: "one", roles: "api" }).execute();
    const id = await api.createSession();
    await api.sessions.apply(id, "cancel");
    for (let count = 0; count < 7; count++) {
      const reader = await open(id, { app });
      await reader.until(() => reader.ended);
      assert.deepEqual([reader.response.statusCode, reader.statuses], [200, ["cancelled"]]);
    }
  },
);

test("when the server goes down the streams end between two events (R-178)", async (t) => {
  const app = await listening(t, api.another());
  const reader = await open(await api.createSession(), { app });
  await reader.until(() => reader.events.length === 1);
  await app.close();
  await reader.until(() => reader.ended);
  assert.ok(reader.response.complete);
  assert.ok(reader.text.endsWith("\n\n: closing\n\n"));
});

test("a change made between two reads is shown once, and an older state never after a newer one (R-179)", async () => {
  const id = await api.createSession();
  const readers = await Promise.all([open(id), open(id), open(id)]);
  await api.sessions.claim(id, { owner: "test", callId: "call" });
  await api.sessions.apply(id, "charge");
  await api.sessions.apply(id, "retry");
  await api.sessions.apply(id, "abandon");
  for (const reader of readers) {
    await reader.until(() => reader.ended);
    const order = ["PENDING", "COLLECTING", "abandoned"];
    assert.deepEqual(
      reader.statuses,
      order.filter((status) => reader.statuses.includes(status)),
    );
    assert.equal(reader.statuses.at(-1), "abandoned");
  }
});
