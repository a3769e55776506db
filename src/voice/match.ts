import { parseUuid } from "#src/kernel/ids.ts";
import { addressedNumber, parseE164 } from "#src/kernel/phone.ts";
import type { Environment } from "#src/kernel/payment.ts";
import type { WaitingSession } from "#src/sessions/index.ts";

/**
 * Which session an inbound call pays (docs/interface.md, Matching calls; ). Four rules in order:
 * X-Session-Id, X-Caller, To or Request-URI, From. A rule that names nothing usable hands over to the next; a rule that
 * names a known session ends the search even when that session can no longer be paid, because falling through to another
 * session could charge the wrong sum. A telephone number is no secret and whoever holds an API key can make a session for
 * it: by number only the sessions of the project that the dialled number or the trunk names count, or those of a single organisation.
 */

/** The parts of an INVITE that can name a session; `call-identifiers.ts` reads them from the request. */
export interface CallIdentifiers {
  /** Every X-Session-Id value, wherever the transfer put it: header, URI header or URI parameter. */
  sessionIds: readonly string[];
  callers: readonly string[];
  /** User parts of the To URI and the Request-URI, unescaped. */
  dialled: readonly string[];
  /** Short codes that were dialled, behind a number or alone: eight digits each. */
  codes: readonly string[];
  /** User parts that say who calls, the asserted one first. Empty when anonymous. */
  calling: readonly string[];
}

export type MatchRule = "X-Session-Id" | "X-Caller" | "To" | "short code" | "From";

export interface Match {
  sessionId: string;
  rule: MatchRule;
}

/** Why a rule named no session, for the operator (`voicetill unmatched list`). */
export interface Miss {
  rule: MatchRule;
  /** What the rule went by, as it came. */
  value: string | null;
  why: string;
  /** The E.164 numbers that `value` was read as. */
  readings: string[];
}

/** A project that the dialled number or the trunk names. */
export interface NamedProject {
  id: string;
  organizationId: string;
  country: string;
  voice: { shortCode: boolean };
}

/** What a short code leads to; `closed`: too many wrong ones came, and none is looked at for a while. */
export type CodeFinding = { sessionId: string } | "none" | "several" | "closed";

/** What matching asks of the store. */
export interface SessionIndex {
  /**
   * What kind of session has this id, in whatever state; null for none. Asked only of the session that ends the search if it is a
   * voice session, so that the answer may come with its claim.
   */
  channelOf(sessionId: string): Promise<"voice" | "widget" | null>;
  /** PENDING voice sessions of these callers, in one project or in all: of each organisation and caller a live one before a test one, then the newest. */
  waitingFor(callers: readonly string[], projectId: string | null): Promise<readonly WaitingSession[]>;
  /**
   * The project that the call names, with its country for national numbers: the owner of the first of these service numbers that has one, else the
   * project that has the trunk of this call for its own; `number` is null then.
   */
  projectOf(dialled: readonly string[]): Promise<(NamedProject & { number: string | null }) | null>;
  /** The session of the project that a short code names. Wrong codes are counted. */
  sessionOfCode(project: NamedProject, code: string): Promise<CodeFinding>;
  /** Countries in which a national number is read when nothing names a project; a handful. */
  countries(): Promise<readonly string[]>;
}

/** A national number as E.164 in the given country, or null (libphonenumber in production). */
type ReadNational = (digits: string, country: string) => string | null;

/** Why each rule found no session. `project`: its caller may key the short code; null: the call is refused with 404. */
export interface Unmatched {
  misses: Miss[];
  project: NamedProject | null;
}

/** Finds the session that the call names. */
export async function matchCall(identifiers: CallIdentifiers, index: SessionIndex, readNational: ReadNational): Promise<Match | Unmatched> {
  return await new Search(identifiers, index, readNational).run();
}

/** The sessions that wait for any number of the call. */
interface Waiters {
  /** `number`: as it was dialled; null when the trunk named the project. */
  project: (NamedProject & { number: string | null }) | null;
  countries: readonly string[];
  sessions: readonly WaitingSession[];
}

/** What a rule comes to: a session, the end of the search, or null for the next rule. */
type Finding = Match | "refused" | null;

class Search {
  readonly #identifiers: CallIdentifiers;
  readonly #index: SessionIndex;
  readonly #readNational: ReadNational;
  readonly #misses: Miss[] = [];
  /** Asked for once, when the first number is looked at: most calls name their session. */
  #waiters: Promise<Waiters> | null = null;

  constructor(identifiers: CallIdentifiers, index: SessionIndex, readNational: ReadNational) {
    this.#identifiers = identifiers;
    this.#index = index;
    this.#readNational = readNational;
  }

  async run(): Promise<Match | Unmatched> {
    const found =
      (await this.#bySessionId()) ?? (await this.#byXCaller()) ?? (await this.#byTo()) ?? (await this.#byCode()) ?? (await this.#byFrom());
    if (found !== null && found !== "refused") return found;
    // What was refused names a payment, so that no other one may be asked for.
    const project = found === "refused" ? null : (await (this.#waiters ??= this.#findWaiters())).project;
    return { misses: this.#misses, project: project?.voice.shortCode ? project : null };
  }

  async #bySessionId(): Promise<Finding> {
    const value = this.#single(this.#identifiers.sessionIds, "X-Session-Id");
    return value === null ? null : await this.#byId(value, "X-Session-Id");
  }

  async #byXCaller(): Promise<Finding> {
    const value = this.#single(this.#identifiers.callers, "X-Caller");
    return value === null ? null : await this.#byNumber(value, "X-Caller");
  }

  async #byTo(): Promise<Finding> {
    const { dialled } = this.#identifiers;
    if (dialled.length === 0) return this.#miss("To", null, "no user part");
    for (const user of dialled) {
      const found = parseUuid(user) === null ? await this.#byNumber(user, "To") : await this.#byId(user, "To");
      if (found) return found;
    }
    return null;
  }

  /** Only in a project that has codes on, and that the number before the code or the trunk names; no code was dialled in most calls. */
  async #byCode(): Promise<Finding> {
    const rule = "short code";
    const [code, second] = this.#identifiers.codes;
    if (code === undefined) return null;
    this.#waiters ??= this.#findWaiters();
    const { project } = await this.#waiters;
    if (second !== undefined) return this.#miss(rule, null, "sent several times with different values");
    if (!project?.voice.shortCode) return this.#miss(rule, code, "no project with short codes was dialled");
    const found = await this.#index.sessionOfCode(project, code);
    return typeof found === "object" ? { ...found, rule } : this.#miss(rule, code, CODE_MISSES[found]);
  }

  async #byFrom(): Promise<Finding> {
    const { calling } = this.#identifiers;
    if (calling.length === 0) return this.#miss("From", null, "anonymous");
    for (const user of calling) {
      const found = await this.#byNumber(user, "From");
      if (found) return found;
    }
    return null;
  }

  async #byId(value: string, rule: MatchRule): Promise<Finding> {
    const sessionId = parseUuid(value);
    if (sessionId === null) return this.#miss(rule, value, "not a session id");
    const channel = await this.#index.channelOf(sessionId);
    if (channel === "voice") return { sessionId, rule };
    if (channel === null) return this.#miss(rule, value, "there is no such voice session");
    // it names a payment, so no other one may be taken for it.
    this.#miss(rule, value, "a widget session cannot be called");
    return "refused";
  }

  async #byNumber(value: string, rule: MatchRule): Promise<Finding> {
    this.#waiters ??= this.#findWaiters();
    const { project, countries, sessions } = await this.#waiters;
    const readings = readingsOf(value, countries, this.#readNational);
    if (readings.length === 0) return this.#miss(rule, value, "not a telephone number");
    const fitting = sessions.filter(({ caller }) => readings.includes(caller));
    if (new Set(fitting.map(({ organizationId }) => organizationId)).size > 1) {
      this.#miss(rule, value, "ambiguous: sessions of more than one organisation wait for this caller", readings);
      return "refused";
    }
    const [session] = fitting.toSorted(
      (a, b) => rank(a.environment) - rank(b.environment) || readings.indexOf(a.caller) - readings.indexOf(b.caller),
    );
    if (session) return { sessionId: session.id, rule };
    const isOwn = typeof project?.number === "string" && readings.includes(project.number);
    const narrowed = !project ? "" : project.number === null ? " in the project of this trunk" : " in the project whose number was dialled";
    return this.#miss(
      rule,
      value,
      isOwn ? "the project's own number names no session" : `no session waits for this caller${narrowed}`,
      readings,
    );
  }

  /** One look-up for the numbers of every rule, so that no INVITE can cost more. */
  async #findWaiters(): Promise<Waiters> {
    const { callers, dialled, calling } = this.#identifiers;
    // A number that was dialled is no match by itself, it narrows the search. A trunk of one project's own carries that project's
    // calls, to whatever number is nobody's.
    const project = await this.#index.projectOf(dialled.flatMap((user) => readingsOf(user, [], this.#readNational)));
    const countries = project ? [project.country] : await this.#index.countries();
    const [caller, second] = distinct(callers);
    const values = [
      ...(caller === undefined || second !== undefined ? [] : [caller]),
      ...dialled.filter((user) => parseUuid(user) === null),
      ...calling,
    ];
    const numbers = [...new Set(values.flatMap((value) => readingsOf(value, countries, this.#readNational)))];
    const sessions = numbers.length === 0 ? [] : await this.#index.waitingFor(numbers, project?.id ?? null);
    return { project, countries, sessions };
  }

  /** The one value of a header, or null with the reason. */
  #single(values: readonly string[], rule: MatchRule): string | null {
    const [value, second] = distinct(values);
    if (value === undefined) return this.#miss(rule, null, "not sent");
    if (second !== undefined) return this.#miss(rule, null, "sent several times with different values");
    return value.replace(QUOTED_NAME, "").includes(",") ? this.#miss(rule, value, "a list of values") : value;
  }

  #miss(rule: MatchRule, value: string | null, why: string, readings: string[] = []): null {
    this.#misses.push({ rule, value, why, readings });
    return null;
  }
}

const CODE_MISSES = {
  none: "no session of the project that was dialled waits with this code",
  several: "more than one session waits with this code",
  closed: "too many wrong codes came by this trunk: none is looked at for some minutes",
} as const;

/** The display name of an address, which may have a comma in it: "Byron, Ada" (RFC 3261 section 25.1). */
const QUOTED_NAME = /^"(?:[^"\\]|\\.)*"/;

/** Header values that differ, without the white space around them. */
function distinct(values: readonly string[]): string[] {
  return [...new Set(values.map((value) => value.trim()).filter((value) => value !== ""))];
}

const rank = (environment: Environment) => (environment === "live" ? 0 : 1);

/** Every E.164 number that `text` may mean: as written, with a missing plus, with 00, national in each country. */
function readingsOf(text: string, countries: readonly string[], readNational: ReadNational): string[] {
  const user = addressedNumber(text.replace(/^.*</, "").replace(/>.*$/, ""));
  const exact = parseE164(user);
  if (exact) return [exact];
  const digits = user.replace(/[ \-.()]/g, "");
  if (!/^[0-9]{6,18}$/.test(digits)) return [];
  const international = digits.startsWith("00") ? [parseE164(`+${digits.slice(2)}`)] : [parseE164(`+${digits}`)];
  const national = countries.map((country) => readNational(digits, country));
  return [...new Set([...national, ...international])].filter((number) => number !== null);
}
