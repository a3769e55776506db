import type { SipRequest } from "#src/sip/index.ts";
import type { CallIdentifiers } from "./match.ts";

/** RFC 3325 section 9.1: a message has at most two, one of them a tel: URI. */
const MAX_ASSERTED = 2;

/**
 * Reads what can name a session from an INVITE. Headers get lost or moved on a transfer: X- headers may stand in the
 * Request-URI (as URI headers of a REFER's Refer-To, RFC 3261 section 19.1.5, or as parameters), and one carrier doubles
 * the `X-` of custom headers.
 */
export function callIdentifiersOf(request: SipRequest): CallIdentifiers {
  const everywhere = (name: string): string[] => {
    const { uri } = request;
    return [
      ...request.headers(name),
      ...request.headers(`X-${name}`),
      ...[uri.headers.get(name), uri.params.get(name)].filter((value) => value !== null),
    ];
  };
  const to = request.to.uri;
  const asserted = request
    .addresses("P-Asserted-Identity")
    .slice(0, MAX_ASSERTED)
    .map(({ uri }) => uri);
  return {
    sessionIds: everywhere("X-Session-Id"),
    callers: everywhere("X-Caller"),
    dialled: [...new Set([to.user, request.uri.user])].filter((user): user is string => user !== null && user !== ""),
    calling: [...new Set([...asserted, request.from.uri].map(({ user }) => user))].filter(
      (user): user is string => user !== null && !/^(anonymous|restricted|unavailable)$/i.test(user),
    ),
  };
}
