import { VERSION } from "#src/version.ts";
import type { Secret } from "#src/kernel/secret.ts";
import { eventsIn, type StreamEvent } from "./events.ts";

const ANSWER_MS = 30_000;

/** What kept a request from being done, in the service's own words where it gave any. */
export class ApiFault extends Error {
  /** Null when no whole answer came: then it is not known whether it was done. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    { status = null, retryAfterMs = null, cause }: Partial<Pick<ApiFault, "status" | "retryAfterMs" | "cause">>,
  ) {
    super(message, { cause });
    this.name = "ApiFault";
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

interface Request {
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** How long an answer may take. */
  limitMs?: number;
}

/** The service's HTTP interface. Both throw ApiFault, or the reason of `signal`. */
export interface ApiClient {
  /** `body` is null when the answer has none. */
  send(method: "GET" | "POST", path: string, request?: Request): Promise<{ body: unknown; headers: Headers }>;
  /** A stream's events, until the service ends it. */
  events(path: string, signal?: AbortSignal): AsyncGenerator<StreamEvent>;
}

/** `url`: the service's base address, without a slash at its end. */
export function openApiClient(url: string, key: Secret): ApiClient {
  async function ask(method: string, path: string, { body, headers, signal }: Request): Promise<Response> {
    const response = await fetch(`${url}${path}`, {
      method,
      // The key goes to no other address than the one that was given.
      redirect: "manual",
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        "user-agent": `voicetill-mcp/${VERSION}`,
        ...(body && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    if (!response.ok) throw await refusalOf(url, response);
    return response;
  }

  /** What `fetch` and its bodies throw, as what it means to whoever asked. */
  function faultOf(error: unknown, signal: AbortSignal | undefined): unknown {
    if (error instanceof ApiFault || signal?.aborted) return error;
    return new ApiFault(`Voicetill does not answer at ${url} (${reasonOf(error)}): start it (npm start), or give its address with --url.`, {
      cause: error,
    });
  }

  return {
    async send(method, path, { signal, limitMs = ANSWER_MS, ...request } = {}) {
      const limit = AbortSignal.timeout(limitMs);
      try {
        const response = await ask(method, path, { ...request, signal: signal ? AbortSignal.any([signal, limit]) : limit });
        return { body: parsed(url, response.status, await response.text()), headers: response.headers };
      } catch (error) {
        throw faultOf(error, signal);
      }
    },
    async *events(path, signal) {
      try {
        const { body } = await ask("GET", path, { ...(signal && { signal }), headers: { accept: "text/event-stream" } });
        if (body) yield* eventsIn(body.pipeThrough(new TextDecoderStream()));
      } catch (error) {
        throw faultOf(error, signal);
      }
    },
  };
}

function parsed(url: string, status: number, text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ApiFault(`What answers at ${url} is no Voicetill's HTTP interface.`, { status, cause });
  }
}

async function refusalOf(url: string, response: Response): Promise<ApiFault> {
  const { status, headers } = response;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const text = await response.text();
  const location = headers.get("location");
  if (location !== null) return new ApiFault(`${url} leads to ${location}: give that server's address with --url.`, { status });
  const words = wordsOf(text);
  return new ApiFault(
    [
      words === null ? `${status} without a reason: is ${url} Voicetill's address?` : `${status}: ${words}`,
      ...(Number.isFinite(seconds) ? [`try again in ${seconds} s`] : []),
    ].join("; "),
    { status, retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null },
  );
}

interface Fault {
  loc: readonly (string | number)[];
  msg: string;
  type: string;
}

/** `detail` of a refusal: a sentence, or the list of a 422 (docs/errors.md). */
function wordsOf(text: string): string | null {
  try {
    const { detail } = JSON.parse(text) as { detail: string | readonly Fault[] };
    if (typeof detail === "string") return detail;
    return detail.map(({ loc, msg, type }) => `${loc.join(".")}: ${msg} (${type})`).join("; ");
  } catch {
    return null;
  }
}

/** `fetch` says of every failure that it failed; the reason is its cause's. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === "TimeoutError") return "no answer in time";
  return cause?.code ?? cause?.message ?? message;
}
