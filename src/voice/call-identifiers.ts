import type { SipRequest } from "#src/sip/index.ts";
import type { CallIdentifiers } from "./match.ts";

/** RFC 3325 section 9.1: a message has at most two, one of them a tel: URI. */
const MAX_ASSERTED = 2;

/**
 * Reads what can name a session from an INVITE. Headers get lost or moved on a transfer: X- headers may stand in the
 * Request-URI or To (as URI headers of a REFER's Refer-To, RFC 3261 section 19.1.5, or as parameters), and one carrier doubles
 * the `X-` of custom headers. `isTrunk`: whose word on who calls counts.
 */
export function callIdentifiersOf(request: SipRequest, isTrunk: boolean): CallIdentifiers {
  const to = request.to.uri;
  const everywhere = (header: string): string[] =>
    [header, `X-${header}`]
      .flatMap((name) => [
        request.lines(name),
        ...[request.uri, to].flatMap(({ headers, params }) => [valuesIn(headers, name), valuesIn(params, name)]),
      ])
      // Repeated in one place it is a list (RFC 3261 section 7.3.1), which names nothing.
      .map((values) => values.join(","))
      .filter((value) => value !== "");
  const dialled = [to, request.uri].flatMap(({ user, params }) => (user ? [dialledOf(user, params.get("ext"))] : []));
  const asserted = isTrunk
    ? request
        .addresses("P-Asserted-Identity")
        .slice(0, MAX_ASSERTED)
        .map(({ uri }) => uri)
    : [];
  return {
    sessionIds: everywhere("X-Session-Id"),
    callers: everywhere("X-Caller"),
    dialled: [...new Set(dialled.map(({ number }) => number))],
    codes: [...new Set(dialled.flatMap(({ code }) => code ?? []))],
    calling: [...new Set([...asserted, request.from.uri].map(({ user }) => user))].filter(
      (user): user is string => user !== null && !/^(anonymous|restricted|unavailable)$/i.test(user),
    ),
  };
}

function valuesIn(pairs: Iterable<[name: string, value: string]>, wanted: string): string[] {
  return [...pairs].filter(([name]) => name.toLowerCase() === wanted.toLowerCase()).map(([, value]) => value);
}

/** NUMBER*CODE, NUMBER,CODE, NUMBERxCODE, NUMBER;ext=CODE (RFC 3966 section 5.3), or the code alone, which a trunk's project takes. */
function dialledOf(user: string, ext: string | null): { number: string; code: string | null } {
  const [, number = user, behind] = /^(.+?)(?:;ext=|[*,x])([0-9]{8})$/i.exec(user) ?? [];
  const code = behind ?? [ext, user].find((text) => text !== null && /^[0-9]{8}$/.test(text));
  return { number, code: code ?? null };
}
