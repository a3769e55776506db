import { type Change, type Row, textOf } from "../database/index.ts";
import type { WorldState } from "./state.ts";

/** Holds the status webhooks that arrive against the sessions they tell of (I5). */
export class WebhookChecker {
  readonly #world: WorldState;
  #undelivered = 0;
  readonly #eventOf = new Map<string, string>();

  constructor(world: WorldState) {
    this.#world = world;
  }

  delivered(id: string | null, eventId: string, body: string): void {
    const track = id === null ? undefined : this.#world.tracks.get(id);
    const row = id === null ? undefined : this.#world.rowOf(id);
    if (!track || !row) return this.#break("I5", id, "a webhook of a session that does not exist");
    const told = JSON.parse(body) as Row;
    if (told["status"] !== row["status"] || told["amount_cents"] !== row["amount_minor"]) {
      this.#break("I5", id, `the webhook says ${textOf(told["status"])}, the session is ${textOf(row["status"])}`);
    }
    const known = this.#eventOf.get(track.id) ?? eventId;
    if (known !== eventId) this.#break("I5", id, "two webhooks with two ids");
    this.#eventOf.set(track.id, eventId);
    if (track.webhooks.length === 1) this.#world.counters.occurred("a webhook arrived twice");
    track.webhooks.push(eventId);
  }

  eventCommitted({ before, after }: Change): void {
    const isOpen = (row: Row | null) => row !== null && row["delivered_at"] === null && row["dead_at"] === null;
    this.#undelivered += Number(isOpen(after)) - Number(isOpen(before));
  }

  isEverythingDelivered(): boolean {
    return this.#undelivered === 0;
  }

  atTheEnd(): void {
    for (const row of this.#world.database.committed("sessions")) {
      const id = textOf(row["id"]);
      if (this.#world.trackOf(id).webhooks.length === 0) this.#break("I5", id, `${textOf(row["status"])}, and its webhook never arrived`);
    }
  }

  #break(invariant: string, session: string | null, what: string): void {
    this.#world.break(invariant, session, what);
  }
}
