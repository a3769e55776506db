import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { AccessTokens, header } from "./auth.ts";
import { READERS, textOf } from "./bodies.ts";
import type { BodyFormat, Fields, Reader } from "./bodies.ts";
import { codeLength, isCardNumber, isExpired, mask, minorOf, UNIFORM_CARDS } from "./cards.ts";
import type { Card, CardFault, CardPlaces, Issuer } from "./cards.ts";
import { faultIn } from "./rules.ts";
import type { FieldFault, Rules } from "./rules.ts";
import { ConnectionReset, Refusal } from "./simulator.ts";
import type { Answer, SimulatorAnswer, SimulatorFactory, SimulatorRequest, SimulatorTools } from "./simulator.ts";
import { Transactions } from "./transactions.ts";
import type { Added, Transaction } from "./transactions.ts";
import { Vault } from "./vault.ts";
import type { Kept } from "./vault.ts";

/**
 * A simulator as a table of facts. Order of the checks: path and method, credentials, headers, body, fields, idempotency key;
 * then the endpoint runs. Whatever throws a `Refusal` on the way has charged nothing.
 */
export interface Definition<State extends object, Details extends object, Stored extends { number: string }> {
  /** How bodies are written, or how to read them; an endpoint may differ. A GET's fields are its query. */
  body: BodyFormat | Reader;
  /** Fields must stand in the order of the rules, as in an XML sequence. */
  isOrdered?: boolean;
  /** Which of several operations on one path a request asks for, as the endpoints' names end (`"POST / S"`). */
  operationOf?(fields: Fields, request: { headers: IncomingHttpHeaders; body: Buffer }): string | undefined;
  /** Name of the account that the request speaks for, each with its own transactions and state; throws a `Refusal`. */
  authenticate(request: Incoming): string;
  /** Headers that the vendor checks, in lower case. */
  headers?: Rules;
  endpoints: Readonly<Record<string, Endpoint<State, Details, Stored>>>;
  /** The field of a payment that holds our reference. */
  reference?: string;
  /** Fields that tell how a payment was meant: the ledger keeps them under the last part of their names. */
  recorded?: readonly string[];
  /** What each account has besides its transactions and its stored cards. */
  state?(): State;
  idempotency?: Idempotency;
  refuse: {
    /** The body cannot be read, or its content type is another: then `isOtherType`. */
    malformed(request: Incoming, isOtherType: boolean): Refusal;
    /** No such path, or not with this method: then `isKnown`. */
    path(request: Incoming, isKnown: boolean): Refusal;
    field(fault: FieldFault, request: Incoming): Refusal;
  };
  /** Headers that every response carries. */
  responseHeaders?(request: Incoming): Record<string, string>;
  /** Last touch on every response: its envelope, a signature. */
  finish?(answer: Answer, request: Incoming): Answer;
}

/** Named `METHOD /path/:id`, with ` operation` behind it where one path serves many. */
export interface Endpoint<State extends object, Details extends object, Stored extends { number: string } = Card> {
  /** Left out: it takes no field. */
  rules?: Rules;
  run(call: Call<State, Details, Stored>): Answer | Promise<Answer>;
  body?: BodyFormat | Reader;
  /** The vendor ignores what it does not know. */
  isOpen?: boolean;
  /** False: the idempotency key means nothing here. */
  isIdempotent?: boolean;
  authenticate?(request: Incoming): string;
}

/** Replay by a key of the sender. Refusals are not kept, unless said otherwise, so that a mended request may use its key again. */
export interface Idempotency {
  /** The key, or "" when the request has none; may throw a `Refusal`. */
  keyOf(request: Incoming): string;
  /** Same key, another request; without it the first answer is given whatever the second request is. */
  mismatch?(key: string): Refusal;
  /** The first request of that key is still being worked on; the second waits for its answer, when left out. */
  running?(key: string): Refusal;
  /** False for answers that are forgotten; all are kept otherwise. */
  keeps?(answer: Answer): boolean;
  /** Refusals of the request itself are replayed as well. */
  keepsRefusals?: boolean;
  /** The second answer, made of the first; as it was, when left out. */
  replay?(first: Answer): Answer;
  /** How long a key is remembered; for ever when left out. */
  windowMs?: number;
}

/** A request with its body read. */
export interface Incoming extends SimulatorRequest {
  fields: Fields;
  tools: SimulatorTools;
  /** Values of `:id` and the like in the path. */
  params: Readonly<Record<string, string>>;
  operation: string | undefined;
  /** False: the body cannot be read, so there are no fields. Only who finds credentials in the body needs to ask. */
  isReadable: boolean;
  /** What this simulator has issued, for vendors whose requests carry access tokens. */
  tokens: AccessTokens;
  /** What the simulator keeps that belongs to no account, by names of its own. */
  shared: Map<string, unknown>;
}

/** What an endpoint works on. */
export class Call<State extends object, Details extends object, Stored extends { number: string } = Card> {
  readonly request: Incoming;
  readonly tools: SimulatorTools;
  readonly fields: Fields;
  readonly params: Readonly<Record<string, string>>;
  readonly accountName: string;
  readonly state: State;
  readonly transactions: Transactions<Details>;
  readonly vault: Vault<Stored>;
  /** Set by `decide`. */
  isLost = false;

  readonly #facts: Facts;

  constructor(request: Incoming, accountName: string, { state, transactions, vault }: Account<State, Details, Stored>, facts: Facts) {
    this.#facts = facts;
    this.request = request;
    this.accountName = accountName;
    this.state = state;
    this.transactions = transactions;
    this.vault = vault;
    ({ tools: this.tools, fields: this.fields, params: this.params } = request);
  }

  has(field: string): boolean {
    return this.fields.has(field);
  }

  /** The field as text, "" when it is absent. */
  text(field: string): string {
    return textOf(this.fields, field);
  }

  /** The field as text, undefined when it is absent or empty. */
  maybe(field: string): string | undefined {
    return this.text(field) || undefined;
  }

  /** Several fields as texts: `const [number, code] = call.texts("number", "code")`. */
  texts<const Names extends readonly string[]>(...names: Names): { -readonly [Index in keyof Names]: string } {
    return names.map((name) => this.text(name)) as { -readonly [Index in keyof Names]: string };
  }

  /** Those of the fields that were sent, under their own names, as an answer repeats them. */
  given(...names: readonly string[]): Record<string, string> {
    return Object.fromEntries(names.filter((name) => this.has(name)).map((name) => [name, this.text(name)]));
  }

  /** The value of `:name` in the path. */
  param(name: string): string {
    return this.params[name] ?? "";
  }

  number(field: string): number {
    return Number(this.text(field));
  }

  /** The field as a number, undefined when it is absent. */
  maybeNumber(field: string): number | undefined {
    return this.has(field) ? this.number(field) : undefined;
  }

  /** An amount such as 12.34 in minor units of the currency, undefined when it is absent. */
  minor(field: string, currency: string): number | undefined {
    return this.has(field) ? minorOf(this.text(field), currency) : undefined;
  }

  /** The leaves whose names begin so and end in `end`, without either: `under("metadata[", "]")`. */
  under(start: string, end = ""): Record<string, string> {
    const found = [...this.fields.keys()].filter((name) => name.startsWith(start) && name.endsWith(end));
    return Object.fromEntries(found.map((name) => [name.slice(start.length, name.length - end.length), this.text(name)]));
  }

  /**
   * What the issuer says to a card: null for yes. It ends the request for the card whose connection is reset, and lets the
   * response of the one that is never answered be lost.
   */
  decide<Words>(issuer: Issuer<Words>, number: string): Words | null {
    const outcome = UNIFORM_CARDS.get(number);
    if (outcome === "reset") throw new ConnectionReset();
    if (outcome === "lost answer") this.isLost = true;
    return issuer(outcome ?? number);
  }

  /** A payment, approved unless the issuer said `no` to it: with our reference, and with those of its fields that the ledger keeps. */
  take({ no = null, isApproved = no === null, reference, ledger, ...taken }: Taken<Details>): Transaction<Details> {
    const names = this.#facts.recorded ?? [];
    const fields = Object.fromEntries(names.map((name) => [name.slice(name.lastIndexOf(".") + 1), this.maybe(name) ?? null]));
    const ours = reference === undefined ? this.maybe(this.#facts.reference ?? "") : reference;
    return this.transactions.add({ ...taken, isApproved, reference: ours, ledger: { ...fields, ...ledger } });
  }

  /** Whether a number is within the bounds `name[gt]`, `name[gte]`, `name[lt]` and `name[lte]`, or as `nameOf` spells them, where sent. */
  isWithin(name: string, value: number, nameOf = (bound: string) => `${name}[${bound}]`): boolean {
    const [gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity] = ["gt", "gte", "lt", "lte"].map((bound) =>
      this.maybeNumber(nameOf(bound)),
    );
    return value > gt && value >= gte && value < lt && value <= lte;
  }

  /** The card of the request, when nothing is against its form alone; else what `refuse` makes of it is thrown. */
  card(places: CardPlaces, refuse: (fault: CardFault) => Refusal): Card {
    const [number, code] = [this.text(places.number), this.text(places.code ?? "")];
    const [, first = "", second = ""] = /^(\d{1,2})\D?(\d+)$/.exec(this.text(places.expiry ?? "")) ?? [];
    const [month, year] = places.expiry === undefined ? [this.text(places.month ?? ""), this.text(places.year ?? "")] : [first, second];
    if (!isCardNumber(number)) throw refuse("number");
    if (isExpired(Number(month), Number(year), this.tools.now())) throw refuse("expiry");
    if (code !== "" && code.length !== codeLength(number)) throw refuse("code");
    return { number, month, year };
  }

  /** What a look-up by reference finds; the ledger keeps that it was asked. */
  lookUp(reference: string | null, isMeant: (transaction: Transaction<Details>) => boolean): Transaction<Details>[] {
    return this.transactions.lookUp(this.request.lookUpLag(), reference, isMeant);
  }

  /** The same by the vendor's own id. */
  lookUpById(id: string): Transaction<Details> | undefined {
    return this.lookUp(this.transactions.get(id)?.reference ?? null, (transaction) => transaction.id === id)[0];
  }

  /** The same among the stored cards. */
  lookUpCards(reference: string | null, isMeant: (card: Kept<Stored>) => boolean): Kept<Stored>[] {
    this.tools.record({ kind: "look-up", id: null, reference, outcome: null });
    const lagMs = this.request.lookUpLag();
    return this.vault.all((card) => (lagMs === 0 || card.at <= this.tools.now() - lagMs) && isMeant(card));
  }

  /** A card that is kept without being a transaction: the ledger has it as a token. */
  recordStored(id: string | null, reference: string | null, number: string): void {
    this.tools.record({ kind: "token", id, reference, outcome: "approved", card: mask(number) });
  }

  /** Such a card is forgotten. */
  recordRemoved(id: string | null, reference: string | null): void {
    this.tools.record({ kind: "void", id, reference, outcome: "approved" });
  }
}

type Facts = { readonly reference?: string; readonly recorded?: readonly string[] };
/** What was asked of the issuer; `no`: its words, null for yes. */
type Taken<Details> = Omit<Added<Details>, "isApproved"> & { no?: unknown; isApproved?: boolean };

interface Account<State extends object, Details extends object, Stored extends { number: string }> {
  state: State;
  transactions: Transactions<Details>;
  vault: Vault<Stored>;
}

interface FirstAnswer {
  fingerprint: string;
  /** Null while the first request is being worked on. */
  answer: Answer | null;
  at: number;
  /** Resolves when the first request is through, however it ended. */
  through: Promise<void>;
}

interface Route<State extends object, Details extends object, Stored extends { number: string }> extends Endpoint<State, Details, Stored> {
  method: string;
  pattern: RegExp;
  operation: string | undefined;
}

export function defineSimulator<State extends object = object, Details extends object = object, Stored extends { number: string } = Card>(
  definition: Definition<State, Details, Stored>,
): SimulatorFactory {
  const routes: Route<State, Details, Stored>[] = Object.entries(definition.endpoints).map(([name, endpoint]) => {
    const [method = "", path = "", operation] = name.split(" ");
    const pattern = path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:(\w+)/g, "(?<$1>[^/]+)");
    return { ...endpoint, method, pattern: new RegExp(`^${pattern}$`), operation };
  });
  return (tools) => {
    const accounts = new Map<string, Account<State, Details, Stored>>();
    const firstAnswers = new Map<string, FirstAnswer>();
    const tokens = new AccessTokens();
    const shared = new Map<string, unknown>();

    const callOf = (request: Incoming, accountName: string) => {
      let account = accounts.get(accountName);
      if (account === undefined) {
        account = { state: definition.state?.() ?? ({} as State), transactions: new Transactions(tools), vault: new Vault(tools) };
        accounts.set(accountName, account);
      }
      return new Call(request, accountName, account, definition);
    };

    const answer = async (request: Incoming): Promise<Answer> => {
      const onPath = routes.filter(({ pattern }) => pattern.test(request.path));
      const onMethod = onPath.filter(({ method }) => method === request.method);
      if (onMethod[0] === undefined) throw definition.refuse.path(request, onPath.length > 0);
      const read = fieldsOf(request, onMethod[0].body ?? definition.body);
      request.fields = read ?? new Map();
      request.isReadable = read !== null;
      request.operation = definition.operationOf?.(request.fields, request);
      const route = onMethod.find(({ operation }) => operation === undefined || operation === request.operation) ?? onMethod[0];
      request.params = decodedGroups(route.pattern.exec(request.path));
      const accountName = route.authenticate?.(request) ?? definition.authenticate(request);
      const badHeader = faultIn(new Map(Object.entries(request.headers)), definition.headers ?? {}, { isOpen: true });
      if (badHeader !== null) throw definition.refuse.field({ ...badHeader, field: `header ${badHeader.field}` }, request);
      if (read === null) throw definition.refuse.malformed(request, !hasType(request, onMethod[0].body ?? definition.body));
      if (route.operation !== undefined && route.operation !== request.operation) throw definition.refuse.path(request, true);
      const { idempotency, isOrdered = false } = definition;
      const run = async () => {
        const fault = faultIn(request.fields, route.rules ?? {}, { isOpen: route.isOpen ?? false, isOrdered });
        if (fault !== null) throw definition.refuse.field(fault, request);
        const call = callOf(request, accountName);
        try {
          const result = await route.run(call);
          return call.isLost ? { ...result, lost: true } : result;
        } finally {
          await request.work();
        }
      };
      const key = route.isIdempotent === false || request.method === "GET" ? "" : (idempotency?.keyOf(request) ?? "");
      return idempotency === undefined || key === "" ? run() : withIdempotency(`${accountName}\n${key}`, request, idempotency, run);
    };

    const withIdempotency = async (
      name: string,
      request: Incoming,
      idempotency: Idempotency,
      run: () => Promise<Answer>,
    ): Promise<Answer> => {
      const key = name.slice(name.indexOf("\n") + 1);
      const fingerprint = createHash("sha256").update(`${request.method} ${request.path}\n`).update(request.body).digest("hex");
      const first = firstAnswers.get(name);
      if (first !== undefined && tools.now() - first.at <= (idempotency.windowMs ?? Infinity)) {
        if (first.fingerprint !== fingerprint && idempotency.mismatch) throw idempotency.mismatch(key);
        if (first.answer !== null) return idempotency.replay?.(first.answer) ?? first.answer;
        if (idempotency.running) throw idempotency.running(key);
        await first.through;
        return await withIdempotency(name, request, idempotency, run);
      }
      const { promise: through, resolve } = Promise.withResolvers<void>();
      firstAnswers.set(name, { fingerprint, answer: null, at: tools.now(), through });
      try {
        const result = await run();
        if (idempotency.keeps?.(result) === false) firstAnswers.delete(name);
        else firstAnswers.set(name, { fingerprint, answer: { ...result, lost: false }, at: tools.now(), through });
        return result;
      } catch (error) {
        if (idempotency.keepsRefusals && error instanceof Refusal)
          firstAnswers.set(name, { fingerprint, answer: error.answer, at: tools.now(), through });
        else firstAnswers.delete(name);
        throw error;
      } finally {
        resolve();
      }
    };

    const handle = async (request: SimulatorRequest): Promise<SimulatorAnswer> => {
      const incoming = { ...request, fields: new Map(), tools, tokens, shared, params: {}, operation: undefined, isReadable: true };
      const finish = (result: Answer) => {
        const headers = { ...result.headers, ...definition.responseHeaders?.(incoming) };
        return definition.finish?.({ ...result, headers }, incoming) ?? { ...result, headers };
      };
      try {
        return finish(await answer(incoming));
      } catch (error) {
        if (error instanceof ConnectionReset) return "reset";
        if (!(error instanceof Refusal)) throw error;
        const details = { status: error.answer.status, code: error.code };
        if (error.isRecorded) tools.record({ kind: "refused", id: null, reference: null, outcome: null, details });
        return finish(error.answer);
      }
    };

    const operationOf = ({ path, headers, body }: { path: string; headers: IncomingHttpHeaders; body: Buffer }) => {
      const route = routes.find(({ pattern, operation }) => operation !== undefined && pattern.test(path));
      const fields = route && readerOf(route.body ?? definition.body).read(body);
      return fields ? definition.operationOf?.(fields, { headers, body }) : undefined;
    };

    return {
      ...(definition.operationOf && { operationOf }),
      handle,
      expireTokens: () => tokens.expire(),
      settle: () => accounts.forEach(({ transactions }) => transactions.settle()),
    };
  };
}

/** What stands for `:name` in the path, percent-decoded where it is well encoded. */
function decodedGroups(match: RegExpExecArray | null): Record<string, string> {
  const decoded = Object.entries(match?.groups ?? {}).map(([name, value]) => {
    try {
      return [name, decodeURIComponent(value)] as const;
    } catch {
      return [name, value] as const;
    }
  });
  return Object.fromEntries(decoded);
}

/** The query of a GET, else the body; null when it cannot be read or announces another type. An empty body has no fields. */
function fieldsOf(request: SimulatorRequest, format: BodyFormat | Reader): Fields | null {
  const query = () => new Map([...request.query].map(([name, value]) => [name, value] as const));
  if (request.method === "GET" || request.body.length === 0) return query();
  return hasType(request, format) ? readerOf(format).read(request.body) : null;
}

function hasType(request: SimulatorRequest, format: BodyFormat | Reader): boolean {
  const type = header(request, "content-type").split(";")[0]?.trim().toLowerCase() ?? "";
  return readerOf(format).types.includes(type);
}

const readerOf = (format: BodyFormat | Reader): Reader => (typeof format === "string" ? READERS[format] : format);
