import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { startSimulators } from "#simulators/index.ts";
import { API_KEY, organization, stripeAt } from "./installation.ts";
import { openFleet } from "./fleet.ts";
import { nonceIn, type WidgetMade } from "./paying.ts";
import { ask } from "./processes.ts";
import { findInMemory, formsOf } from "./process-memory.ts";
import { shared } from "./service.ts";

/** What the memory of the service holds of a card once the widget's request was answered (S-60). The simulators run elsewhere. */

const simulators = await shared(startSimulators({ port: 0, host: "127.0.0.1" }));
const fleet = await shared(openFleet());
/** A number in a buffer of the process, as one that was forgotten there would be. */
const PLANTED = "4532015112830366";
const CODE = "8317";
/** What all the numbers here begin with. */
const PREFIX = "37271234";
const JSON_TYPE = "Content-Type: application/json\r\n";
const plant = `globalThis.planted=Buffer.from('${Buffer.from(PLANTED).toString("base64")}','base64')`;
const service = await fleet.start("api,worker", {
  RATE_LIMIT_PER_MINUTE: "10000",
  NODE_OPTIONS: `--import=data:text/javascript,${plant}`,
});
after(() => service.end());
await fleet.apply(organization(stripe()));

function stripe() {
  return { gateways: stripeAt(simulators.url) };
}

async function createWidget(): Promise<WidgetMade> {
  const { status, body } = await ask(`${service.baseUrl}/v1/widget-sessions`, "POST", API_KEY, {
    body: { project: "shop", amount_cents: 4995, gateway: "stripe" },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body as unknown as WidgetMade;
}

interface Changes {
  session?: string;
  nonce?: string;
  /** Headers in place of Content-Length and Content-Type. */
  headers?: string;
}

/** A charge of a new session: its head, and the body that goes with it. */
async function chargeOf(number: string, { session, nonce, headers }: Changes = {}): Promise<[head: string, body: string]> {
  const { session_id, widget_url } = await createWidget();
  const own = nonce ?? nonceIn(await (await fetch(widget_url)).text()) ?? "";
  const body = JSON.stringify({ card: { number, exp_month: "12", exp_year: "2060", cvv: CODE, postal_code: "94105" } });
  const head =
    `POST /v1/widget-sessions/${session ?? session_id}/charge HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\n` +
    `X-Widget-Nonce: ${own}\r\n${headers ?? `${JSON_TYPE}Content-Length: ${body.length}\r\n`}\r\n`;
  return [head, body];
}

/** Addresses of loopback, so that only the case that wants it meets the limit of charges. */
let addresses = 2;

async function opened(): Promise<Socket> {
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect({ port: Number(port), host: hostname, localAddress: `127.0.0.${addresses++}`, noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Writes one packet, and lets it arrive by itself. */
async function write(socket: Socket, text: string): Promise<void> {
  socket.write(text);
  await ask(`${service.baseUrl}/health/live`, "GET", API_KEY);
}

/** The status of the next response on this connection. */
async function statusOf(socket: Socket): Promise<number> {
  const [text] = (await once(socket, "data")) as [Buffer];
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text.toString("latin1"))?.[1]);
}

/** Sends the parts, each in a packet of its own. */
async function send(...parts: string[]): Promise<number> {
  const socket = await opened();
  const status = statusOf(socket);
  for (const part of parts) await write(socket, part);
  return await status.finally(() => socket.destroy());
}

const whole = async (number: string, changes?: Changes) => send((await chargeOf(number, changes)).join(""));
const UNKNOWN = "00000000-0000-4000-8000-000000000000";
const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** What may become of a charge's request, with the status; null where there is no response. */
const CASES: Record<string, [status: number | null, send: (number: string) => Promise<number | null>]> = {
  paid: [200, (number) => whole(number)],
  "in several packets": [
    200,
    async (number) => {
      const [head, body] = await chargeOf(number);
      return send(head.slice(0, 100), head.slice(100), body.slice(0, 30), body.slice(30, 60), body.slice(60));
    },
  ],
  "in chunks": [
    200,
    async (number) => {
      const [head, body] = await chargeOf(number, { headers: `${JSON_TYPE}Transfer-Encoding: chunked\r\n` });
      return send(head, chunked(body.slice(0, 40)), chunked(body.slice(40)) + "0\r\n\r\n");
    },
  ],
  "sent when told to": [
    100,
    async (number) => {
      const [, { length }] = await chargeOf(number);
      const [head, body] = await chargeOf(number, { headers: `${JSON_TYPE}Content-Length: ${length}\r\nExpect: 100-continue\r\n` });
      const socket = await opened();
      const first = statusOf(socket);
      await write(socket, head);
      const status = await first;
      const second = statusOf(socket);
      await write(socket, body);
      assert.equal(await second, 200);
      socket.destroy();
      return status;
    },
  ],
  "not JSON": [422, async (number) => send((await chargeOf(number)).join("").replace("}}", "}!"))],
  "of another type": [422, async (number) => send((await chargeOf(number)).join("").replace("application/json", "text/json"))],
  "said to be encoded": [
    415,
    async (number) => send((await chargeOf(number)).join("").replace("Host: x", "Host: x\r\nContent-Encoding: gzip")),
  ],
  "with a wrong nonce": [403, (number) => whole(number, { nonce: "no" })],
  "refused before the body came": [
    404,
    async (number) => {
      const [head, body] = await chargeOf(number, { session: UNKNOWN });
      return send(head, body.slice(0, 20), body.slice(20));
    },
  ],
  "of a session that nobody knows": [404, (number) => whole(number, { session: UNKNOWN })],
  "of no session": [422, (number) => whole(number, { session: "1" })],
  "longer than allowed": [
    413,
    async (number) => send((await chargeOf(number, { headers: `${JSON_TYPE}Content-Length: 40000\r\n` })).join("")),
  ],
  "longer than allowed, in chunks": [
    413,
    async (number) => {
      const [head, body] = await chargeOf(number, { headers: `${JSON_TYPE}Transfer-Encoding: chunked\r\n` });
      return send(head, chunked(body), chunked(" ".repeat(33_000)));
    },
  ],
  "with a broken chunk": [
    400,
    async (number) => {
      const [head, body] = await chargeOf(number, { headers: `${JSON_TYPE}Transfer-Encoding: chunked\r\n` });
      return send(head + chunked(body) + "nonsense\r\n");
    },
  ],
  "that is broken off": [
    null,
    async (number) => {
      const [head, body] = await chargeOf(number);
      const socket = await opened();
      await write(socket, head + body.slice(0, 60));
      socket.destroy();
      await ask(`${service.baseUrl}/health/live`, "GET", API_KEY);
      return null;
    },
  ],
  "with a read behind it": [
    200,
    async (number) => send(`${(await chargeOf(number)).join("")}GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n`),
  ],
  "one too many in a minute": [
    429,
    async (number) => {
      const parts = await chargeOf(number);
      for (let n = 0; n < 10; n++) {
        addresses = 200;
        await whole(number, { nonce: "no" });
      }
      addresses = 200;
      return send(...parts);
    },
  ],
};

test("after a charge the process holds neither number nor code, whatever became of the request, and a planted number is found (S-60)", async () => {
  const pid = service.child.pid ?? 0;
  for (const [index, [name, [status, sendCase]]] of Object.entries(CASES).entries()) {
    assert.equal(await sendCase(amex(index)), status, name);
  }
  const patterns = new Map([
    ...formsOf("a number", PREFIX),
    ["a code in a request", Buffer.from(`"cvv":"${CODE}"`)],
    ["a code for the gateway", Buffer.from(`[cvc]=${CODE}`)],
    ...formsOf("planted", PLANTED),
  ]);
  const found = [...new Set(findInMemory(pid, patterns))];
  const numbers = new Map(Object.keys(CASES).flatMap((name, index) => formsOf(name, amex(index))));
  const isPlanted = (place: string) => place.startsWith("planted as text");
  if (!found.every(isPlanted)) assert.deepEqual(new Set(findInMemory(pid, numbers)), new Set());
  assert.deepEqual(
    found.filter((place) => !isPlanted(place)),
    [],
  );
  assert.ok(found.some(isPlanted));
});

/** The nth number of a brand whose codes have four digits: rare enough to look for in the words around them. */
function amex(n: number): string {
  const first = `${PREFIX}${String(n * 7919 + 567_891)}`;
  const sum = Array.from(first, Number).reduce((total, digit, index) => {
    const doubled = index % 2 === 1 ? 2 * digit : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${first}${(10 - (sum % 10)) % 10}`;
}
