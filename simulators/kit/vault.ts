import { mask } from "./cards.ts";
import type { SimulatorTools } from "./simulator.ts";

/** A card that is kept, with what the vendor keeps beside its number. */
export type Kept<Card> = Card & {
  readonly id: string;
  /** Ms since the epoch. */
  readonly at: number;
  /** As the ledger names it. */
  readonly reference: string | null;
};

/** An account's stored cards, by the vendor's id of each. What keeps one or forgets it writes the ledger. */
export class Vault<Card extends { number: string }> {
  readonly #kept = new Map<string, Kept<Card>>();
  readonly #tools: SimulatorTools;

  constructor(tools: SimulatorTools) {
    this.#tools = tools;
  }

  /** A card that is stored for its own sake: the ledger has it as a token. */
  store(id: string, card: Card, reference: string | null = null): Kept<Card> {
    this.#tools.record({ kind: "token", id, reference, outcome: "approved", card: mask(card.number) });
    return this.keep(id, card, reference);
  }

  /** The same beside a payment, whose own entry is in the ledger, or of a card whose data are changed. */
  keep(id: string, card: Card, reference: string | null = null): Kept<Card> {
    const kept = { ...card, id, reference, at: this.#tools.now() };
    this.#kept.set(id, kept);
    return kept;
  }

  get(id: string): Kept<Card> | undefined {
    return this.#kept.get(id);
  }

  /** The first one of that kind. */
  find(isMeant: (card: Kept<Card>) => boolean): Kept<Card> | undefined {
    return this.all(isMeant)[0];
  }

  /** Those of that kind, the first that was kept first. */
  all(isMeant: (card: Kept<Card>) => boolean = () => true): Kept<Card>[] {
    return [...this.#kept.values()].filter(isMeant);
  }

  /** The card is used up, without a word in the ledger. */
  use(id: string): Kept<Card> | undefined {
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    return kept;
  }

  /** Forgets a card; undefined when there is none. */
  remove(id: string): Kept<Card> | undefined {
    const kept = this.use(id);
    if (kept !== undefined) this.#tools.record({ kind: "void", id, reference: kept.reference, outcome: "approved" });
    return kept;
  }
}
