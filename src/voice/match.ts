import { parseUuid } from "#src/kernel/ids.ts";
import { parseE164 } from "#src/kernel/phone.ts";
import type { Environment } from "#src/kernel/payment.ts";

/**
 * Which session an inbound call pays (SPEC, What the service does, 8; REQUIREMENTS ). Four rules in order:
 * X-Session-Id, X-Caller, To or Request-URI, From. A rule that names nothing usable hands over to the next; a rule that
 * names a known session ends the search even when that session can no longer be paid, because falling through to another
 * session could charge the wrong sum.
 */

/** The parts of an INVITE that can name a session; `voice/invite.ts` reads them from the request. */
export interface InviteClues {
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

/** What matching asks of the store. */
export interface SessionIndex {
  /** True for a voice session with this id, in whatever state. */
  exists(sessionId: string): Promise<boolean>;
  /** The newest PENDING voice session of this caller, in one project or in all. */
  pendingByCaller(caller: string, projectId: string | null): Promise<{ id: string; environment: Environment } | null>;
  /** The project that owns this service number, with its country for national numbers. */
  projectOfNumber(number: string): Promise<{ id: string; country: string } | null>;
  /** Countries of all projects: how a national number may be meant when the dialled number names no project. */
  countries(): Promise<readonly string[]>;
}

/** A national number as E.164 in the given country, or null (libphonenumber in production). */
export type ReadNational = (digits: string, country: string) => string | null;

/** One value, trimmed; null for none, for a repeated header and for a comma list, which are malformed. */
function single(values: readonly string[]): string | null {
  const distinct = new Set(values.map((value) => value.trim()).filter((value) => value !== ""));
  const [value] = distinct;
  return distinct.size === 1 && value !== undefined && !value.includes(",") ? value : null;
}

/** Finds the session, or null: then the call is refused with 404. */
export async function matchCall(clues: InviteClues, index: SessionIndex, readNational: ReadNational): Promise<Match | null> {
  const project = await dialledProject(clues, index, readNational);
  const countries = project ? [project.country] : await index.countries();

  const byId = async (value: string | null, rule: MatchRule): Promise<Match | null> => {
    const sessionId = value === null ? null : parseUuid(value);
    return sessionId !== null && (await index.exists(sessionId)) ? { sessionId, rule } : null;
  };
  const byCaller = async (values: readonly string[], rule: MatchRule): Promise<Match | null> => {
    for (const caller of values.flatMap((value) => readingsOf(value, countries, readNational))) {
      const session = await index.pendingByCaller(caller, project?.id ?? null);
      if (session) return { sessionId: session.id, rule };
    }
    return null;
  };

  const named = await byId(single(clues.sessionIds), "X-Session-Id");
  if (named) return named;
  const caller = single(clues.callers);
  const claimed = caller === null ? null : await byCaller([caller], "X-Caller");
  if (claimed) return claimed;
  for (const user of clues.dialled) {
    const addressed = (await byId(user, "To")) ?? (await byCaller([user], "To"));
    if (addressed) return addressed;
  }
  return byCaller(clues.calling, "From");
}

/** The project whose service number was dialled: no match by itself, it narrows the search. */
async function dialledProject(clues: InviteClues, index: SessionIndex, readNational: ReadNational) {
  for (const user of clues.dialled) {
    for (const number of readingsOf(user, [], readNational)) {
      const project = await index.projectOfNumber(number);
      if (project) return project;
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
