import type { Clock } from "#src/kernel/clock.ts";
import { audit, type Database, type Log, WindowCounter } from "#src/platform/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import type { CodeFinding, NamedProject } from "./match.ts";

/** Of a hundred million codes, ten guesses in ten minutes by one trunk in one project: with a thousand sessions waiting 1 in 10,000 hits one. */
const WRONG_AT_MOST = 10;
const WINDOW_MS = 10 * 60_000;
/** Pairs of trunk address and project that are told apart. */
const MOST = 1000;
/** Calls by one trunk in one project whose caller is asked for a code, in a minute: a flood of calls for nobody is answered no more than that. */
const ASKED_AT_MOST = 30;
const ASKED_MS = 60_000;

/** `closed`: not looked at, because too many wrong ones had come. */
export type CodeCount = "matched" | "wrong" | "closed";

interface ShortCodesDeps {
  database: Pick<Database, "db">;
  sessions: Pick<Sessions, "waitingByCode">;
  clock: Clock;
  log: Log;
  countCode: (result: CodeCount) => void;
}

/** Looks up short codes, keeps guessers off, and writes every try to the audit log. Each process counts for itself. */
export class ShortCodes {
  readonly #deps: ShortCodesDeps;
  readonly #wrong: WindowCounter;
  readonly #asked: WindowCounter;
  /** By trunk address and project, until when no code is looked at, monotonic ms. At most one for each name that is counted. */
  readonly #closed = new Map<string, number>();

  constructor(deps: ShortCodesDeps) {
    this.#deps = deps;
    this.#wrong = new WindowCounter({ clock: deps.clock, windowMs: WINDOW_MS, most: MOST });
    this.#asked = new WindowCounter({ clock: deps.clock, windowMs: ASKED_MS, most: MOST });
  }

  /** Whether the caller of a call that named no session may be asked for a code; counts the call. */
  mayAsk(project: NamedProject, source: string): boolean {
    const name = nameOf(project, source);
    return !this.#isClosed(name) && this.#asked.count(name).count <= ASKED_AT_MOST;
  }

  /** What a code leads to that was dialled or keyed in a call by the trunk at `source`, an IP address. */
  async find(project: NamedProject, code: string, source: string): Promise<CodeFinding> {
    const { database, sessions, countCode } = this.#deps;
    const name = nameOf(project, source);
    if (this.#isClosed(name)) {
      countCode("closed");
      return "closed";
    }
    const [id, second] = await sessions.waitingByCode(database.db, project.id, code);
    if (id !== undefined && second === undefined) {
      countCode("matched");
      await this.#note(project, source, `session ${id}`, "matched");
      return { sessionId: id };
    }
    countCode("wrong");
    const isLast = this.#countWrong(name);
    await this.#note(project, source, `project ${project.id}`, isLast ? "wrong, closed" : "wrong");
    return id === undefined ? "none" : "several";
  }

  #isClosed(name: string): boolean {
    const now = this.#deps.clock.monotonic();
    for (const [other, until] of this.#closed) if (now >= until) this.#closed.delete(other);
    return this.#closed.has(name) || this.#closed.size >= MOST;
  }

  /** Whether this was one too many. */
  #countWrong(name: string): boolean {
    if (this.#wrong.count(name).count < WRONG_AT_MOST) return false;
    this.#closed.set(name, this.#deps.clock.monotonic() + WINDOW_MS);
    return true;
  }

  /** Never the code: whoever reads the log could call with it. */
  async #note({ organizationId }: NamedProject, source: string, object: string, result: string): Promise<void> {
    const { database, log } = this.#deps;
    const entry = { organizationId, actor: "caller", action: "call.short_code", object, source, result };
    // The caller is not kept from paying because a line could not be written.
    await audit(database.db, entry).catch((error: unknown) => log.warn("audit_not_written", { error }));
  }
}

const nameOf = ({ id }: NamedProject, source: string) => `${source} ${id}`;
