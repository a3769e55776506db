import assert from "node:assert/strict";
import { test } from "node:test";
import { createCodeEntry } from "./code-entry.ts";
import { type ConversationEffect, type ConversationEvent, POUND, STAR } from "./contract.ts";
import { inWords } from "./sentences.ts";

/** A caller who was answered: what is said to him, looked up for him, and how it ends. */
function answered() {
  const entry = createCodeEntry({ language: "en-US", wordings: [], timeouts: { firstDigitMs: 10_000, betweenDigitsMs: null } });
  const said: string[] = [];
  const lookedUp: string[] = [];
  let timer: { name: "silence" | "digits"; ms: number } | null = null;
  let prompt: Extract<ConversationEffect, { type: "play" }>["prompt"] = "ask_code";
  let ended: string | null = null;
  const feed = (event: ConversationEvent) => {
    for (const effect of entry.feed(event)) {
      if (effect.type === "play") {
        prompt = effect.prompt;
        said.push(inWords(effect.sentences));
      }
      if (effect.type === "timer") timer = { name: effect.name as "silence", ms: effect.ms };
      if (effect.type === "cancel_timer" && timer?.name === effect.name) timer = null;
      if (effect.type === "look_up_code") lookedUp.push(effect.code);
      if (effect.type === "finish") ended = effect.reason;
    }
  };
  feed({ type: "answered" });
  return {
    said,
    lookedUp,
    feed,
    key: (keys: string) =>
      keys.split("").forEach((key) => feed({ type: "dtmf", digit: key === "#" ? POUND : key === "*" ? STAR : Number(key) })),
    found: (found: "session" | "none" | "closed") => feed({ type: "code_looked_up", found }),
    hear: () => feed({ type: "prompt_ended", prompt }),
    /** The timer that runs is due. */
    wait() {
      assert.ok(timer, "nothing is waited for");
      const { name, ms } = timer;
      timer = null;
      feed({ type: "timer", name });
      return ms;
    },
    timer: () => timer,
    ended: () => ended,
  };
}

const ASK = "Please key in your eight digit payment code, then press the pound key.";
const UNKNOWN = "Sorry, I don't know that code.";
const NOT_FOUND = "I couldn't find your payment. Please ask for the code again, then call back. Goodbye.";

test("eight digits are looked up at the pound key, or two seconds after the last of them, and a session that is found ends the question", () => {
  const caller = answered();
  caller.key("12345678#");
  assert.deepEqual([caller.said, caller.lookedUp], [[ASK], ["12345678"]]);
  caller.found("session");
  assert.deepEqual([caller.ended(), caller.timer()], ["done", null]);

  const slow = answered();
  slow.key("87654321");
  assert.deepEqual([slow.lookedUp.length, slow.wait(), slow.lookedUp], [0, 2_000, ["87654321"]]);
  slow.key("#");
  slow.found("none");
  slow.key("#");
  assert.deepEqual(slow.said.length, 2, "a pound key behind a code that ended by itself is no other try");
});

test("a wrong code is said to be unknown and no more, and the third ends the call", () => {
  const caller = answered();
  for (const code of ["11111111#", "22222222#", "33333333#"]) {
    caller.key(code);
    caller.found("none");
  }
  assert.deepEqual(caller.said, [ASK, `${UNKNOWN} ${ASK}`, `${UNKNOWN} ${ASK}`, `${UNKNOWN} ${NOT_FOUND}`]);
  caller.key("44444444#");
  assert.deepEqual([caller.lookedUp.length, caller.ended()], [3, null]);
  caller.hear();
  assert.equal(caller.ended(), "abandoned");
});

test("a code of another length is as unknown as any, and a card number that is keyed for it is not looked up (I1)", () => {
  const caller = answered();
  caller.key("1234567#");
  caller.key("4242424242424242");
  assert.equal(caller.wait(), 2_000);
  caller.key("12");
  assert.equal(caller.wait(), 5_000);
  assert.deepEqual([caller.lookedUp, caller.said.slice(1)], [[], [`${UNKNOWN} ${ASK}`, `${UNKNOWN} ${ASK}`, `${UNKNOWN} ${NOT_FOUND}`]]);
});

test("silence is asked again twice, then the call ends; the star key begins again and costs no try", () => {
  const caller = answered();
  caller.hear();
  caller.key("1234*");
  assert.equal(caller.timer(), null);
  for (let silence = 0; silence < 3; silence++) {
    caller.hear();
    assert.equal(caller.wait(), 10_000);
  }
  assert.deepEqual(caller.said, [ASK, ASK, ASK, ASK, NOT_FOUND]);
  caller.hear();
  assert.deepEqual([caller.ended(), caller.lookedUp], ["abandoned", []]);
});

test("when no code is looked at any more, the call ends at once with the words of a wrong one", () => {
  const caller = answered();
  caller.key("12345678#");
  caller.found("closed");
  assert.equal(caller.said.at(-1), `${UNKNOWN} ${NOT_FOUND}`);
});

test("whoever hangs up is asked nothing more, whenever that is", () => {
  for (const keys of ["", "1234", "12345678#"]) {
    const caller = answered();
    caller.key(keys);
    caller.feed({ type: "hung_up" });
    assert.deepEqual([caller.ended(), caller.timer()], ["hung_up", null]);
    const { length } = caller.said;
    caller.found("none");
    caller.key("12345678#");
    assert.equal(caller.said.length, length);
  }
});
