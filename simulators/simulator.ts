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
  /** Resolves when the vendor has had its time: at once, or late while the fault `slow` is armed. */
  work(): Promise<void>;
}

/** An answer, or what happens instead of one. */
export type SimulatorAnswer =
  | {
      status: number;
      headers?: Record<string, string>;
      body: string | object;
      /** The request was acted on, but this answer is never sent. */
      lost?: boolean;
    }
  /** The connection is reset. */
  | "reset";

/** A vendor's stand-in. One file each; the listener, the faults, the ledger and TLS are shared. */
export interface Simulator {
  readonly name: string;
  /** For vendors with one path for everything: what the body asks for. Faults are armed on `<path>/<operation>` then. */
  operationOf?(request: { body: Buffer }): string;
  handle(request: SimulatorRequest): Promise<SimulatorAnswer>;
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

export type SimulatorFactory = (tools: SimulatorTools) => Simulator;

/**
 * Which credentials every simulator refuses, so that one apply file works for all: any with `wrong` in them is unknown to
 * the vendor, any with `expired` has run out. The others need only the vendor's form.
 */
export function verdictOn(credential: string): "accepted" | "wrong" | "expired" {
  if (/wrong/i.test(credential)) return "wrong";
  return /expired/i.test(credential) ? "expired" : "accepted";
}
