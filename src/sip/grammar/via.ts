import { nextComma, type Params, Scanner, trimBlank } from "./scanner.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { parseHostPort } from "./uri.ts";

/** RFC 3261 section 8.1.1.7: a branch that begins so identifies the transaction by itself. */
export const BRANCH_COOKIE = "z9hG4bK";

/** One hop of a Via header (RFC 3261 section 20.42). */
export interface Via {
  /** "SIP/2.0" as written by the sender, who may be of another version. */
  version: string;
  /** Upper case: "UDP", "TCP", or whatever the sender knows. */
  transport: string;
  host: string;
  port: number | null;
  params: Params;
}

const SENT_BY = /[^;,\s]+(?:[ \t]*:[ \t]*[0-9]+)?/y;

/** The first hop of a Via header field, and the text of the hops behind it in the same field (null when there is none). */
export function parseVia(value: string): { via: Via; rest: string | null } {
  const comma = nextComma(value, 0);
  const scanner = new Scanner(comma < 0 ? value : value.slice(0, comma));
  scanner.space();
  const name = scanner.token();
  if (name.toUpperCase() !== "SIP" || !scanner.separator("/")) scanner.fail("not a SIP Via");
  const version = `SIP/${scanner.token()}`;
  if (!scanner.separator("/")) scanner.fail("Via without transport");
  const transport = scanner.token().toUpperCase();
  scanner.space();
  const [host, port] = parseHostPort(scanner.match(SENT_BY) ?? scanner.fail("Via without sent-by"));
  const params = scanner.params();
  scanner.end();
  return { via: { version, transport, host, port, params }, rest: comma < 0 ? null : trimBlank(value.slice(comma + 1)) };
}

export function formatVia(via: Via): string {
  return `${via.version}/${via.transport} ${formatHostPort(via.host, via.port)}${via.params.toString()}`;
}
