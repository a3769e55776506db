import { readFileSync } from "node:fs";
import { AFTER_OH, type Acceptor, type Arc, PAUSE } from "./acceptor.ts";

const SILENCE = "SIL";
/** The sound of "oh", in which "zero" ends too. */
const OH = "OW";
/** By word, the phone that it ends in, of its first pronunciation. */
const LAST_PHONES: ReadonlyMap<string, string> = new Map(
  readFileSync(new URL("telephone.dict", import.meta.url), "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 1)
    .map((fields): [string, string] => [fields[0] ?? "", fields.at(-1) ?? ""]),
);

/**
 * What the next word follows. The engine has one model of a word's first sound for each state, not for each sound that comes before it:
 * that for the first phone by the alphabet of those that lead there, silence always among them.
 */
function contextAfter(word: string): string {
  const phone = LAST_PHONES.get(word) ?? SILENCE;
  return phone < SILENCE ? phone : SILENCE;
}

/** The same grammar with a state for each sound that can come before it, so that every word's first sound is judged by what it follows. */
export function byLeftContext({ arcs, start, final, ...rest }: Acceptor): Acceptor {
  const leaving = Map.groupBy(arcs, ({ from }) => from);
  const ids = new Map<string, number>();
  const all: Arc[] = [];
  const waiting: [number, string, number][] = [];
  const idOf = (state: number, context: string): number => {
    const key = state === final ? "final" : `${state} ${context}`;
    const known = ids.get(key);
    if (known !== undefined) return known;
    const id = ids.size;
    ids.set(key, id);
    waiting.push([state, context, id]);
    return id;
  };
  const first = idOf(start, SILENCE);
  const last = idOf(final, SILENCE);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [state, context, from] = next;
    if (context !== SILENCE && leaving.has(state)) all.push({ from, to: idOf(state, SILENCE), ...PAUSE });
    for (const arc of leaving.get(state) ?? [])
      // Behind another "oh" this one would be the half of a long one: "zero seven two", slowly, was 0072.
      if (context !== OH || !arc.word?.startsWith(AFTER_OH))
        all.push({ ...arc, from, to: idOf(arc.to, arc.word === null ? context : contextAfter(arc.word)) });
  }
  return { ...rest, states: ids.size, start: first, final: last, arcs: all };
}
