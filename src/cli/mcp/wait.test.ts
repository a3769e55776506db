import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiClient, ApiFault } from "./api-client.ts";
import type { StreamEvent } from "./events.ts";
import { type Waiting, waitForEnd } from "./wait.ts";

const ID = "018f7a52-0000-4000-8000-000000000000";
const session = (status: string): StreamEvent => ({ name: "message", data: { status, is_terminal: status === "payment-success" } });
const step = (name: string, number: number): StreamEvent => ({ name: "progress", data: { step: name, try: number } });
const HEARTBEAT: StreamEvent = { name: "message", data: null };

/** Ends no stream before its reader leaves. */
const OPEN = "open";
type Stream = (StreamEvent | ApiFault | typeof OPEN)[];

/** A service whose streams are these, one after the other; a read gives what was shown last. */
function serviceWith(...streams: Stream[]) {
  const asked: string[] = [];
  let shown: unknown = null;
  const api: ApiClient = {
    async send(method, path) {
      asked.push(`${method} ${path}`);
      return { body: shown, headers: new Headers() };
    },
    async *events(path, signal) {
      asked.push(`stream ${path}`);
      for (const item of streams.shift() ?? [OPEN]) {
        if (item instanceof ApiFault) throw item;
        if (item === OPEN) {
          await new Promise((_, failed) => {
            if (signal?.aborted) failed(signal.reason as Error);
            signal?.addEventListener("abort", () => failed(signal.reason as Error));
          });
        } else {
          if (item.name === "message" && item.data) shown = item.data;
          yield item;
        }
      }
    },
  };
  const told: string[] = [];
  const waited: number[] = [];
  const leaving = new AbortController();
  const time = new AbortController();
  const waiting: Waiting = {
    signal: leaving.signal,
    timeIsOver: time.signal,
    onStep: (what) => void told.push(what),
    pause: async (ms) => void waited.push(ms),
  };
  return { api, asked, told, waited, leaving, time, wait: () => waitForEnd(api, ID, waiting) };
}

test("a session is followed to its end, every step told, and read once more", async () => {
  const service = serviceWith([session("PENDING"), session("COLLECTING"), step("asking_cvv", 2), HEARTBEAT, session("payment-success")]);
  assert.deepEqual(await service.wait(), { status: "payment-success", is_terminal: true });
  assert.deepEqual(service.told, ["PENDING", "COLLECTING", "asking_cvv, try 2", "asking_cvv, try 2", "payment-success"]);
  assert.deepEqual(service.asked, [`stream /v1/sessions/${ID}/stream`, `GET /v1/sessions/${ID}`]);
});

test("when the time is over the session is given as it is", async () => {
  const service = serviceWith([session("PENDING"), OPEN]);
  const waited = service.wait();
  service.time.abort();
  assert.deepEqual(await waited, { status: "PENDING", is_terminal: false });
});

test("a stream that the service ends, as it does when it stops, is opened again", async () => {
  const lost = new ApiFault("gone", {});
  const service = serviceWith([session("PENDING")], [lost], [session("payment-success")]);
  assert.deepEqual(await service.wait(), { status: "payment-success", is_terminal: true });
  assert.deepEqual(service.waited, [1000, 1000]);
});

test("a stream refused for now is asked for when the service says, and no sooner", async () => {
  const full = new ApiFault("429: Too many open streams", { status: 429, retryAfterMs: 5000 });
  const service = serviceWith([full], [new ApiFault("503", { status: 503 })], [session("payment-success")]);
  await service.wait();
  assert.deepEqual(service.waited, [5000, 1000]);
});

test("a refusal that time does not mend, and a service that was never there, end the wait at once", async () => {
  for (const fault of [new ApiFault("404: Session not found", { status: 404 }), new ApiFault("Voicetill does not answer", {})]) {
    const service = serviceWith([fault]);
    await assert.rejects(service.wait(), fault);
    assert.deepEqual(service.waited, []);
  }
});

test("a key revoked while it waits ends the wait with the refusal", async () => {
  const revoked = new ApiFault("401: Invalid or expired API key", { status: 401 });
  await assert.rejects(serviceWith([session("PENDING")], [revoked]).wait(), revoked);
});

test("whoever no longer waits ends it, and nothing is asked after that", async () => {
  const service = serviceWith([session("PENDING"), OPEN]);
  const waited = service.wait();
  service.leaving.abort();
  await assert.rejects(waited, { name: "AbortError" });
  assert.deepEqual(service.asked, [`stream /v1/sessions/${ID}/stream`]);
});
