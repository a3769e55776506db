import { OperatorError } from "#src/kernel/errors.ts";

/** How an answer is given. With both, the digits complete what was said, unless it was not understood. */
export type Way = { say: string; digits?: string } | { digits: string };

/** One turn of a scripted caller. */
export type Turn =
  /** Until a prompt with these words is heard, in any case. */
  | { do: "wait for"; text: string }
  | { do: "wait"; seconds: number }
  /** Until the service starts to speak again after the last digits. */
  | { do: "wait for a prompt" }
  | { do: "dtmf"; digits: string }
  | { do: "say"; text: string }
  /** Waits for a question with these words and answers it: in the first way, and in the next one each time that it is asked again. */
  | { do: "answer"; question: string; ways: readonly Way[] }
  | { do: "play"; file: string }
  /** Presses 1 when the service reads the card back once more: groups of digits that leave the "yes" out are meant to pay. */
  | { do: "confirm if asked" }
  | { do: "hang up" };

const DIGITS = /^[0-9*#]+$/;

/** `--digits 4242...#,0330#` or `4242...#0330#`: one group a prompt, each keyed when the service has asked. */
export function turnsOfDigits(digits: string): Turn[] {
  const groups = digits.split(/[\s,]+/).flatMap((part) => part.match(/[^#]*#|[^#]+/g) ?? []);
  for (const group of groups.length > 0 ? groups : [digits])
    if (!DIGITS.test(group))
      throw new OperatorError(`--digits takes 0-9, * and #, with groups apart by a comma or a space; "${group}" is none.`);
  return [...groups.flatMap((digits): Turn[] => [{ do: "wait for a prompt" }, { do: "dtmf", digits }]), { do: "confirm if asked" }];
}

/** A script file: a line a turn; empty lines and lines that begin with # are passed over. */
export function turnsOfScript(text: string): Turn[] {
  return text
    .split("\n")
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"))
    .map(({ line, number }) => turnOf(line, number));
}

function turnOf(line: string, number: number): Turn {
  const [verb = "", ...rest] = line.split(/\s+/);
  const argument = rest.join(" ");
  if (verb === "hangup" && argument === "") return { do: "hang up" };
  if (verb === "wait" && /^[0-9]+(\.[0-9]+)?$/.test(argument)) return { do: "wait", seconds: Number(argument) };
  if (verb === "wait" && argument !== "") return { do: "wait for", text: argument };
  if (verb === "keys" && DIGITS.test(argument)) return { do: "dtmf", digits: argument };
  if (verb === "say" && argument !== "") return { do: "say", text: argument };
  throw new OperatorError(`Line ${number} of the script is none of: wait TEXT, wait SECONDS, keys DIGITS, say TEXT, hangup.`);
}
