import type { SipRequest } from "#src/sip/index.ts";
import type { CallIdentifiers } from "./match.ts";

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
  const asserted = request.addresses("P-Asserted-Identity").map(({ uri }) => uri);
  return {
    sessionIds: everywhere("X-Session-Id"),
    callers: everywhere("X-Caller"),
    dialled: [...new Set([to.user, request.uri.user])].filter((user): user is string => user !== null && user !== ""),
    calling: [...asserted, request.from.uri]
      .map(({ user }) => user)
      .filter((user): user is string => user !== null && !/^(anonymous|restricted|unavailable)$/i.test(user)),
  };
}
