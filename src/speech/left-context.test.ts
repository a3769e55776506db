import assert from "node:assert/strict";
import test from "node:test";
import { byLeftContext } from "./left-context.ts";
import { tableAcceptor } from "./acceptor.ts";

test("what follows a word is judged by the sound that the word ends in, or by silence", () => {
  const { arcs } = byLeftContext(
    tableAcceptor([
      ["start", "middle", ["one", "three", "nine"]],
      ["middle", "end", ["four"]],
    ]),
  );
  const wordsInto = (state: number) => arcs.filter(({ to }) => to === state).map(({ word }) => word);
  const before = arcs.filter(({ word }) => word === "four").map(({ from }) => wordsInto(from).join(" "));
  assert.deepEqual(new Set(before), new Set(["one nine", "three", "<sil> <sil>"]));
});
