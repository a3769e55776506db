import assert from "node:assert/strict";

/** The interface as its callers have it: a request and its answer, and a session's event stream. */

/** A session as the interface shows it. */
export type Shown = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  body: Shown;
}

export async function ask(url: string, method: string, key: string, { body, headers = {} }: { body?: object; headers?: object } = {}) {
  const response = await sent(url, {
    method,
    redirect: "manual",
    headers: { authorization: `Bearer ${key}`, ...(body ? { "content-type": "application/json" } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  const answer: Answer = { status: response.status, headers: response.headers, body: text === "" ? {} : (JSON.parse(text) as Shown) };
  return answer;
}

/** `fetch`, whose own failure says neither what was asked nor of whom. */
async function sent(url: string, init: RequestInit): Promise<Response> {
  return await fetch(url, init).catch((cause: unknown) => {
    throw new Error(`${init.method ?? "GET"} ${url} failed`, { cause });
  });
}

export interface StreamReader {
  /** Every session shown so far. */
  shown: Shown[];
  /** The data of the events named `progress` so far. */
  progress: Shown[];
  /** Resolves with the session when the stream shows this status; rejects when it ends before. */
  until(status: string): Promise<Shown>;
  /** Resolves with everything that was sent, when the server has ended the stream. */
  ended: Promise<string>;
  /** Listens no longer. */
  close(): void;
}

/** Opens a session's event stream. Resolves when its first event is there. */
export async function openStream(url: string, key: string, headers: object = {}): Promise<StreamReader> {
  const leaving = new AbortController();
  const response = await sent(url, { headers: { authorization: `Bearer ${key}`, ...headers }, signal: leaving.signal });
  assert.equal(response.status, 200);
  const shown: Shown[] = [];
  const progress: Shown[] = [];
  const waiting = new Set<{ status: string; resolve: (session: Shown) => void }>();
  const first = Promise.withResolvers<void>();

  const read = async (): Promise<string> => {
    let [text, seen] = ["", 0];
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      const events = text.split("\n\n").slice(0, -1);
      for (; seen < events.length; seen++) {
        const data = /^data: ?(.*)$/m.exec(events[seen]!)?.[1];
        if (data === undefined) continue;
        const session = JSON.parse(data) as Shown;
        if (/^event: progress$/m.test(events[seen]!)) {
          progress.push(session);
          continue;
        }
        shown.push(session);
        first.resolve();
        for (const wish of waiting) if (wish.status === session["status"]) wish.resolve(session);
      }
    }
    return text;
  };
  const ended = read();
  ended.catch(() => undefined);
  await Promise.race([first.promise, ended]);

  return {
    shown,
    progress,
    ended,
    close: () => leaving.abort(),
    until: async (status) => {
      const known = shown.find((session) => session["status"] === status);
      if (known) return known;
      const { promise, resolve } = Promise.withResolvers<Shown>();
      const wish = { status, resolve };
      waiting.add(wish);
      const without = () => {
        throw new Error(`the stream ended with ${String(shown.at(-1)?.["status"])}, not with ${status}`);
      };
      return await Promise.race([promise, ended.then(without, without)]).finally(() => waiting.delete(wish));
    },
  };
}
