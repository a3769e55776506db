import { textOf } from "../database/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { Change, Row } from "../database/index.ts";
import type { Caller } from "./caller.ts";
import { offersLink, projectOfNumber } from "./fixtures.ts";
import { stateOf } from "./track.ts";
import type { WorldState } from "./state.ts";

/** Which call may have which session, and by which word a session may be paid. Counts what callers ran into. */

/** What was committed so long before a claim was there when its call looked for a session. */
const SEEN_MS = 1000;
const SIMULTANEOUS_MS = 5;
const LAST_MOMENT_MS = 25;
const AT_ONCE_MS = 50;

export class CallChecker {
  readonly #world: WorldState;
  readonly #callers = new Map<string, Caller>();
  /** Sessions of which one made for the same caller has ended. */
  readonly #withEndedSibling = new Set<string>();

  constructor(world: WorldState) {
    this.#world = world;
  }

  dialled(caller: Caller): void {
    this.#callers.set(caller.setup.callId, caller);
    caller.track?.callers.push(caller);
  }

  answered({ track }: Caller): void {
    if (track?.channel === "widget") this.#world.break("R-280", track.id, "a call that named a widget session was answered");
  }

  refused(caller: Caller, status: number): void {
    const { counters } = this.#world;
    const { track } = caller;
    if (!track) return this.#unmatched(caller, status);
    if (track.channel === "widget") {
      if (status === 404) counters.occurred("a widget session was called: 404");
      else if (status !== 503) this.#world.break("R-280", track.id, `a call that named a widget session was refused with ${status}`);
    }
    if (status === 410) counters.occurred(`a call was refused: ${this.#world.statusOf(track.id)}`);
    if (status !== 486) return;
    counters.occurred("a second call was refused: the session was being collected");
    const isSimultaneous = track.callers.some((other) => other !== caller && caller.began - other.began <= SIMULTANEOUS_MS);
    if (this.#world.rowOf(track.id)?.["call_id"] === null) counters.occurred("a call was refused: the link's card had the session");
    if (isSimultaneous) counters.occurred("two calls within 5 ms: one was refused");
  }

  /** A call had a whole card, and was not first to charge. */
  outrun(id: string): void {
    const { chargingAt, shopper } = this.#world.trackOf(id);
    if (chargingAt === null || !shopper?.isPosting || this.#world.scheduler.now - chargingAt > AT_ONCE_MS) return;
    this.#world.counters.occurred("a call and a link's card at once: the card of the link was charged");
  }

  sessionCommitted({ before, after }: Change, all: readonly Change[]): void {
    const row = after!;
    const id = textOf(row["id"]);
    if (before && all.filter(({ table, before: other }) => table === "sessions" && other).length > 1)
      this.#world.break("R-276", id, "one commit changed two sessions");
    if (stateOf(before) === "PENDING" && stateOf(row) === "collecting") this.#claimed(row);
    if (before && stateOf(row) === "charging") this.#charging(id);
    if (before && !isTerminal(textOf(before["status"])) && isTerminal(textOf(row["status"]))) this.#ended(before, row);
  }

  #claimed(row: Row): void {
    const world = this.#world;
    const id = textOf(row["id"]);
    const isCall = row["call_id"] !== null;
    const isLink = !isCall && row["channel"] === "voice" && offersLink(textOf(row["project_id"]));
    if (isCall !== (row["channel"] === "voice") && !isLink) {
      world.break(isCall ? "R-280" : "R-281", id, `a ${textOf(row["channel"])} session was taken ${isCall ? "by a call" : "without one"}`);
    }
    const who = isCall ? "a call" : isLink ? "a link's card" : "a card";
    if (isLink) world.counters.occurred("a link's card took the session before any call");
    if (Number(row["expires_at"]) - world.scheduler.now <= LAST_MOMENT_MS)
      world.counters.occurred(`${who} took the session in its last 25 ms`);
    const caller = this.#callers.get(textOf(row["call_id"]));
    if (!caller) return;
    if (caller.track && caller.track.id !== id) world.break("R-276", id, `taken by a call that named ${caller.track.id}`);
    if (caller.track) return;
    caller.track = world.trackOf(id);
    caller.track.callers.push(caller);
    this.#matched(row, caller);
  }

  /** A call that named no session got none. */
  #unmatched({ setup: { from, to } }: Caller, status: number): void {
    if (status !== 404 || projectOfNumber(to)) return;
    const waiting = this.#world.sessionsOf(from).filter((row) => this.#isWaiting(row));
    if (new Set(waiting.map((row) => row["organization_id"])).size > 1)
      this.#world.counters.occurred("two organisations' sessions of one caller, and nobody's number: neither");
  }

  /** A call that named no session has one: the newest of its caller, in the project whose number was dialled or of a single organisation. */
  #matched(row: Row, { setup: { from, to } }: Caller): void {
    const { counters } = this.#world;
    const id = textOf(row["id"]);
    const project = projectOfNumber(to)?.id ?? null;
    if (row["caller"] !== from) return this.#world.break("R-276", id, `of ${textOf(row["caller"])}, taken by a call from ${from}`);
    if (project !== null && row["project_id"] !== project) return this.#world.break("R-277", id, "taken by a call for another merchant");
    const others = this.#world.sessionsOf(from).filter((other) => other["id"] !== id);
    const waiting = others.filter((other) => this.#isWaiting(other));
    if (project === null && waiting.some((other) => other["organization_id"] !== row["organization_id"]))
      this.#world.break("R-217", id, "taken although another organisation's session was waiting for the same caller");
    const newer = waiting.filter((other) => Number(other["created_at"]) > Number(row["created_at"]));
    const rivals = newer.filter((other) => project === null || other["project_id"] === project);
    if (rivals.length > 0) this.#world.break("R-276", id, "taken although a newer one was waiting for the same caller");
    const isOneMerchants = others.every((other) => other["project_id"] === row["project_id"]);
    if (isOneMerchants && waiting.length > 0) counters.occurred("two sessions of one caller: a call took the newest");
    if (this.#withEndedSibling.has(id)) counters.occurred("two sessions of one caller: one had ended, and a call took the other");
    if (isOneMerchants) return;
    if (newer.length > 0) counters.occurred("two merchants' sessions of one caller: the number that was dialled chose the older");
  }

  #isWaiting(row: Row): boolean {
    const { now } = this.#world.scheduler;
    return row["status"] === "PENDING" && Number(row["expires_at"]) > now && Number(row["updated_at"]) < now - SEEN_MS;
  }

  #charging(id: string): void {
    const { mangoAt } = this.#world.trackOf(id);
    if (mangoAt === null || Math.abs(this.#world.scheduler.now - mangoAt) > 500) return;
    this.#world.counters.occurred("mango and a complete card at once: the card won");
  }

  #ended(before: Row, row: Row): void {
    const { counters } = this.#world;
    const id = textOf(row["id"]);
    if (typeof row["caller"] === "string") {
      for (const other of this.#world.sessionsOf(row["caller"]))
        if (other["id"] !== id && this.#isWaiting(other)) this.#withEndedSibling.add(textOf(other["id"]));
    }
    if (!isSkipped(row)) return;
    counters.occurred("the test word took the place of a card");
    if (before["phase"] !== "collecting") this.#world.break("R-293", id, `mango won although the session was ${stateOf(before)}`);
    const { mangoAt } = this.#world.trackOf(id);
    if (mangoAt !== null && this.#world.scheduler.now - mangoAt <= 500) counters.occurred("mango and a complete card at once: mango won");
  }
}

/** Paid by the test word: no money was asked for. */
export function isSkipped(row: Row): boolean {
  return (row["processor"] as Record<string, unknown> | null)?.["test_skip"] === true;
}
