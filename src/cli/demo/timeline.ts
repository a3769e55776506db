/** What happened when, from the moment it was made. */
export class Timeline {
  readonly entries: { at_ms: number; what: string }[] = [];
  readonly #onEntry: (line: string) => void;
  readonly #start = performance.now();

  constructor(onEntry: (line: string) => void) {
    this.#onEntry = onEntry;
  }

  add(what: string): void {
    const at_ms = Math.round(performance.now() - this.#start);
    this.entries.push({ at_ms, what });
    this.#onEntry(`${String(at_ms).padStart(7)} ms  ${what}`);
  }
}

const WIDTH = 60;

/** The call as a picture: one bar for each stretch between two events, as long as it lasted. */
export function drawTimeline(entries: readonly { at_ms: number; what: string }[]): string {
  const last = entries.at(-1)?.at_ms ?? 1;
  const column = (ms: number) => Math.round((ms / last) * WIDTH);
  const lines = entries.map(({ at_ms, what }, index) => {
    const [from, to] = [column(at_ms), column(entries[index + 1]?.at_ms ?? last)];
    const bar = `${" ".repeat(from)}${"█".repeat(Math.max(1, to - from))}`.padEnd(WIDTH + 1);
    return `${bar} ${(at_ms / 1000).toFixed(2).padStart(6)} s  ${what}`;
  });
  return lines.join("\n");
}
