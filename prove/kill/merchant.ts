import { setTimeout as delay } from "node:timers/promises";
import { isFinal } from "./invariants.ts";
import type { Service } from "./service.ts";
import type { Track } from "./track.ts";

/** Before a request that a crash swallowed is sent again. */
const AGAIN_MS = 50;

/** A merchant's server: makes sessions, cancels them and looks at them, through every crash of the service. */
export class Merchant {
  readonly #service: Service;
  readonly #callback: string | null;
  readonly #isOver: () => boolean;

  /** `callback`: where callers are handed back to. */
  constructor(service: Service, callback: string | null, isOver: () => boolean) {
    this.#service = service;
    this.#callback = callback;
    this.#isOver = isOver;
  }

  async create(track: Track): Promise<void> {
    while (track.id === null) {
      const answer = await this.#ask(track);
      if (answer.status === 409 || answer.status === 503) continue;
      if (answer.status !== 201) throw new Error(`creation: ${answer.status} ${JSON.stringify(answer.body)}`);
      track.id = String(answer.body["session_id"]);
      track.ids.add(track.id);
      if (track.plan.channel === "voice") track.sipUri = String(answer.body["sip_uri"]);
    }
  }

  /** The same creation once more: it must name the same session. */
  async createAgain(track: Track): Promise<void> {
    if (track.plan.key === null) return;
    const again = await this.#ask(track);
    if (again.status === 201) track.ids.add(String(again.body["session_id"]));
  }

  #ask(track: Track) {
    const { channel, gateway, mode, amountMinor, behaviour, key } = track.plan;
    const headers = key === null ? {} : { "idempotency-key": key };
    const ordered = { project: "shop", mode, gateway };
    if (channel === "widget")
      return this.#request(track, "POST", "/v1/widget-sessions", { ...ordered, amount_cents: amountMinor }, headers);
    const callback = behaviour === "is handed back" && this.#callback !== null ? { callback: this.#callback } : {};
    const body = { ...ordered, caller: "+14155550100", amount: (amountMinor / 100).toFixed(2), ...callback };
    return this.#request(track, "POST", "/v1/sessions", body, headers);
  }

  async cancel(track: Track): Promise<void> {
    const answer = await this.#request(track, "POST", `/v1/sessions/${track.id}/cancel`);
    track.cancelAnswers.push(answer.status);
  }

  /** Until an answer comes: a request that a crash swallowed is sent again. */
  async #request(track: Track, method: string, path: string, body?: object, headers?: Record<string, string>) {
    for (;;) {
      await this.#service.up;
      try {
        const answer = await this.#service.request(method, path, body, headers);
        track.trace(`${method} ${path}: ${answer.status}`);
        return answer;
      } catch {
        track.trace(`${method} ${path}: no answer`);
        if (track.id === null && track.plan.key === null) {
          track.unanswered++;
          track.unansweredAt = Date.now();
        }
        if (this.#isOver()) throw new Error("the run is over");
        await delay(AGAIN_MS);
      }
    }
  }

  /** What the API says of a session now; nothing when no answer came. */
  async look(track: Track): Promise<void> {
    const answer = await this.#service.request("GET", `/v1/sessions/${track.id}`).catch(() => null);
    if (!answer || (answer.status !== 200 && answer.status !== 404)) return;
    const { body } = answer;
    const status = answer.status === 404 ? "missing" : String(body["status"]);
    const error = body["error"] as { code: string } | null | undefined;
    const processor = JSON.stringify(body["processor"] ?? null);
    const completedAt = (body["completed_at"] as string | null | undefined) ?? null;
    const last = track.seen.at(-1);
    const seen = { at: Date.now(), status, completedAt, errorCode: error?.code ?? null, processor };
    if (last?.status !== status || last.completedAt !== completedAt || last.processor !== processor) {
      track.seen.push(seen);
      track.trace(`is ${status}${error ? ` (${error.code})` : ""}`);
    }
    if (isFinal(status)) track.finalAt ??= seen.at;
  }
}
