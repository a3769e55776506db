import type { GatewayIo, GatewayRequest } from "../contract.ts";
import { formBody, jsonBody, xmlBody } from "./body.ts";
import type { FormFields, JsonBody, XmlNode } from "./body.ts";
import type { Answered } from "./triage.ts";

/** Requests in the usual forms. A header given here replaces the usual one; `timeoutMs` is the vendor's own, if it has one. */

type Headers = Readonly<Record<string, string>>;

/** A request with these headers alone, in their order. */
export const request = (
  method: GatewayRequest["method"],
  url: string,
  headers: Headers,
  body?: Uint8Array,
  timeoutMs?: number,
): GatewayRequest => ({
  method,
  url,
  headers,
  ...(body !== undefined && { body }),
  ...(timeoutMs !== undefined && { timeoutMs }),
});

const write = (url: string, type: string, body: Uint8Array, headers: Headers, timeoutMs?: number): GatewayRequest =>
  request("POST", url, { "Content-Type": type, ...headers }, body, timeoutMs);

export const postJson = (url: string, body: JsonBody, headers: Headers = {}, timeoutMs?: number): GatewayRequest =>
  write(url, "application/json", jsonBody(body), { Accept: "application/json", ...headers }, timeoutMs);

export const postForm = (url: string, fields: FormFields, headers: Headers = {}, timeoutMs?: number): GatewayRequest =>
  write(url, "application/x-www-form-urlencoded", formBody(fields), headers, timeoutMs);

export const postXml = (url: string, root: XmlNode, headers: Headers = {}, timeoutMs?: number): GatewayRequest =>
  write(url, "text/xml", xmlBody(root), headers, timeoutMs);

export const get = (url: string, headers: Headers = {}, timeoutMs?: number): GatewayRequest =>
  request("GET", url, { Accept: "application/json", ...headers }, undefined, timeoutMs);

/** Takes what is stored at an address out of the vendor's keeping. */
export const remove = (url: string, headers: Headers = {}, timeoutMs?: number): GatewayRequest => ({
  ...get(url, headers, timeoutMs),
  method: "DELETE",
});

/** What a page of a list may hold: a hundred payments, with all that a vendor tells of each of them. */
const LIST_BYTES = 4 * 1024 * 1024;

/** The same request for a page of a list: as any other answer, one of a busy merchant's would be too long. */
export const listed = (request: GatewayRequest): GatewayRequest => ({ ...request, maxBytes: LIST_BYTES });

/** The answer, if one arrived: for look-ups, whose silence says nothing. */
export async function ask(io: Pick<GatewayIo, "send">, request: GatewayRequest): Promise<Answered | null> {
  const answer = await io.send(request);
  return answer.kind === "answered" ? answer : null;
}
