import { table } from "./answers.ts";
import { mask } from "./cards.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { SimulatorTools } from "./simulator.ts";

/** Where a transaction stands. A void is possible before `settled`, a refund after, unless the vendor says otherwise. */
export type TransactionState = "declined" | "authorized" | "captured" | "settled" | "voided" | "refunded" | "verified";

const ALL_STATES: readonly TransactionState[] = ["declined", "authorized", "captured", "settled", "voided", "refunded", "verified"];

/** The vendor's word for each state: `byState("declined/voided 3, authorized 2, captured/settled/refunded/verified 100")`. */
export function byState(rows: string): Readonly<Record<TransactionState, string>> {
  const words = new Map([...table(rows)].flatMap(([states, word]) => states.split("/").map((state) => [state, word] as const)));
  const wordOf = (state: TransactionState): string => {
    const word = words.get(state);
    if (word === undefined || words.size !== ALL_STATES.length) throw new Error(`"${rows}" has not one word for each state`);
    return word;
  };
  return Object.fromEntries(ALL_STATES.map((state) => [state, wordOf(state)])) as Record<TransactionState, string>;
}

/** One payment, authorization, verification or stored card at the vendor; `details` are the vendor's own. */
export interface Transaction<Details = object> {
  readonly id: string;
  readonly reference: string | null;
  state: TransactionState;
  readonly amountMinor: number;
  capturedMinor: number;
  refundedMinor: number;
  readonly currency: string;
  /** The number itself, in memory only; the ledger gets it masked. */
  readonly card: string;
  /** Ms since the epoch. */
  readonly at: number;
  /** When its batch closed. */
  settledAt: number | null;
  readonly details: Details;
}

export interface Added<Details> {
  id: string;
  reference?: string | null | undefined;
  /** A charge is captured, an authorization authorized, a token (a stored or checked card) verified; or all of them declined. */
  kind: "charge" | "authorization" | "token";
  isApproved: boolean;
  amountMinor?: number;
  /** ISO letters; left out where no amount is shown. */
  currency?: string;
  card: string;
  details: Details;
  /** What else the ledger keeps. */
  ledger?: LedgerEntry["details"];
}

const STATES = { charge: "captured", authorization: "authorized", token: "verified" } as const;

/** An account's transactions. What changes them writes the ledger; a look-up honours an ordered lag. */
export class Transactions<Details = object> {
  readonly #all = new Map<string, Transaction<Details>>();
  readonly #tools: SimulatorTools;

  constructor(tools: SimulatorTools) {
    this.#tools = tools;
  }

  add({ kind, isApproved, ledger, reference = null, amountMinor = 0, currency = "", ...rest }: Added<Details>): Transaction<Details> {
    const state: TransactionState = isApproved ? STATES[kind] : "declined";
    const capturedMinor = state === "captured" ? amountMinor : 0;
    const transaction: Transaction<Details> = {
      ...rest,
      state,
      reference,
      amountMinor,
      currency,
      capturedMinor,
      refundedMinor: 0,
      at: this.#tools.now(),
      settledAt: null,
    };
    this.#all.set(transaction.id, transaction);
    this.#tools.record({
      kind,
      id: transaction.id,
      reference,
      outcome: isApproved ? "approved" : "declined",
      ...(currency !== "" && { amountMinor, currency }),
      card: mask(rest.card),
      ...(ledger && { details: ledger }),
    });
    return transaction;
  }

  get(id: string): Transaction<Details> | undefined {
    return this.#all.get(id);
  }

  /** The newest of that kind, whatever look-ups show. */
  find(isMeant: (transaction: Transaction<Details>) => boolean): Transaction<Details> | undefined {
    return this.all().find(isMeant);
  }

  /** The newest one of the same card that was not declined, if it is less than so old: what vendors with a duplicate check look for. */
  twin(card: string, withinMs: number, isTwin: (transaction: Transaction<Details>) => boolean): Transaction<Details> | undefined {
    const since = this.#tools.now() - withinMs;
    return this.find((one) => one.card === card && one.at > since && one.state !== "declined" && isTwin(one));
  }

  /** Newest first; what the vendor itself knows, whatever its look-ups show. */
  all(): Transaction<Details>[] {
    return [...this.#all.values()].toReversed();
  }

  /** What a look-up finds, newest first. `lagMs`: the call's `lookUpLag()`. */
  lookUp(lagMs: number, reference: string | null, isMeant: (transaction: Transaction<Details>) => boolean): Transaction<Details>[] {
    this.#tools.record({ kind: "look-up", id: null, reference, outcome: null });
    const seenUntil = this.#tools.now() - lagMs;
    return this.all().filter((transaction) => (lagMs === 0 || transaction.at <= seenUntil) && isMeant(transaction));
  }

  /** False when it is not merely authorized, or for more than was authorized, unless the vendor allows up to `mostMinor`. */
  capture(transaction: Transaction<Details>, amountMinor = transaction.amountMinor, mostMinor = transaction.amountMinor): boolean {
    if (transaction.state !== "authorized" || !(amountMinor >= 1 && amountMinor <= mostMinor)) return false;
    Object.assign(transaction, { state: "captured", capturedMinor: amountMinor });
    this.#record("capture", transaction, transaction.id, amountMinor);
    return true;
  }

  /** False when it is settled already or never took anything; `from` for vendors with other rules. */
  void(transaction: Transaction<Details>, from: readonly TransactionState[] = ["authorized", "captured"]): boolean {
    if (!from.includes(transaction.state)) return false;
    transaction.state = "voided";
    this.#record("void", transaction, transaction.id);
    return true;
  }

  /** Null when it was refunded; else what is against it. */
  refund(
    transaction: Transaction<Details>,
    { id, amountMinor, from = ["settled"] }: { id: string; amountMinor?: number | undefined; from?: readonly TransactionState[] },
  ): "state" | "amount" | null {
    if (!from.includes(transaction.state)) return "state";
    const left = transaction.capturedMinor - transaction.refundedMinor;
    const amount = amountMinor ?? left;
    if (!(amount >= 1 && amount <= left)) return "amount";
    transaction.refundedMinor += amount;
    if (amount === left) transaction.state = "refunded";
    this.#record("refund", transaction, id, amount);
    return null;
  }

  /** Whichever of the three it is: null when it was done, else whether the state or the amount is against it. */
  change(
    kind: "capture" | "void" | "refund",
    transaction: Transaction<Details>,
    { id = transaction.id, amountMinor, from }: { id?: string; amountMinor?: number | undefined; from?: readonly TransactionState[] } = {},
  ): "state" | "amount" | null {
    if (kind === "refund") return this.refund(transaction, { id, amountMinor, ...(from && { from }) });
    const isRightState = transaction.state === "authorized";
    if (kind === "void") return this.void(transaction, from) ? null : "state";
    return this.capture(transaction, amountMinor) ? null : isRightState ? "amount" : "state";
  }

  /** A stored card is forgotten, where it was one of the transactions. */
  forget(id: string | null): void {
    const stored = this.#all.get(id ?? "");
    if (stored !== undefined) this.void(stored, ["verified"]);
  }

  /** The batch closes: what is captured is settled; by the vendor's own timetable where it has one: null is not due yet. */
  settle(dueAtOf: (transaction: Transaction<Details>) => number | null = () => this.#tools.now()): void {
    for (const transaction of this.#all.values()) {
      const settledAt = transaction.state === "captured" ? dueAtOf(transaction) : null;
      if (settledAt !== null) Object.assign(transaction, { state: "settled", settledAt });
    }
  }

  #record(kind: LedgerEntry["kind"], { reference, currency }: Transaction<Details>, id: string, amountMinor?: number): void {
    this.#tools.record({ kind, id, reference, outcome: "approved", ...(amountMinor !== undefined && { amountMinor, currency }) });
  }
}

/** A page of a list between two of its ids; what `missing` makes of an id that is not in it is thrown. */
export function pageBetween<Row extends { id: string }>(
  found: readonly Row[],
  { after, before, limit }: { after: string | undefined; before: string | undefined; limit: number },
  missing: (id: string) => Error,
): { page: Row[]; hasMore: boolean } {
  const placeOf = (id: string | undefined, otherwise: number): number => {
    const place = found.findIndex((one) => one.id === id);
    if (id !== undefined && place < 0) throw missing(id);
    return id === undefined ? otherwise : place;
  };
  const rest = found.slice(placeOf(after, -1) + 1, placeOf(before, found.length));
  return { page: rest.slice(0, limit), hasMore: rest.length > limit };
}
