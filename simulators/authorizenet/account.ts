import type { SimulatorTools } from "../kit/simulator.ts";
import type { Address, Card, Verdict } from "./issuer.ts";

/** What a merchant account holds: transactions and customer profiles. */

export interface Transaction {
  transId: string;
  type: "authCaptureTransaction" | "authOnlyTransaction";
  status: string;
  submittedMs: number;
  invoiceNumber: string;
  amountMinor: number;
  card: Card;
  billTo: Address;
  verdict: Verdict;
  authCode: string;
  cavv: string;
  networkTransId: string;
  marketType: string;
}

export interface PaymentProfile {
  customerPaymentProfileId: string;
  card: Card;
  billTo: Address;
}

export interface CustomerProfile {
  customerProfileId: string;
  merchantCustomerId: string;
  description: string;
  email: string;
  paymentProfiles: PaymentProfile[];
}

export interface Account {
  readonly transactions: Map<string, Transaction>;
  readonly profiles: Map<string, CustomerProfile>;
  /** Content of a payment and when it was taken, for the duplicate check. */
  readonly taken: Map<string, number>;
}

export const newAccount = (): Account => ({ transactions: new Map(), profiles: new Map(), taken: new Map() });

/** A call as a method sees it. */
export interface Call {
  tools: SimulatorTools;
  account: Account;
  /** The members of the request after the schema's check; every scalar is a string. */
  request: Record<string, unknown>;
}

/** A scalar member of the request, or undefined. */
export function textOf({ request }: Call, name: string): string | undefined {
  const value = request[name];
  return typeof value === "string" ? value : undefined;
}

/** The members of an answer, with the verdict on the whole call. */
export interface Reply {
  code: string;
  text: string;
  members?: Record<string, unknown>;
  lost?: boolean;
}

export const OK: Reply = { code: "I00001", text: "Successful." };
export const NOT_FOUND: Reply = { code: "E00040", text: "The record cannot be found." };

export const newLetters = (tools: SimulatorTools, length: number) => tools.id("", length).toUpperCase();

export const shownNumber = ({ cardNumber }: Card) => `XXXX${cardNumber.slice(-4)}`;

const SETTLES_AFTER_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

/** Captured payments settle a day later, all those of an hour in one batch. */
export function batchOf({ status, submittedMs }: Transaction, nowMs: number): { id: string; settledMs: number } | null {
  const hour = Math.floor(submittedMs / HOUR_MS);
  const settledMs = (hour + 1) * HOUR_MS + SETTLES_AFTER_MS;
  return status === "capturedPendingSettlement" && nowMs >= settledMs ? { id: String(hour), settledMs } : null;
}
