import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

/** One thing that happened at a vendor. Card numbers are masked before they get here. */
export interface LedgerEntry {
  gateway: string;
  kind: "charge" | "authorization" | "capture" | "token" | "refund" | "void" | "look-up" | "refused";
  /** The vendor's id of the thing. */
  id: string | null;
  /** Our reference as the vendor was told it. */
  reference: string | null;
  outcome: "approved" | "declined" | null;
  amountMinor?: number;
  currency?: string;
  /** Masked. */
  card?: string;
  details?: Record<string, string | number | boolean | null>;
}

export type RecordedEntry = LedgerEntry & { seq: number; at: string };

/**
 * What the simulators know, entry by entry, never changed afterwards. With a file each entry is on the disk before its
 * answer is sent, so that a killed experiment can be judged.
 */
export class Ledger {
  readonly #entries: RecordedEntry[] = [];
  readonly #file: number | null;

  constructor(path: string | null) {
    this.#file = path === null ? null : openSync(path, "a");
  }

  record(entry: LedgerEntry): void {
    const recorded = { seq: this.#entries.length + 1, at: new Date().toISOString(), ...entry };
    this.#entries.push(recorded);
    if (this.#file === null) return;
    writeSync(this.#file, `${JSON.stringify(recorded)}\n`);
    fsyncSync(this.#file);
  }

  of(gateway: string): readonly RecordedEntry[] {
    return this.#entries.filter((entry) => entry.gateway === gateway);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }
}
