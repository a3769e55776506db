import type { IncomingHttpHeaders } from "node:http";
import type { LedgerEntry } from "./ledger.ts";

/** A request as a vendor's simulator sees it. */
export interface SimulatorRequest {
  method: string;
  /** The vendor's own path, without the gateway's prefix and the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** True over TLS. */
  secure: boolean;
  /** Resolves when the vendor, which has acted, may answer: at once, or late while the fault `slow` is armed. */
  work(): Promise<void>;
  /** Asked by a look-up: what is younger than so many ms is not found yet. 0, but while a `lookup_lag` is armed. */
  lookUpLag(): number;
}

/** An HTTP response; `lost`: the request was acted on, but this response is never sent. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: string | object;
  lost?: boolean;
}

/** A response, or the connection is reset. */
export type SimulatorAnswer = Answer | "reset";

/** A vendor's stand-in, as the server drives it; `defineSimulator` makes it from a table. */
export interface Simulator {
  /** For vendors with one path for everything: what the body asks for. Faults are armed on `<path>/<operation>` then. */
  operationOf?(request: { path: string; headers: IncomingHttpHeaders; body: Buffer }): string | undefined;
  handle(request: SimulatorRequest): Promise<SimulatorAnswer>;
  /** The batch closes: all that is captured is settled. */
  settle?(): void;
  /** Access tokens that were issued end. */
  expireTokens?(): void;
}

export interface SimulatorTools {
  /** Writes to the ledger under the simulator's name. */
  record(entry: Omit<LedgerEntry, "gateway">): void;
  /** Ms since the epoch. */
  now(): number;
  /** An id that no other thing has: `prefix` and `length` letters. */
  id(prefix: string, length?: number): string;
  /** The same in digits, for vendors that number their things; never one that could be a card number. */
  digits(length: number): string;
}

/** What `simulators/<name>/index.ts` exports as `simulator`. */
export type SimulatorFactory = (tools: SimulatorTools) => Simulator;

/** Thrown to refuse a request in the vendor's own form; nothing has been charged. The ledger gets a `refused` entry with `code`. */
export class Refusal extends Error {
  readonly answer: Answer;
  readonly code: string;
  /** False: a look-up that found nothing, which is no mistake of the sender. */
  readonly isRecorded: boolean;

  constructor(answer: Answer, code: string, { isRecorded = true } = {}) {
    super(code);
    this.answer = answer;
    this.code = code;
    this.isRecorded = isRecorded;
  }

  /** The same for a look-up that found nothing. */
  unrecorded(): Refusal {
    return new Refusal(this.answer, this.code, { isRecorded: false });
  }
}

/** Throws a refusal in the midst of an expression: `tokens.get(id) ?? refuseWith(unknownToken())`. */
export function refuseWith(refusal: Refusal): never {
  throw refusal;
}

/** Thrown when the connection is reset and nothing is recorded. */
export class ConnectionReset extends Error {}
