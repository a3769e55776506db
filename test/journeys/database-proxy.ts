import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What stands between the service and PostgreSQL, and can be cut, fall silent, or swallow the answer to a commit. */
export interface DatabaseProxy {
  /** The database's address with the proxy in the server's place. */
  through(databaseUrl: string): string;
  /** Every connection breaks and no new one is taken, until `mend`. */
  cut(): void;
  mend(): void;
  /** Connections that are open now carry nothing any more and never break; new ones work. */
  silence(): void;
  /**
   * The server gets the next statement with this text or of this name, but its answer is lost with the connection. Resolves when
   * that has happened.
   */
  loseAnswerTo(statement: string): Promise<void>;
  /** The connection on which the next statement with this text or of this name comes breaks before the server gets it. Resolves then. */
  breakBefore(statement: string): Promise<void>;
  close(): Promise<void>;
}

interface Loss {
  statement: string;
  isBefore: boolean;
  happened: () => void;
}

export async function startDatabaseProxy(): Promise<DatabaseProxy> {
  let server = { host: "", port: 0 };
  let isCut = false;
  let loss: Loss | null = null;
  const pairs = new Set<{ client: Socket; upstream: Socket; isSilent: boolean }>();

  // Not even the end of a silent connection is answered.
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(server);
    const pair = { client, upstream, isSilent: false };
    pairs.add(pair);
    let isLosing = false;
    client.on("data", (chunk: Buffer) => {
      if (pair.isSilent) return;
      if (loss && chunk.includes(loss.statement)) {
        if (loss.isBefore) return lose();
        isLosing = true;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => {
      if (pair.isSilent) return;
      if (!isLosing) {
        client.write(chunk);
        return;
      }
      // It has answered, so it has done it.
      lose();
    });
    const lose = () => {
      client.destroy();
      loss?.happened();
      loss = null;
    };
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => {});
      one.on("end", () => void (pair.isSilent || one.end()));
      one.on("close", () => {
        if (!pair.isSilent) other.destroy();
        if (client.destroyed && upstream.destroyed) pairs.delete(pair);
      });
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  const breakAll = () => {
    for (const { client, upstream } of pairs) {
      client.destroy();
      upstream.destroy();
    }
  };
  return {
    through(databaseUrl) {
      const url = new URL(databaseUrl);
      server = { host: url.hostname, port: Number(url.port || 5432) };
      url.hostname = "127.0.0.1";
      url.port = String((listener.address() as AddressInfo).port);
      return url.href;
    },
    cut() {
      isCut = true;
      breakAll();
    },
    mend: () => void (isCut = false),
    silence() {
      for (const pair of pairs) pair.isSilent = true;
    },
    loseAnswerTo: (statement) => new Promise((happened) => (loss = { statement, isBefore: false, happened })),
    breakBefore: (statement) => new Promise((happened) => (loss = { statement, isBefore: true, happened })),
    async close() {
      breakAll();
      listener.close();
      await once(listener, "close");
    },
  };
}
