import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openTelephone, type Telephone } from "#softphone/caller.ts";
import { startReceiver } from "#src/cli/receiver.ts";
import { startSimulators } from "#simulators/index.ts";
import { ask, openStream, type Shown } from "./processes.ts";
import { type Fleet, openFleet } from "./fleet.ts";
import { API_KEY, organization, PROMPT_CACHE, type Serving, stripeAt, WEBHOOK_SECRET } from "./installation.ts";
import { during, keyedPayment } from "./paying.ts";
import { chargesOf, shared } from "./service.ts";

/** SIGTERM while a card is being charged: what was begun is finished, nothing new begins. */

const simulators = await shared(startSimulators({ port: 0, host: "127.0.0.1" }));
const telephone = await shared(openTelephone(PROMPT_CACHE));

/** The simulators behind a proxy that keeps back the answers to charges until it is released: the gateway has acted by then. */
async function slowGateway(): Promise<{ url: string; charged: Promise<void>; open(): void; close(): void }> {
  const [charged, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const headers = Object.entries(request.headers).filter(([name]) => !["host", "connection", "content-length"].includes(name));
      const answer = await fetch(simulators.url + request.url!, {
        method: request.method!,
        headers: Object.fromEntries(headers) as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const body = await answer.text();
      if (request.method === "POST" && request.url!.endsWith("/v1/payment_intents")) {
        charged.resolve();
        await opened.promise;
      }
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" }).end(body);
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    charged: charged.promise,
    open: opened.resolve,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Resolves when the process has said that it drains, with the log's line. */
const drainingOf = ({ child }: Serving) =>
  new Promise<Shown>((done) =>
    createInterface({ input: child.stderr }).on("line", (line) => {
      // Every line of the log is one object.
      const shown = JSON.parse(line) as Shown;
      if (shown["event"] === "draining") done(shown);
    }),
  );

interface Fixture {
  fleet: Fleet;
  service: Serving;
  gateway: Awaited<ReturnType<typeof slowGateway>>;
  /** A session in mid-charge: the gateway has taken the money, its answer is on the way. */
  paying: { id: string; call: ReturnType<Telephone["call"]>; drop(): void };
  send(method: string, path: string, body?: object): Promise<{ status: number; body: Shown }>;
  create: () => Promise<{ session_id: string; sip_uri: string }>;
  /** Resolves with the first webhook. */
  webhook: Promise<Shown>;
}

async function inMidCharge(act: (fixture: Fixture) => Promise<void>): Promise<void> {
  const [fleet, gateway] = [await openFleet(), await slowGateway()];
  const webhook = Promise.withResolvers<Shown>();
  const receiver = await startReceiver(0, WEBHOOK_SECRET, ({ body }) => webhook.resolve(body as Shown));
  try {
    const service = await fleet.start("api,voice,worker", { RATE_LIMIT_PER_MINUTE: "0" });
    await fleet.apply(organization({ status_webhook: { url: receiver.url, secret: WEBHOOK_SECRET }, gateways: stripeAt(gateway.url) }));
    const send: Fixture["send"] = (method, path, body) => ask(service.baseUrl + path, method, API_KEY, body ? { body } : {});
    const create = async () => {
      const order = { project: "shop", caller: "+14155550100", amount: "49.95", mode: "charge", gateway: "stripe" };
      const { status, body } = await send("POST", "/v1/sessions", order);
      assert.equal(status, 201, JSON.stringify(body));
      return body as { session_id: string; sip_uri: string };
    };
    const { session_id: id, sip_uri: target } = await create();
    const caller = new AbortController();
    const call = telephone.call({
      target,
      // On a busy machine the last key may come before the question it answers.
      turns: [...keyedPayment(), { do: "confirm if asked" }],
      signal: caller.signal,
    });
    await during(call, gateway.charged);
    await act({ fleet, service, gateway, paying: { id, call, drop: () => caller.abort() }, send, create, webhook: webhook.promise });
    await call.catch(() => undefined);
  } finally {
    gateway.open();
    await fleet.close();
    await receiver.close();
    gateway.close();
  }
}

test("SIGTERM in mid-charge: new calls get 503, the charge and the call finish, streams end between events, status 0, the webhook goes out (R-178, R-292)", () =>
  inMidCharge(async ({ fleet, service, gateway, paying, create, webhook }) => {
    const waiting = await create();
    const [watchPaying, watchWaiting] = await Promise.all(
      [paying.id, waiting.session_id].map((id) => openStream(`${service.baseUrl}/v1/sessions/${id}/stream`, API_KEY)),
    );
    const draining = drainingOf(service);
    const exit = service.end("SIGTERM");
    assert.partialDeepStrictEqual(await draining, { level: "info", count: 1, ms: 120_000 });

    const refused = await telephone.call({
      target: waiting.sip_uri,
      from: "sip:+15555550101@127.0.0.1",
      turns: [],
    });
    assert.deepEqual([refused.answered, refused.status], [false, 503]);
    assert.equal(service.child.exitCode, null, "it waits for the charge");

    gateway.open();
    await watchPaying!.until("payment-success");
    const { endedBy, prompts } = await paying.call;
    assert.equal(endedBy, "service");
    assert.ok(
      prompts.some((prompt) => prompt.includes("approved")),
      prompts.join(" / "),
    );
    assert.match(await watchWaiting!.ended, /\n\n: closing\n\n$/);
    assert.deepEqual(
      watchWaiting!.shown.map(({ status }) => status),
      ["PENDING"],
    );
    assert.equal(await exit, 0);
    assert.equal((await chargesOf(simulators.url, paying.id)).length, 1);

    // Whichever of the two has sent it.
    const next = await fleet.start("api,voice,worker");
    assert.partialDeepStrictEqual(await webhook, { event: "payment.success", session_id: paying.id });
    assert.equal(await next.end(), 0);
  }));

for (const second of ["SIGTERM", "SIGINT"] as const) {
  test(`${second} after SIGTERM ends the process at once, in mid-charge (R-292)`, () =>
    inMidCharge(async ({ service, paying }) => {
      const draining = drainingOf(service);
      const exit = service.end("SIGTERM");
      await draining;
      // Half a second must lie between two of the same: until then it may be the first one, sent on by npm.
      const again = setInterval(() => service.child.kill(second), 50);
      assert.equal(await exit, 1);
      clearInterval(again);
      paying.drop();
    }));
}

test("a process with nothing to do ends at once with status 0", async () => {
  const fleet = await openFleet();
  try {
    const service = await fleet.start("api,voice,worker");
    assert.equal(await service.end(), 0);
  } finally {
    await fleet.close();
  }
});
