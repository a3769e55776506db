/** Form fields and what a vendor demands of them, as a table: `metadata[*]` stands for any one key. */

export interface Rule {
  required?: boolean;
  /** What is wrong with a value, or null. */
  check(value: string): string | null;
}

export type Rules = Readonly<Record<string, Rule>>;
export type Fields = ReadonlyMap<string, string>;

export type Fault = { kind: "unknown" | "missing" | "invalid"; field: string; message: string };

export const anyText = (longest: number): Rule => ({
  check: (value) => (value === "" ? "must not be empty" : value.length > longest ? `must be at most ${longest} characters` : null),
});

export const oneOf = (...words: string[]): Rule => ({
  check: (value) => (words.includes(value) ? null : `must be one of ${words.join(", ")}`),
});

export const matching = (pattern: RegExp, what: string): Rule => ({ check: (value) => (pattern.test(value) ? null : `must be ${what}`) });

export const wholeNumber: Rule = matching(/^-?[0-9]{1,15}$/, "a whole number");
export const trueOrFalse: Rule = oneOf("true", "false");

export const required = (rule: Rule): Rule => ({ ...rule, required: true });

/** application/x-www-form-urlencoded (WHATWG URL section 5.1), but a broken escape is refused: null. */
export function parseForm(text: string): Fields | null {
  try {
    const pairs = text.split("&").filter((pair) => pair !== "");
    return new Map(
      pairs.map((pair) => {
        const [name = "", ...value] = pair.split("=");
        return [decode(name), decode(value.join("="))] as const;
      }),
    );
  } catch {
    return null;
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** The first field that breaks a rule, the unknown ones before the missing ones; null when all is well. */
export function faultIn(fields: Fields, rules: Rules): Fault | null {
  for (const [field, value] of fields) {
    const rule = rules[field] ?? rules[field.replace(/\[[^\]]*\]$/, "[*]")];
    if (rule === undefined) return { kind: "unknown", field, message: `Received unknown parameter: ${field}` };
    const wrong = rule.check(value);
    if (wrong !== null) return { kind: "invalid", field, message: `Invalid ${field}: ${wrong}` };
  }
  const missing = Object.entries(rules).find(([field, rule]) => rule.required && !fields.has(field));
  return missing ? { kind: "missing", field: missing[0], message: `Missing required param: ${missing[0]}.` } : null;
}
