import { type messages, parse, type PGlite, protocol, type Results } from "@electric-sql/pglite";

const { serialize } = protocol;

/** What the database said of a statement when it parsed it. */
interface Prepared {
  /** Type of each parameter, an OID of `pg_type`. */
  parameterTypes: number[];
  /** The columns of its rows, which come with each `describe` alone. */
  described: messages.BackendMessage[];
}

/**
 * Runs statements under the names that they were prepared with: parsed and planned once, and asked for by one message in place of six.
 * PGlite's `query` does without names, at three to six times the cost. (PostgreSQL, "Extended Query", protocol 3.0.)
 */
export class PreparedStatements {
  readonly #lite: PGlite;
  readonly #prepared = new Map<string, Prepared>();

  constructor(lite: PGlite) {
    this.#lite = lite;
  }

  /** Runs `sql`, whose text under this name never changes. Rejects as `PGlite.query` does. */
  async query(name: string, sql: string, parameters: readonly unknown[]): Promise<Results<Record<string, unknown>>> {
    return await this.#lite.runExclusive(async () => {
      const { parameterTypes, described } = this.#prepared.get(name) ?? (await this.#prepare(name, sql));
      const values = parameters.map((value, index) => this.#text(value, parameterTypes[index]));
      const answered = await this.#send(serialize.bind({ statement: name, values }), serialize.execute({}));
      return parse.parseResults([...described, ...answered], this.#lite.parsers)[0] as Results<Record<string, unknown>>;
    });
  }

  async #prepare(name: string, sql: string): Promise<Prepared> {
    const answered = await this.#send(serialize.parse({ name, text: sql }), serialize.describe({ type: "S", name }));
    const described = answered.filter((message) => message.name === "rowDescription");
    const prepared = { parameterTypes: parse.parseDescribeStatementResults(answered), described };
    this.#prepared.set(name, prepared);
    return prepared;
  }

  /** After an error the database passes over what is left, up to the sync. */
  async #send(...requests: Uint8Array[]): Promise<messages.BackendMessage[]> {
    return await this.#lite.execProtocolStream(Buffer.concat([...requests, serialize.sync()]));
  }

  #text(value: unknown, type = 0): string | null {
    if (value === null || value === undefined) return null;
    return this.#lite.serializers[type]?.(value) ?? (value as string | number | boolean).toString();
  }
}
