import { Client, escapeIdentifier } from "pg";
import { systemClock, within } from "#src/kernel/clock.ts";

interface Handler {
  onPayload: (payload: string) => void;
  onGap: (() => void) | undefined;
}

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5000;
/** A half-open connection is noticed by a query that does not come back. */
const HEARTBEAT_MS = 10_000;
/** A server that is gone without a word answers no goodbye; TCP itself would wait for a quarter of an hour. */
const GOODBYE_MS = 2000;

/** LISTEN on a connection of its own, which is opened with the first channel and comes back by itself when it is lost. */
export class PostgresListener {
  readonly #connectionString: string;
  readonly #channels = new Map<string, Set<Handler>>();
  #client: Promise<Client> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(connectionString: string) {
    this.#connectionString = connectionString;
  }

  /** Resolves when the server listens. Rejects when it cannot be reached; a connection lost later is restored in silence. */
  async listen(channel: string, onPayload: (payload: string) => void, onGap?: () => void): Promise<() => Promise<void>> {
    const handler = { onPayload, onGap };
    const handlers = this.#channels.get(channel) ?? new Set<Handler>();
    this.#channels.set(channel, handlers.add(handler));
    try {
      const client = await (this.#client ??= this.#connect());
      await client.query(`listen ${escapeIdentifier(channel)}`);
    } catch (error) {
      handlers.delete(handler);
      throw error;
    }
    return async () => void handlers.delete(handler);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = await this.#client?.catch(() => null);
    if (client) await within(systemClock, GOODBYE_MS, client.end(), () => undefined);
  }

  async #connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.#connectionString,
      application_name: "voicetill listener",
      keepAlive: true,
      connectionTimeoutMillis: 5000,
      query_timeout: 5000,
    });
    let lost = () => {};
    client.on("error", () => lost());
    client.on("end", () => lost());
    client.on("notification", ({ channel, payload }) => {
      for (const handler of this.#channels.get(channel) ?? []) handler.onPayload(payload ?? "");
    });
    try {
      await client.connect();
      for (const channel of this.#channels.keys()) await client.query(`listen ${escapeIdentifier(channel)}`);
    } catch (error) {
      this.#client = null;
      client.end().catch(() => {});
      throw error;
    }
    lost = () => {
      lost = () => {};
      if (this.#closed) return;
      this.#client = null;
      client.end().catch(() => {});
      this.#reconnectAfter(FIRST_RETRY_MS);
    };
    this.#beat(client, () => lost());
    return client;
  }

  #beat(client: Client, onSilence: () => void): void {
    this.#timer = setTimeout(
      () => void client.query("select 1").then(() => !this.#closed && this.#beat(client, onSilence), onSilence),
      HEARTBEAT_MS,
    );
  }

  #reconnectAfter(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const missed = [...this.#channels.values()].flatMap((handlers) => [...handlers]);
      (this.#client ??= this.#connect()).then(
        () => missed.forEach((handler) => handler.onGap?.()),
        () => !this.#closed && this.#reconnectAfter(Math.min(LAST_RETRY_MS, delayMs * 2)),
      );
    }, delayMs);
  }
}
