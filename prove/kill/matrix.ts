import type { RoundReport } from "./shard.ts";
import { PLACES, REVERSAL } from "./workload.ts";
import { GATEWAYS } from "./vendors.ts";
import type { Plan } from "./track.ts";

/** Where the kills fell: at which places, and on payments of which channel, mode and gateway. */

const COLUMNS = [
  ["voice", "charge"],
  ["voice", "tokenize"],
  ["widget", "charge"],
  ["widget", "tokenize"],
] as const;
const NAME_WIDTH = 32;
const CELL_WIDTH = 17;

/**
 * For each row how many kills fell there, and how many of them struck a payment that the killed run had begun or gone on with.
 * One kill may strike several.
 */
export function killMatrix(rounds: readonly RoundReport[]): string[] {
  const killsAt = Map.groupBy(rounds, ({ died }) => died);
  const ends = new Set([...PLACES, ...killsAt.keys()]);
  return [
    heading("killed at"),
    ...Array.from(ends, (end) => {
      const kills = killsAt.get(end) ?? [];
      const isLate = kills.length === 0 && end === REVERSAL;
      return row(end, kills, () => true) + (isLate ? "   (only after ten minutes)" : "");
    }),
    "",
    heading("killed while paying by"),
    ...GATEWAYS.map((name) =>
      row(
        name,
        rounds.filter(({ struck }) => struck.some(({ gateway }) => gateway === name)),
        ({ gateway }) => gateway === name,
      ),
    ),
  ];
}

function row(name: string, kills: readonly RoundReport[], isMeant: (plan: Plan) => boolean): string {
  const cells = COLUMNS.map(([channel, mode]) => {
    const isHere = (plan: Plan) => isMeant(plan) && plan.channel === channel && plan.mode === mode;
    return kills.filter(({ struck }) => struck.some(isHere)).length;
  });
  return line(
    `  ${name}`,
    [kills.length, ...cells].map((count) => (count === 0 ? "-" : String(count))),
  );
}

const heading = (title: string) => line(title, ["kills", ...COLUMNS.map((column) => column.join(" "))]);

const line = (name: string, cells: readonly string[]) => name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padStart(CELL_WIDTH)).join("");
