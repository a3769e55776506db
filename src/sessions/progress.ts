import type { Clock } from "#src/kernel/clock.ts";
import { type Database, type Db, type Log, statement } from "#src/platform/index.ts";
import type { Session } from "./session.ts";
import { Watchers } from "./watchers.ts";

/** What a caller is being asked, or that his card is at the gateway. */
export const STEPS = ["asking_number", "asking_expiry", "asking_cvv", "asking_zip", "asking_name", "confirming", "charging"] as const;
export type Step = (typeof STEPS)[number];

export interface Progress {
  step: Step;
  /** Which try at it, from 1; of `charging`: which card. */
  try: number;
}

/** NOTIFY channel. The payload is a session's id with step and try, the id alone when nobody is asked any more, or ASK. */
const CHANNEL = "voicetill_progress";
/** Asks every process for the steps of its calls. */
const ASK = "?";
/** Longer than any call: what was not taken back by then was told by a process that has died. */
const FORGOTTEN_MS = 20 * 60_000;

const tell = statement(
  "tell_progress",
  `select pg_notify($1, told.payload)::text as notified, set_config('synchronous_commit', 'off', true) as flushed
  from json_to_recordset($2) as told (payload text)`,
);

/**
 * One commit, without waiting for the disk: PostgreSQL commits what notifies one after the other, and a charge must not stand in line
 * behind a flush of ours.
 */
export async function notifyProgress(db: Db, payloads: readonly string[]): Promise<readonly unknown[]> {
  return await tell(db, CHANNEL, JSON.stringify(payloads.map((payload) => ({ payload }))));
}

/**
 * How far the callers of all processes have come with their cards. Told by notifications alone and kept in memory: nothing here
 * touches a session's row, which the charge needs (docs/decisions/0015). Whoever missed something asks for it.
 */
export class ProgressBoard {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #notify: (payload: string) => Promise<unknown>;
  /** Of the calls of this process. */
  readonly #own = new Map<string, Progress>();
  /** Of all processes, the one told last at the end. */
  readonly #known = new Map<string, { progress: Progress; at: number }>();
  readonly #watchers = new Watchers<Progress>();

  constructor({ database, clock, log }: { database: Pick<Database, "batched">; clock: Clock; log: Log }) {
    this.#log = log;
    this.#clock = clock;
    this.#notify = database.batched(notifyProgress);
  }

  /** Tells every process where a call of this one is, null: nowhere any more. Returns at once and never throws. */
  tell(id: string, progress: Progress | null): void {
    if (progress) this.#own.set(id, progress);
    else this.#own.delete(id);
    void this.#send(payloadOf(id, progress));
  }

  /** The step of a session, null while nobody is asked anything and nothing is charged. */
  stepOf({ id, status, phase }: Session): Step | null {
    if (status !== "COLLECTING") return null;
    return phase === "collecting" ? (this.of(id)?.step ?? null) : "charging";
  }

  /** What was told last of a call that goes on. */
  of(id: string): Progress | null {
    return this.#known.get(id)?.progress ?? null;
  }

  /** Calls `onProgress` with each new step and try of a session, in whichever process its call is. The returned function ends it. */
  watch(id: string, onProgress: (progress: Progress) => void): () => void {
    return this.#watchers.watch(id, onProgress);
  }

  /** Starts listening, and asks for what was told before. */
  async listen(database: Pick<Database, "listen">): Promise<() => Promise<void>> {
    const ask = () => void this.#send(ASK);
    const stop = await database.listen(CHANNEL, (payload) => this.#hear(payload), ask);
    ask();
    return stop;
  }

  #hear(payload: string): void {
    if (payload === ASK) {
      for (const [id, progress] of this.#own) void this.#send(payloadOf(id, progress));
      return;
    }
    const [id = "", step, number] = payload.split(" ");
    const before = this.of(id);
    this.#known.delete(id);
    this.#forgetDead();
    // A step that this version does not know is of a newer one.
    if (!isStep(step)) return;
    const progress = { step, try: Number(number) };
    this.#known.set(id, { progress, at: this.#clock.monotonic() });
    if (before?.step === progress.step && before.try === progress.try) return;
    this.#watchers.tell(id, progress);
  }

  #forgetDead(): void {
    const oldest = this.#clock.monotonic() - FORGOTTEN_MS;
    for (const [id, { at }] of this.#known) {
      if (at > oldest) return;
      this.#known.delete(id);
    }
  }

  async #send(payload: string): Promise<void> {
    try {
      await this.#notify(payload);
    } catch (error) {
      this.#log.warn("progress_not_told", { error });
    }
  }
}

function payloadOf(id: string, progress: Progress | null): string {
  return progress ? `${id} ${progress.step} ${progress.try}` : id;
}

function isStep(text: string | undefined): text is Step {
  return (STEPS as readonly (string | undefined)[]).includes(text);
}
