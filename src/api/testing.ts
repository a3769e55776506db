import assert from "node:assert/strict";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { createCheckout } from "#src/checkout/index.ts";
import { type Clock, systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { createKeyring, type Database, firstKeys, silentLog } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { createProjects, type Projects } from "#src/projects/index.ts";
import { createPayments, type Payments } from "#src/payments/index.ts";
import { FakeGateway } from "#src/payments/testing.ts";
import { createWidget, type Widget } from "#src/widget/index.ts";
import { createSessions, type Sessions } from "#src/sessions/index.ts";
import { memoryCounter } from "./access/memory-counter.ts";
import type { ApiDeps, ApiSettings } from "./deps.ts";
import { createApi } from "./server.ts";

/** The API on a database of its own, with two organisations, for the tests of this folder. */

const key = (mode: "test" | "live", name: string) => `svc_${mode}_${name.padEnd(32, "0")}`;
export const KEYS = {
  test: key("test", "acme"),
  live: key("live", "acme"),
  other: key("test", "umbrella"),
  expired: key("test", "expired"),
} as const;
/** A key of acme that has one scope only. */
export const keyWithScope = (scope: string) => key("test", scope.replace(/[^a-z]/g, ""));
export const SCOPES = [
  "sessions:create",
  "sessions:read",
  "sessions:cancel",
  "widget:create",
  "projects:read",
  "integrations:use",
] as const;

const APPLY = {
  organizations: [
    {
      slug: "acme",
      name: "Acme",
      api_keys: [
        { name: "test", mode: "test", key: KEYS.test },
        { name: "live", mode: "live", key: KEYS.live },
        { name: "expired", mode: "test", key: KEYS.expired },
        ...SCOPES.map((scope) => ({ name: scope.replace(":", "-"), mode: "test", key: keyWithScope(scope), scopes: [scope] })),
      ],
      projects: [
        {
          slug: "shop",
          name: "Shop",
          currency: "USD",
          country: "US",
          phone_numbers: ["+15550001111"],
          gateways: {
            stripe: { test: { credentials: { secret_key: "sk_test_x" } }, live: { credentials: { secret_key: "sk_live_x" } } },
          },
        },
        {
          slug: "yen",
          name: "Yen",
          currency: "JPY",
          country: "JP",
          gateways: { stripe: { test: { credentials: { secret_key: "sk_test_x" } } } },
        },
        {
          slug: "platform",
          name: "Platform",
          currency: "USD",
          country: "US",
          gateways: { stripe: { platform: true, test: { credentials: { secret_key: "sk_test_x" } } } },
          voice: { transfer: { allow: ["+44", "sip:*.merchant.example", "sip:pbx.example"] } },
        },
        { slug: "closed", name: "Closed", currency: "USD", country: "US", archived: true },
      ],
    },
    {
      slug: "umbrella",
      name: "Umbrella",
      api_keys: [{ name: "test", mode: "test", key: KEYS.other }],
      projects: [{ slug: "theirs", name: "Theirs", currency: "USD", country: "US" }],
    },
  ],
};

type TestModules = Pick<ApiDeps, "database" | "clock"> & { sessions: Sessions; projects: Projects };
const OWN = { random: systemRandom, owner: "test", log: silentLog };

/** Payments whose gateway does as `gateway` is told. */
export function testPayments({ database, sessions, projects, clock }: TestModules, gateway: FakeGateway): Payments {
  const outbound = { send: async () => assert.fail("no network in this test") };
  return createPayments({ ...OWN, database, sessions, projects, clock, gateways: { stripe: gateway.gateway() }, outbound });
}

/** A widget whose gateway does as `gateway` is told; its key is the same in every process. */
export function testWidget(modules: TestModules, gateway = new FakeGateway()): Widget {
  const payments = testPayments(modules, gateway);
  const { database, sessions, projects, clock } = modules;
  return createWidget({
    ...OWN,
    database,
    sessions,
    projects,
    clock,
    payments,
    key: new Uint8Array(32).fill(9),
    publicUrl: () => "http://127.0.0.1:8080",
  });
}

export interface TestApi {
  app: FastifyInstance;
  database: Database;
  sessions: Sessions;
  projects: Projects;
  /** A request with acme's test key, unless `key` names another one or null for none. */
  call(method: InjectOptions["method"], url: string, options?: CallOptions): Promise<LightMyRequestResponse>;
  /** The id of a new session of acme's shop. */
  createSession(changes?: object): Promise<string>;
  /** Another API on the same data. */
  another(options?: TestOptions): FastifyInstance;
  close(): Promise<void>;
}

export interface CallOptions {
  key?: string | null;
  /** An object is sent as JSON, text and bytes as they are, as application/json unless `headers` say otherwise. */
  body?: object | string | Buffer;
  headers?: Record<string, string>;
  remoteAddress?: string;
}

export interface TestOptions {
  settings?: Partial<ApiSettings>;
  deps?: Partial<ApiDeps>;
  clock?: Clock;
  sessionTtlSeconds?: number;
}

export const BODY = { project: "shop", caller: "+14155550100", amount: 10, mode: "charge", gateway: "stripe" };

export async function startTestApi(options: TestOptions = {}): Promise<TestApi> {
  const database = await testDatabase();
  const keys = firstKeys(createKeyring([new Uint8Array(32).fill(7)]));
  // Live keys need PostgreSQL; here it is only the border between the two modes that is of interest.
  const asServer: Database = { ...database, kind: "postgres" };
  const projects = createProjects({
    database: asServer,
    keys,
    random: systemRandom,
    gateways: GATEWAYS_BUILT,
    simulatorsUrl: () => null,
  });
  await projects.applyFile(JSON.stringify(APPLY), {});
  await database.db
    .updateTable("api_keys")
    .set({ expires_at: new Date(0) })
    .where("name", "=", "expired")
    .execute();
  const sessions = createSessions({ database, clock: systemClock, random: systemRandom, log: silentLog });
  const payments = testPayments({ database, sessions, projects, clock: systemClock }, new FakeGateway());
  await sessions.start({ giveUp: (session) => payments.giveUp(session) });

  const another = ({ settings = {}, deps = {}, clock = systemClock, sessionTtlSeconds = 300 }: TestOptions = {}) =>
    createApi({
      database,
      sessions,
      projects,
      checkout: createCheckout({
        database,
        projects,
        gateways: GATEWAYS_BUILT,
        clock,
        log: silentLog,
        settings: { phoneNumber: null, sessionTtlSeconds, dialsNumbers: false, dialsTls: false, isTrunkHost: () => false },
      }),
      clock,
      random: systemRandom,
      log: silentLog,
      sipUriFor: (id) => `sip:${id}@127.0.0.1:5060`,
      probes: { sip: async () => true, worker: async () => true },
      settings: {
        baseUrl: "http://127.0.0.1:8080",
        version: "0.0.0",
        rateLimitPerMinute: 0,
        trustedProxies: [],
        ...settings,
      },
      widget: testWidget({ database, sessions, projects, clock }),
      // A database counts by its own clock, which no test sets.
      ...(clock === systemClock ? {} : { rateCounter: memoryCounter(clock) }),
      ...deps,
    });
  const app = another(options);
  const call = callerOf(app);

  return {
    app,
    database,
    sessions,
    projects,
    call,
    another,
    createSession: async (changes = {}) => {
      const response = await call("POST", "/v1/sessions", { body: { ...BODY, ...changes } });
      return response.json<{ session_id: string }>().session_id;
    },
    close: async () => {
      await app.close();
      await sessions.stop();
      await database.close();
    },
  };
}

export function callerOf(app: FastifyInstance): TestApi["call"] {
  return (method, url, { key = KEYS.test, body, headers = {}, remoteAddress } = {}) =>
    app.inject({
      method: method!,
      url,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: body }),
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
    });
}
