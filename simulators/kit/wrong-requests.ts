import { request as httpRequest } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { RequestOptions } from "node:https";
import type { Simulators } from "../index.ts";
import { element, pairs } from "./answers.ts";

/**
 * A simulator's table of wrong requests: `simulators/<name>/wrong-requests.ts` exports `wrongRequests`, and
 * `simulators/wrong-requests.test.ts` sends each of at least 25 of them. Every request of `requests` must be accepted as it
 * stands; a case changes it and names what the vendor then says.
 */
export interface WrongRequests {
  /** What the vendor says in an answer: its code, with words where the code alone says nothing; null when the request was accepted. */
  codeOf: (answer: ReceivedAnswer) => string | null;
  /** Valid requests by name, made anew for each case. */
  requests: Readonly<Record<string, (send: Send) => Sent | Promise<Sent>>>;
  /** Last step before a request is sent: signatures over what the case has changed. */
  sign?: (sent: Sent) => Sent;
  /**
   * Which request, what is changed, what the vendor says. A change names a field as the rules do (`card.number`), `header:x`,
   * `query:x`, `method`, `path`, `body` or `isSecure`; undefined takes it away. Headers are changed after signing.
   */
  cases: readonly (readonly [request: string, changes: Readonly<Record<string, unknown>>, code: string | RegExp])[];
}

export interface Sent {
  /** `POST /path?query`, without the gateway's prefix. */
  at: string;
  headers?: Readonly<Record<string, string>>;
  /** Text goes as it is. JSON and XML bodies are objects as they nest, forms and name-value pairs are flat. */
  body?: string | Readonly<Record<string, unknown>>;
  /** How an object is written. */
  format?: "json" | "form" | "nameValue" | "xml";
  /** Over TLS. */
  isSecure?: boolean;
}

export interface ReceivedAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Undefined when the text is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of 26 vendors, read by tests only
  json: any;
}

export type Send = (sent: Sent) => Promise<ReceivedAnswer>;

const TYPES = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
  nameValue: "text/namevalue",
  xml: "text/xml",
} as const;

/** The value of an Authorization header (RFC 7617). */
export function basicOf(user: string, password = ""): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** The body as text: an object in its format, anything else as it is. */
export function written({ body = "", format = "json" }: Sent): string {
  if (typeof body === "string") return body;
  if (format === "json") return JSON.stringify(body);
  if (format === "form") return new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)])).toString();
  if (format === "nameValue")
    return pairs(Object.fromEntries(Object.entries(body).map(([name, value]) => [`${name}[${String(value).length}]`, String(value)])));
  return Object.entries(body)
    .map(([name, value]) => xmlOf(name, value))
    .join("");
}

function xmlOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => xmlOf(name, item)).join("");
  if (typeof value !== "object" || value === null) return element(name, String(value));
  return element(
    name,
    Object.entries(value).map(([member, inside]) => xmlOf(member, inside)),
  );
}

/** Sends to one gateway's simulator. */
export function senderTo(simulators: Simulators, gateway: string): Send {
  return async (sent) => {
    const [method = "", path = ""] = sent.at.split(" ");
    const headers = { "content-type": TYPES[sent.format ?? "json"], ...sent.headers };
    const url = `${sent.isSecure ? simulators.httpsUrl : simulators.url}/${gateway}${path}`;
    const { response, text } = await exchange(url, { method, headers, ca: simulators.ca }, method === "GET" ? "" : written(sent));
    return { status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) };
  };
}

function exchange(url: string, options: RequestOptions, body: string): Promise<{ response: IncomingMessage; text: string }> {
  return new Promise((resolve, reject) => {
    const request = (url.startsWith("https") ? httpsRequest : httpRequest)(url, { ...options, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ response, text: Buffer.concat(chunks).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The request with a case's changes, signed. */
export function changed(sent: Sent, changes: Readonly<Record<string, unknown>>, sign: (sent: Sent) => Sent = (sent) => sent): Sent {
  const copy: Sent & { headers: Record<string, string> } = {
    ...sent,
    headers: { ...sent.headers },
    body: structuredClone(sent.body ?? ""),
  };
  const entries = Object.entries(changes);
  for (const [name, value] of entries) {
    const [method = "", path = ""] = copy.at.split(" ");
    if (name === "method") copy.at = `${asText(value)} ${path}`;
    else if (name === "path") copy.at = `${method} ${asText(value)}`;
    else if (name === "isSecure") copy.isSecure = value === true;
    else if (name === "body") copy.body = value as string;
    else if (name.startsWith("query:")) {
      const url = new URL(path, "http://vendor");
      if (value === undefined) url.searchParams.delete(name.slice(6));
      else url.searchParams.set(name.slice(6), asText(value));
      copy.at = `${method} ${url.pathname}${url.search}`;
    } else if (!name.startsWith("header:"))
      setField(
        copy.body as Record<string, unknown>,
        name,
        value,
        sent.format === "json" || sent.format === undefined || sent.format === "xml",
      );
  }
  const signed = sign(copy);
  const headers: Record<string, string> = { ...signed.headers };
  for (const [name, value] of entries.filter(([name]) => name.startsWith("header:"))) {
    for (const same of Object.keys(headers).filter((other) => other.toLowerCase() === name.slice(7).toLowerCase())) delete headers[same];
    if (value !== undefined) headers[name.slice(7)] = asText(value);
  }
  return { ...signed, headers };
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function setField(body: Record<string, unknown>, name: string, value: unknown, nests: boolean): void {
  const path = nests ? name.split(/\.|\[([0-9]+)\]/).filter((part) => part !== undefined && part !== "") : [name];
  const last = path.pop() ?? "";
  const parent = path.reduce((part, step) => (part[step] ??= {}) as Record<string, unknown>, body);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
}
