import { readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Capabilities } from "#src/gateways/index.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { RecordedEntry } from "#simulators/kit/ledger.ts";
import { behaviours } from "#src/gateways/testing.ts";
import { type Child, start } from "./child.ts";
import { pause } from "./wait.ts";

/** Of each kind of recovery that adapters declare (`recoveryOf`) at least one, and of those that need an access token first. */
export const GATEWAYS: readonly GatewayName[] = [
  "stripe",
  "nmi",
  "authorizenet",
  "webhook",
  "ecommpay",
  // An access token of its own; by look-up.
  "globalpayments",
  // By look-up alone: the vendor knows no idempotency.
  "cardconnect",
  // A refresh token that changes; no look-up, reversed by our reference.
  "quickbooks",
  // No look-up, and reversed only by an id that comes with the answer: by the attempt itself, while it has the card, or by nobody.
  "moneris",
  "adyen",
];

/** How a lost answer is cleared up: what a repetition, a look-up and a reversal go by. */
export const recoveryOf = ({ idempotency, lookUp, voidBy }: Capabilities): string =>
  `idempotency ${idempotency}, look-up ${lookUp}, reversal ${voidBy}`;

const BEHAVIOURS = await behaviours();

/** The vendor whose silence can be had for one payment alone: each question names the payment in its body. */
export const SILENT_GATEWAY: GatewayName = "ecommpay";
const SILENT_PATH = "/v2/payment/status";
/** More questions than a run asks. */
const ALWAYS = 1_000_000;

const isTaken = ({ kind, outcome }: RecordedEntry) => ["charge", "authorization", "token"].includes(kind) && outcome === "approved";

export type VendorFault = "reset_after" | "slow" | "hang" | "http_500" | "truncated";

/** The vendors' simulators, in a process of their own that outlives the service. */
export class Vendors {
  readonly url: string;
  /** File with their certification authority. */
  readonly caFile: string;
  readonly #child: Child;
  readonly #ledgerFile: string;

  private constructor(url: string, caFile: string, child: Child, ledgerFile: string) {
    this.url = url;
    this.caFile = caFile;
    this.#child = child;
    this.#ledgerFile = ledgerFile;
  }

  static async start(folder: string): Promise<Vendors> {
    const ledgerFile = join(folder, "ledger.jsonl");
    const child = start(["simulators", "--port", "0", "--ledger", ledgerFile, "--json"], {}, () => {});
    const line = await child.first;
    if (line === null) throw new Error("the simulators did not start");
    const { url, ca } = JSON.parse(line) as { url: string; ca: string };
    const caFile = join(folder, "ca.pem");
    writeFileSync(caFile, ca);
    return new Vendors(url, caFile, child, ledgerFile);
  }

  /** What they did, as it is on the disk. */
  ledger(): RecordedEntry[] {
    const lines = readFileSync(this.#ledgerFile, "utf8").split("\n");
    return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as RecordedEntry);
  }

  /** The next requests with which money is taken or a card is kept are struck so at each vendor, after it has acted. */
  async strike(kind: VendorFault, times: number): Promise<void> {
    for (const gateway of GATEWAYS)
      for (const path of new Set(Object.values(BEHAVIOURS[gateway]!.path))) await this.#arm({ gateway, path, kind, times });
  }

  /** Takes back what `strike` armed. */
  stopFaults(): Promise<void> {
    return this.strike("hang", 0);
  }

  /** Nothing can be learnt of this session's payment from now on; `false`: it can be again. */
  async silence(sessionId: string, isSilent: boolean): Promise<void> {
    const times = isSilent ? ALWAYS : 0;
    await this.#arm({ gateway: SILENT_GATEWAY, path: SILENT_PATH, kind: "http_500", times, containing: sessionId });
  }

  async #arm(fault: { gateway: string; path: string; kind: VendorFault; times: number; containing?: string }): Promise<void> {
    await fetch(`${this.url}/_faults`, { method: "POST", body: JSON.stringify(fault) });
  }

  /** Resolves as soon as money was taken or a card kept from now on, by `gateway` if it is given, or after `limitMs`. */
  async untilCharged(limitMs: number, gateway?: GatewayName): Promise<void> {
    const before = this.ledger().length;
    const charged = Promise.withResolvers<void>();
    const watcher = watch(this.#ledgerFile, () => {
      const isCharged = this.ledger()
        .slice(before)
        .some((entry) => isTaken(entry) && (gateway === undefined || entry.gateway === gateway));
      if (isCharged) charged.resolve();
    });
    await Promise.race([charged.promise, pause(limitMs)]);
    watcher.close();
  }

  async close(): Promise<void> {
    this.#child.process.kill("SIGTERM");
    await this.#child.ended;
  }
}
