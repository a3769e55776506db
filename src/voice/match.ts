import { parseUuid } from "#src/kernel/ids.ts";
import { parseE164 } from "#src/kernel/phone.ts";
import type { Environment } from "#src/kernel/payment.ts";

/**
 * Which session an inbound call pays (docs/interface.md, Matching calls; ). Four rules in order:
 * X-Session-Id, X-Caller, To or Request-URI, From. A rule that names nothing usable hands over to the next; a rule that
 * names a known session ends the search even when that session can no longer be paid, because falling through to another
 * session could charge the wrong sum.
 */

/** The parts of an INVITE that can name a session; `voice/invite.ts` reads them from the request. */
export interface CallIdentifiers {
  /** Every X-Session-Id value, wherever the transfer put it: header, URI header or URI parameter. */
  sessionIds: readonly string[];
  callers: readonly string[];
  /** User parts of the To URI and the Request-URI, unescaped. */
  dialled: readonly string[];
  /** User parts that say who calls, the asserted one first. Empty when anonymous. */
  calling: readonly string[];
}

export type MatchRule = "X-Session-Id" | "X-Caller" | "To" | "From";

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

/** What matching asks of the store. */
export interface SessionIndex {
  /** What kind of session has this id, in whatever state; null for none. */
  channelOf(sessionId: string): Promise<"voice" | "widget" | null>;
  /** The newest PENDING voice session of this caller, in one project or in all. */
  pendingByCaller(caller: string, projectId: string | null): Promise<{ id: string; environment: Environment } | null>;
  /** The project that owns this service number, with its country for national numbers. */
  projectOfNumber(number: string): Promise<{ id: string; country: string } | null>;
  /** Countries of all projects: how a national number may be meant when the dialled number names no project. */
  countries(): Promise<readonly string[]>;
}

/** A national number as E.164 in the given country, or null (libphonenumber in production). */
export type ReadNational = (digits: string, country: string) => string | null;

/** Finds the session; or answers why each rule found none: then the call is refused with 404. */
export async function matchCall(
  identifiers: CallIdentifiers,
  index: SessionIndex,
  readNational: ReadNational,
): Promise<Match | { misses: Miss[] }> {
  const project = await dialledProject(identifiers, index, readNational);
  const countries = project ? [project.country] : await index.countries();
  const misses: Miss[] = [];
  const miss = (rule: MatchRule, value: string | null, why: string, readings: string[] = []) => {
    misses.push({ rule, value, why, readings });
    return null;
  };

  const byId = async (value: string, rule: MatchRule): Promise<Match | { misses: Miss[] } | null> => {
    const sessionId = parseUuid(value);
    if (sessionId === null) return miss(rule, value, "not a session id");
    const channel = await index.channelOf(sessionId);
    if (channel === "voice") return { sessionId, rule };
    if (channel === null) return miss(rule, value, "there is no such voice session");
    // it names a payment, so no other one may be taken for it.
    miss(rule, value, "a widget session cannot be called");
    return { misses };
  };
  const byCaller = async (value: string, rule: MatchRule): Promise<Match | null> => {
    const readings = readingsOf(value, countries, readNational);
    if (readings.length === 0) return miss(rule, value, "not a telephone number");
    for (const caller of readings) {
      const session = await index.pendingByCaller(caller, project?.id ?? null);
      if (session) return { sessionId: session.id, rule };
    }
    const isOwn = project !== null && readings.includes(project.number);
    const narrowed = project ? " in the project whose number was dialled" : "";
    return miss(rule, value, isOwn ? "the project's own number names no session" : `no session waits for this caller${narrowed}`, readings);
  };
  /** The one value of a header, or null with the reason. */
  const single = (values: readonly string[], rule: MatchRule): string | null => {
    const distinct = new Set(values.map((value) => value.trim()).filter((value) => value !== ""));
    const [value] = distinct;
    if (value === undefined) return miss(rule, null, "not sent");
    if (distinct.size > 1) return miss(rule, null, "sent several times with different values");
    return value.includes(",") ? miss(rule, value, "a list of values") : value;
  };

  const sessionId = single(identifiers.sessionIds, "X-Session-Id");
  const named = sessionId === null ? null : await byId(sessionId, "X-Session-Id");
  if (named) return named;
  const caller = single(identifiers.callers, "X-Caller");
  const claimed = caller === null ? null : await byCaller(caller, "X-Caller");
  if (claimed) return claimed;
  if (identifiers.dialled.length === 0) miss("To", null, "no user part");
  for (const user of identifiers.dialled) {
    const addressed = parseUuid(user) === null ? await byCaller(user, "To") : await byId(user, "To");
    if (addressed) return addressed;
  }
  if (identifiers.calling.length === 0) miss("From", null, "anonymous");
  for (const user of identifiers.calling) {
    const calling = await byCaller(user, "From");
    if (calling) return calling;
  }
  return { misses };
}

/** The project whose service number was dialled: no match by itself, it narrows the search. */
async function dialledProject(identifiers: CallIdentifiers, index: SessionIndex, readNational: ReadNational) {
  for (const user of identifiers.dialled) {
    for (const number of readingsOf(user, [], readNational)) {
      const project = await index.projectOfNumber(number);
      if (project) return { ...project, number };
    }
  }
  return null;
}

/** Every E.164 number that `text` may mean: as written, with a missing plus, with 00, national in each country. */
function readingsOf(text: string, countries: readonly string[], readNational: ReadNational): string[] {
  const user = /^(?:sips?:|tel:)?([^@;>]*)/i.exec(text.trim().replace(/^.*</, ""))?.[1] ?? "";
  const exact = parseE164(user);
  if (exact) return [exact];
  const digits = user.replace(/[ \-.()]/g, "");
  if (!/^[0-9]{6,18}$/.test(digits)) return [];
  const international = digits.startsWith("00") ? [parseE164(`+${digits.slice(2)}`)] : [parseE164(`+${digits}`)];
  const national = countries.map((country) => readNational(digits, country));
  return [...new Set([...national, ...international])].filter((number) => number !== null);
}
