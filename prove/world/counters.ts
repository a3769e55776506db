/** How often each fault struck, by the state of the session it struck, and how often each named race really happened. */
export class Counters {
  readonly faults = new Map<string, Map<string, number>>();
  readonly sometimes = new Map<string, number>();

  struck(fault: string, state: string): void {
    const row = this.faults.get(fault) ?? new Map<string, number>();
    this.faults.set(fault, row);
    row.set(state, (row.get(state) ?? 0) + 1);
  }

  occurred(race: string): void {
    this.sometimes.set(race, (this.sometimes.get(race) ?? 0) + 1);
  }

  add(other: CounterValues): void {
    for (const [fault, states] of other.faults) {
      for (const [state, count] of states) {
        this.struck(fault, state);
        this.faults.get(fault)!.set(state, this.faults.get(fault)!.get(state)! + count - 1);
      }
    }
    for (const [race, count] of other.sometimes) this.sometimes.set(race, (this.sometimes.get(race) ?? 0) + count);
  }
}

/** As it crosses from a thread to another. */
export type CounterValues = Pick<Counters, "faults" | "sometimes">;
