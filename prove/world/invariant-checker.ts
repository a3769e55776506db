import { textOf } from "../database/index.ts";
import type { Cancellation, Session } from "#src/sessions/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import type { Change, Row } from "../database/index.ts";
import { CARD_NUMBERS } from "./cards.ts";
import { isSkipped } from "./call-checker.ts";
import { type Entry, CHARGE_PATHS } from "./network.ts";
import type { ServiceProcess } from "./process.ts";
import { PAID, stateOf, type Track } from "./track.ts";
import type { WorldState } from "./state.ts";

/** A statement's look at the clock and its commit lie no further apart. */
const COMMIT_MS = 100;
/** How long after its charge a forwarded card is not called lost: the merchant's 30 s and as much again, without a margin of a retry. */
const IN_TIME_MS = 59_000;
/** A process that the database does not fail tries at least every 5 s. */
const ENOUGH_TO_WRITE_MS = 6_000;

interface CheckedWorld extends WorldState {
  readonly apiKeys: { paid(id: string): void };
  readonly network: { entriesOf(id: string): Entry[] };
  readonly supervisor: {
    readonly processes: readonly ServiceProcess[];
    reconnectOwnerOf(id: string): void;
    crashBeforeReversal(id: string, owner: string): void;
  };
}

/** Holds everything that happens against the invariants of docs/invariants.md, as it happens and at the end. */
export class InvariantChecker {
  readonly #world: CheckedWorld;
  /** Sessions whose process died after the vendor had taken the money and before the result was written. */
  readonly #takenAndCrashed = new Set<string>();
  /** Sessions of which an attempt was taken over by another process. */
  readonly #adopted = new Set<string>();
  /** Attempts whose process died just after it was committed that they must be reversed. */
  readonly #crashedBeforeReversal = new Set<string>();
  /** Sessions whose process had the merchant's decision and could write it down before anybody may call it lost. */
  readonly #knewInTime = new Set<string>();
  /** The same at any time. */
  readonly #knew = new Set<string>();
  /** Process and attempt: it asked a vendor for this money. */
  readonly #asked = new Set<string>();

  constructor(world: CheckedWorld) {
    this.#world = world;
  }

  #break(invariant: string, session: string | null, what: string): void {
    this.#world.break(invariant, session, what);
  }

  sessionCommitted({ before, after }: Change, all: readonly Change[]): void {
    const row = after!;
    const id = textOf(row["id"]);
    if (before && isTerminal(textOf(before["status"]))) {
      if (before["status"] !== row["status"]) this.#break("I6", id, `${textOf(before["status"])} became ${textOf(row["status"])}`);
      if (Number(before["completed_at"]) !== Number(row["completed_at"])) this.#break("I6", id, "completed_at changed");
      return;
    }
    const audits = all.filter(({ table, after: line }) => table === "audit_log" && line?.["object"] === id).length;
    // A link's page that finds another try under way takes the session and gives it back in one commit.
    const moves = before ? Number(row["revision"]) - Number(before["revision"]) : audits;
    if (audits !== moves) this.#break("I9", id, `${audits} audit rows for ${moves} moves`);
    if (
      stateOf(before) === "PENDING" &&
      row["phase"] === "collecting" &&
      this.#world.scheduler.now > Number(row["expires_at"]) + COMMIT_MS
    ) {
      this.#break("E5", id, "claimed after its time");
    }
    if (!isTerminal(textOf(row["status"]))) return;
    if (!all.some(({ table, after: event }) => table === "webhook_events" && event?.["session_id"] === id)) {
      this.#break("I5", id, "final without its webhook in the same commit");
    }
    const now = this.#world.scheduler.now;
    if (row["status"] === "expired" && now < Number(row["expires_at"])) this.#break("E5", id, "expired before its time");
    if (row["status"] === "expired" && stateOf(before) === "PENDING" && this.#world.trackOf(id).callers.length > 0) {
      this.#world.counters.occurred("a session expired although somebody had called");
    }
    const { counters } = this.#world;
    if (PAID.has(textOf(row["status"]))) this.#world.apiKeys.paid(id);
    if (stateOf(before) === "collecting" && row["status"] === "payment-failed") {
      const who = row["channel"] === "voice" ? "caller" : "shopper";
      if (this.#attemptsOf(id).length > 0) counters.occurred(`a ${who} left after a decline: payment-failed with it`);
      if (row["error_code"] === "gateway_credentials_invalid")
        counters.occurred("a project had no credentials at the charge: payment-failed");
    }
    if (stateOf(before) === "unknown") this.#world.counters.occurred(`a lost answer was cleared up: ${textOf(row["status"])}`);
  }

  attemptCommitted({ before, after }: Change): void {
    if (!after) return;
    if (!before) return this.#attemptBegun(after);
    if (before["owner"] !== after["owner"]) {
      this.#world.counters.occurred("another process took up an attempt");
      this.#adopted.add(textOf(after["session_id"]));
      const former = this.#world.supervisor.processes.find(({ owner, isAlive }) => isAlive && owner === before["owner"]);
      // One that has ended in order gives its lease away as the last thing it does.
      const hasLease = this.#world.database.committed("process_leases", ["owner", textOf(before["owner"])]).length > 0;
      if (former?.cutOffUntil === 0 && hasLease)
        this.#break("E1", textOf(after["session_id"]), "the attempt of a living process was taken from it");
    }
    this.#followReversal(before, after);
    const [was, is] = [before["outcome"] ?? null, after["outcome"] ?? null];
    if ((was === "approved" || was === "declined") && was !== is)
      this.#break("I6", textOf(after["session_id"]), `an attempt that was ${was} became ${textOf(is)}`);
  }

  /** A session is charged once at a time, and again only after a refusal; a widget's only with a nonce of its own. */
  #attemptBegun(row: Row): void {
    const id = textOf(row["session_id"]);
    const attempts = this.#attemptsOf(id);
    const others = attempts.filter((other) => other["id"] !== row["id"] && other["outcome"] !== "declined");
    if (others.length > 0) this.#break("R-282", id, `a charge began while another was ${textOf(others[0]!["outcome"] ?? "open")}`);
    if (this.#world.rowOf(id)?.["channel"] !== "widget") return;
    const { nonces } = this.#world.triesOf(id);
    const kinds = new Set(nonces).size;
    if (attempts.length > nonces.length || kinds < nonces.length)
      this.#break("R-282", id, `${attempts.length} charges in ${nonces.length} tries with ${kinds} nonces`);
  }

  /** What must be given back is known, worked off, or handed to the operator; a crash meanwhile changes nothing. */
  #followReversal(before: Row, after: Row): void {
    const { counters, random, scheduler } = this.#world;
    const [id, session] = [textOf(after["id"]), textOf(after["session_id"])];
    const [was, is] = [before["reversal"] ?? null, after["reversal"] ?? null];
    if (was === is) return;
    this.#world.trace(session, () => `reversal ${textOf(was)} -> ${textOf(is)}: ${textOf(after["reason"])}`);
    if (is === "due") {
      if (after["outcome"] === null) this.#world.supervisor.reconnectOwnerOf(session);
      counters.occurred(
        after["outcome"] === null || after["outcome"] === "unknown" ? "an attempt is voided unseen" : "money was found after the end",
      );
      if (!random.chance(0.3)) return;
      this.#crashedBeforeReversal.add(id);
      scheduler.after(random.pick([0, random.between(0, 20)]), () =>
        this.#world.supervisor.crashBeforeReversal(session, textOf(after["owner"])),
      );
      return;
    }
    const how = this.#crashedBeforeReversal.has(id) ? ", after a crash" : "";
    counters.occurred(is === "done" ? `a reversal is done${how}` : `a reversal is the operator's${how}`);
  }

  /** The merchant's endpoint decided about a forwarded card, and its answer reached the process; is it still there to write it down? */
  told(id: string | null, answer: Uint8Array, process: ServiceProcess): void {
    // What says nothing (an error, half an answer) is a lost answer.
    if (id === null || !/"success":true/.test(Buffer.from(answer).toString())) return;
    const { scheduler } = this.#world;
    const [toldAt, chargedAt] = [scheduler.now, this.#world.trackOf(id).chargingAt ?? 0];
    const watch = () => {
      if (!process.isAlive) return;
      const quiet = scheduler.now - Math.max(toldAt, process.cutOffUntil, process.failedAt);
      if (quiet < ENOUGH_TO_WRITE_MS) {
        scheduler.after(ENOUGH_TO_WRITE_MS - quiet, watch);
        return;
      }
      this.#knew.add(id);
      if (scheduler.now <= chargedAt + IN_TIME_MS) this.#knewInTime.add(id);
    };
    watch();
  }

  /** A process sent a request to a vendor. */
  sent({ owner }: ServiceProcess, id: string | null, url: string): void {
    if (id === null || !CHARGE_PATHS.test(url)) return;
    const row = this.#world.rowOf(id);
    // A process that could not reach the database for so long that it was taken for dead goes on with its attempt, under the same key.
    if (this.#adopted.has(id)) return this.#world.counters.occurred("a process that was taken for dead went on with its attempt");
    if (row?.["phase"] !== "charging") this.#break("I11", id, `the vendor was asked for money while the session was ${stateOf(row)}`);
    const open = this.#attemptsOf(id).find(({ outcome }) => outcome === null);
    if (open) this.#asked.add(`${owner} ${textOf(open["id"])}`);
    else this.#break("I2", id, "the vendor was asked for money without an open attempt in the ledger");
  }

  cancelled(track: Track, answer: Cancellation): void {
    const { counters } = this.#world;
    track.cancellations.push(answer);
    if (answer.kind === "cancelled") {
      const { completedAt, expiresAt, callId } = answer.session;
      const wasPending = callId === null && track.channel === "voice" && !track.shopper?.isPosting;
      if (track.channel === "voice") counters.occurred(wasPending ? "a cancel was obeyed: PENDING" : "a cancel was obeyed: collecting");
      if (wasPending && Number(expiresAt) - Number(completedAt) <= 10) counters.occurred("a cancel was obeyed in the last 10 ms");
    }
    if (answer.kind === "refused" && answer.status === "expired") counters.occurred("a cancel came after the time was over");
    const whose = track.channel === "widget" ? " for a widget" : track.shopper?.isPosting ? " for a link" : "";
    if (answer.kind === "refused" && answer.phase !== null) counters.occurred(`a cancel came too late${whose}: ${answer.phase}`);
    if (answer.kind === "missing") this.#break("I1", track.id, "a session that was created is missing");
  }

  polled(track: Track, session: Session | null): void {
    if (!session) return this.#break("I1", track.id, "a session that was created is missing");
    const last = track.seen.at(-1);
    const seen = { status: session.status, revision: session.revision };
    if (isTerminal(session.status) && track.webhooks.length === 0)
      this.#world.counters.occurred("a poll saw the end before its webhook arrived");
    track.seen.push(seen);
    if (!last) return;
    if (seen.revision < last.revision) this.#break("I7", track.id, `revision ${last.revision}, then ${seen.revision}`);
    if (isTerminal(last.status) && last.status !== seen.status) this.#break("I7", track.id, `seen ${last.status}, then ${seen.status}`);
  }

  /** A process that drained ends now: because nothing was left, or because its time is over. */
  drained({ owner }: ServiceProcess, { since, isIdle }: { since: number; isIdle: boolean }): void {
    const { counters, database } = this.#world;
    counters.occurred(isIdle ? "a drain ended when nothing was left" : "a drain's time was over");
    for (const row of database.committed("payment_attempts", ["owner", owner])) {
      const isOwn = this.#asked.has(`${owner} ${textOf(row["id"])}`) && Number(row["started_at"]) < since;
      if (!isOwn) continue;
      const finishedAt = row["outcome"] === "unknown" ? 0 : Number(row["finished_at"]);
      if (finishedAt >= since) counters.occurred("a draining process finished a charge");
      if (isIdle && row["outcome"] === null)
        this.#break("R-292", textOf(row["session_id"]), "its process drained in time and left its charge to the janitor");
    }
  }

  crashedWhileCharging(id: string): void {
    const { counters } = this.#world;
    const taken = this.#net(id) > 0;
    counters.occurred(taken ? "a crash after the money was taken" : "a crash while charging, no money taken yet");
    if (taken) this.#takenAndCrashed.add(id);
  }

  logged(event: string, fields: object): void {
    if (event === "payment_outcome_unknown") this.#world.counters.occurred("a search was given up after ten minutes");
    if (event === "call_failed") this.#world.counters.occurred("a call was lost to a fault of our own side");
    // A program's own mistake, not a fault of the world: whoever catches it would leave everything behind it untried.
    const { error } = fields as { error?: unknown };
    if (error instanceof TypeError || error instanceof ReferenceError) this.#break("I12", null, `${event}: ${error.stack}`);
    this.#scan(
      event,
      JSON.stringify(fields, (name, value: unknown) => (name === "error" ? undefined : value)),
    );
  }

  #scan(where: string, text: string): void {
    if (CARD_NUMBERS.some((number) => text.includes(number))) this.#break("I8", null, `a card number in ${where}`);
  }

  /** When everything has had its time: no session stuck, money and words agree. */
  atRest(): void {
    const { database, tracks } = this.#world;
    for (const row of database.committed("sessions")) this.#checkSession(row);
    for (const { id, isCreated } of tracks.values()) if (isCreated && !this.#world.rowOf(id)) this.#break("I1", id, "created and gone");
    for (const table of ["sessions", "payment_attempts", "webhook_events", "audit_log"])
      this.#scan(`the table ${table}`, JSON.stringify(database.committed(table)));
  }

  #checkSession(row: Row): void {
    const id = textOf(row["id"]);
    const status = textOf(row["status"]);
    const { counters } = this.#world;
    if (!isTerminal(status)) return this.#break("I10", id, `still ${stateOf(row)} after twenty minutes without faults`);
    for (const result of this.#world.trackOf(id).results)
      if (result !== status) this.#break("R-283", id, `a browser was given the signed result ${result}, and the session is ${status}`);
    const entries = this.#entriesOf(id);
    const taken = entries.filter(({ kind, outcome }) => (kind === "charge" || kind === "token") && outcome === "approved");
    const net = this.#net(id);
    const owed = this.#attemptsOf(id).filter(
      ({ reversal }) => reversal === "due" || (reversal === "failed" && row["gateway"] !== "webhook"),
    );
    if (owed.length > 0) this.#break("I4", id, "what must be sent back was not, in twenty minutes without faults");
    if (net > 1) this.#break("I2", id, `${net} charges stand at the vendor`);
    if (PAID.has(status)) {
      if (net !== (isSkipped(row) ? 0 : 1)) this.#break("I3", id, `${status} with ${net} charges at the vendor`);
      const charge = taken.find(({ kind }) => kind === "charge");
      if (charge && (charge.amountMinor !== row["amount_minor"] || charge.currency !== row["currency"]))
        this.#break("I3", id, "another amount was charged");
      if (row["gateway"] === "webhook" && !isSkipped(row)) counters.occurred("a forwarded card was approved");
      if (this.#takenAndCrashed.has(id)) counters.occurred("money taken before a crash became a success");
    } else if (net > 0) {
      // Card forwarding: nobody can be asked what became of a lost answer, and the interface says so; nobody
      // can void what was decided either, so what came too late stands on the operator's list.
      const isForwarded = row["gateway"] === "webhook" && row["error_code"] === "webhook_gateway_error";
      const isFlagged = this.#attemptsOf(id).some(({ reversal }) => reversal === "failed");
      if (isForwarded && this.#knewInTime.has(id)) this.#break("I4", id, "an answer that came in time was called lost");
      else if (isForwarded && isFlagged) counters.occurred("a forwarded card was decided, and its answer came too late");
      else if (isForwarded && !this.#knew.has(id)) counters.occurred("a forwarded card was decided, and its answer lost");
      else this.#break("I4", id, `${status} (${textOf(row["error_code"])}), and ${net} charges stand at the vendor`);
    }
    if (row["gateway"] === "webhook" && taken.length > 1) this.#break("I2", id, "a card was forwarded twice");
    if (this.#world.trackOf(id).cancellations.some(({ kind }) => kind === "cancelled") && (status !== "cancelled" || taken.length > 0)) {
      this.#break("I11", id, `a cancel was confirmed, and the session is ${status} with ${taken.length} charges`);
    }
  }

  #attemptsOf(id: string): Row[] {
    return this.#world.database.committed("payment_attempts", ["session_id", id]);
  }

  #entriesOf(id: string): Entry[] {
    return this.#world.network.entriesOf(id);
  }

  /** Charges and stored cards that stand at the vendor: of each attempt what was taken and not given back. */
  #net(id: string): number {
    const standing = new Map<string, number>();
    for (const { kind, outcome, reference } of this.#entriesOf(id)) {
      if (outcome !== "approved" || reference === null) continue;
      const before = standing.get(reference) ?? 0;
      if (kind === "charge" || kind === "token") standing.set(reference, before + 1);
      // Clean-up after a refusal reverses nothing.
      if (kind === "refund" || kind === "void") standing.set(reference, Math.max(0, before - 1));
    }
    return [...standing.values()].reduce((sum, count) => sum + count, 0);
  }
}
