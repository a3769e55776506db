import {
  amountText,
  anything,
  coded,
  countText,
  country2,
  country3,
  currency,
  currencyNumber,
  digits,
  email,
  forbiddenIf,
  ip,
  ipv4,
  mmyy,
  month,
  oneOf,
  onlyIf,
  required,
  requiredIf,
  requiredWith,
  rule,
  state2,
  text,
  trueOrFalse,
  under,
  uuid,
  whole,
  wholeText,
  within,
  year4,
} from "./rules.ts";
import type { Condition, Rule, Rules } from "./rules.ts";

/** Words for the rules that vendors share, with what may stand behind them: a range, a largest value, the values. */
const WORDS: ReadonlyMap<string, (argument: string) => Rule> = new Map(
  Object.entries<(argument: string) => Rule>({
    is: (values) => oneOf(...values.split("|")),
    digits: (range) => digits(...rangeOf(range)),
    whole: (range) => (range === "" ? whole() : whole(...rangeOf(range))),
    wholeText: (range) => (range === "" ? wholeText() : wholeText(...rangeOf(range))),
    countText: (range) => countText(...rangeOf(range)),
    amount: (most) => (most === "" ? amountText() : amountText(Number(most))),
    email: (longest) => (longest === "" ? email() : email(Number(longest))),
    bool: () => trueOrFalse,
    any: () => anything,
    ip: () => ip,
    ipv4: () => ipv4,
    uuid: () => uuid,
    mmyy: () => mmyy,
    month: () => month,
    year4: () => year4,
    state2: () => state2,
    country2: () => country2,
    country3: () => country3,
    currency: () => currency(),
    currencyNumber: () => currencyNumber,
  }),
);

/** `3-4`, `9` for nothing but 9, or `1-` without an end. */
function rangeOf(words: string): [least: number, most: number] {
  const [, least, dash, most] = /^(\d+)(-?)(\d*)$/.exec(words) ?? [];
  if (least === undefined) throw new Error(`"${words}" is no range`);
  return [Number(least), most ? Number(most) : dash ? Number.MAX_SAFE_INTEGER : Number(least)];
}

/** What stands in a table besides its words: a rule, a whole table, a condition, or more words. */
type Part = Rule | Rules | Condition | string | number;
type Made = Exclude<Part, string | number> | undefined;

/**
 * Field rules as a vendor's own table has them, parted by commas and line ends:
 *
 *     const CARD = rules`number!${isTyped} digits 12-19, expiry! mmyy, code digits 3-4 @5017`;
 *     const SALE = rules`
 *       ${COMMON}, type! is sale|auth, amount! ${AMOUNT}, note 0-255, tax/tip whole 1-999
 *       card: ${CARD}
 *       billing?: name! 64, country! country2
 *     `;
 *
 * A field is its name, `!` where it is required (with a condition behind it: where that holds; `=` with one: only there, and forbidden
 * elsewhere; `~` with one: forbidden there), its rule, and `@` with the vendor's
 * code where that differs from field to field. The rule is a longest length (`64`, or `0-255` where it may be empty), the letters that it
 * may have and how many (`[A-Za-z0-9] 1-22`), a form for the whole value (`/20\\d\\d/`, its lengths behind it if need be), a word
 * of WORDS, or a rule made elsewhere. `a/b` have the same rule; a table that stands alone is taken over. What follows `path:` on a line is below
 * that path (`path[]:` for names such as `path[name]`); below `path?:` what is required is so only as soon as anything below the path is sent.
 */
export function rules(texts: TemplateStringsArray, ...parts: readonly Part[]): Rules {
  const written = String.raw(
    texts,
    ...parts.map((part, index) => (typeof part === "string" || typeof part === "number" ? String(part) : `$${index}`)),
  );
  const partOf = (word: string): Made => (/^\$\d+$/.test(word) ? (parts[Number(word.slice(1))] as Made) : undefined);
  const found = written.split("\n").map((line) => {
    const [head = "", path = "", isOptional = ""] = /^\s*([^\s?]+)(\??):\s/.exec(line) ?? [];
    const entries = line.slice(head.length).split(/,(?=\s|$)/);
    const table: Rules = Object.assign({}, ...entries.map((entry) => rulesIn(entry.trim(), partOf)));
    const placed = path === "" ? table : path.endsWith("[]") ? within(path.slice(0, -2), table) : under(path, table);
    return isOptional === "" ? placed : neededBelow(path, placed);
  });
  return Object.assign({}, ...found) as Rules;
}

/** The fields of one entry. */
function rulesIn(entry: string, partOf: (word: string) => Made): Rules {
  const [named = "", ...words] = entry.split(/\s+/);
  const whole = named === "" ? {} : partOf(named);
  if (whole !== undefined) return whole as Rules;
  const [, names = "", mark = "", condition = ""] = /^([^!=~]+)([!=~]?)(\$\d+)?$/.exec(named) ?? [];
  const when = partOf(condition);
  const isConditional = condition !== "" || mark === "=" || mark === "~";
  if (names === "" || (isConditional && typeof when !== "function")) throw new Error(`"${entry}" is no field`);
  const rule = ruleOf(words, partOf, entry);
  const needed = typeof when === "function" ? conditional(mark, rule, when) : mark === "" ? rule : required(rule);
  return Object.fromEntries(names.split("/").map((name) => [name, needed]));
}

/** `!` required where the condition holds, `=` and forbidden elsewhere, `~` forbidden where it holds. */
function conditional(mark: string, rule: Rule, when: Condition): Rule {
  return mark === "!" ? requiredIf(rule, when) : mark === "=" ? onlyIf(rule, when) : forbiddenIf(rule, when);
}

/** What is required only together with anything else below the path. */
function neededBelow(path: string, table: Rules): Rules {
  const needed = ([name, rule]: [string, Rule]) =>
    [name, rule.need === "required" ? requiredWith(rule.parent ?? path, rule) : rule] as const;
  return Object.fromEntries(Object.entries(table).map(needed));
}

function ruleOf(words: readonly string[], partOf: (word: string) => Made, entry: string): Rule {
  const last = words.at(-1) ?? "";
  if (last.startsWith("@")) return coded(last.slice(1), ruleOf(words.slice(0, -1), partOf, entry));
  const [word = "", argument = "", ...more] = words;
  const shared = WORDS.get(word);
  const form = /^[[/]/.test(word);
  const made = form ? formRule(word, argument) : (partOf(word) ?? shared?.(argument) ?? lengthRule(word));
  const isTooMuch = more.length > 0 || (argument !== "" && !form && (shared === undefined || shared.length === 0));
  if (made === undefined || !("check" in made) || isTooMuch) throw new Error(`"${entry.trim()}" is no field with a rule`);
  return made as Rule;
}

/** `64` begins at 1, `0-64` at 0. */
function lengthRule(word: string): Rule | undefined {
  if (!/^\d+(-\d+)?$/.test(word)) return undefined;
  const [least, most] = rangeOf(word);
  return word.includes("-") ? text(most, least) : text(least);
}

/** `[a-z] 2-8`: so many of these letters. `/a|b/`: the whole of it has that form, within the lengths that stand behind it. */
function formRule(form: string, range: string): Rule {
  const [least, most] = range === "" ? [0, Infinity] : rangeOf(range);
  const pattern = new RegExp(`^(?:${form.startsWith("[") ? `${form}*` : form.slice(1, -1)})$`, "u");
  return rule((value) => {
    if (typeof value !== "string") return ["type", "must be a string"];
    if (value.length < least) return ["length", `must have at least ${least} characters`];
    if (value.length > most) return ["length", `must have at most ${most} characters`];
    return pattern.test(value) ? null : ["value", `must be of the form ${form}`];
  });
}
