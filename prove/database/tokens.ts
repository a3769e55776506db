/** Words of a SQL text: enough of PostgreSQL's lexical rules for what this project writes. */

export type Token =
  | { kind: "name"; text: string; quoted: boolean }
  | { kind: "text"; text: string }
  | { kind: "number"; text: string }
  | { kind: "parameter"; text: string }
  | { kind: "sign"; text: string }
  | { kind: "end"; text: "" };

const PATTERN =
  /\s+|--[^\n]*|"([^"]+)"|'((?:[^']|'')*)'|\$(\d+)|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(<>|!=|<=|>=|@>|\|\||::|=>|[=<>+\-*/(),.;[\]])/y;

export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  PATTERN.lastIndex = 0;
  while (PATTERN.lastIndex < sql.length) {
    const at = PATTERN.lastIndex;
    const match = PATTERN.exec(sql);
    if (!match) throw new SyntaxError(`unreadable SQL at: ${sql.slice(at, at + 40)}`);
    const [, quoted, text, parameter, number, name, sign] = match;
    if (quoted !== undefined) tokens.push({ kind: "name", text: quoted, quoted: true });
    else if (text !== undefined) tokens.push({ kind: "text", text: text.replaceAll("''", "'") });
    else if (parameter !== undefined) tokens.push({ kind: "parameter", text: parameter });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else if (name !== undefined) tokens.push({ kind: "name", text: name.toLowerCase(), quoted: false });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
  }
  tokens.push({ kind: "end", text: "" });
  return tokens;
}

/** A place in the words of a statement. */
export class Reader {
  readonly #tokens: readonly Token[];
  readonly #sql: string;
  #at = 0;

  constructor(sql: string) {
    this.#sql = sql;
    this.#tokens = tokensOf(sql);
  }

  get token(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "" };
  }

  next(): Token {
    const { token } = this;
    this.#at++;
    return token;
  }

  /** True and past them when the next words are these (lower case, unquoted) or signs. */
  accept(...words: string[]): boolean {
    const fits = words.every((word, index) => {
      const token = this.#tokens[this.#at + index];
      return token !== undefined && token.text === word && (token.kind === "sign" || (token.kind === "name" && !token.quoted));
    });
    if (fits) this.#at += words.length;
    return fits;
  }

  sees(...words: string[]): boolean {
    const before = this.#at;
    const fits = this.accept(...words);
    this.#at = before;
    return fits;
  }

  /** Past `*` or `name.*`: the name, "" for none; null when something else comes. */
  acceptAll(): string | null {
    if (this.accept("*")) return "";
    const [, dot, star] = this.#tokens.slice(this.#at, this.#at + 3);
    const { kind, text } = this.token;
    if (kind !== "name" || dot?.text !== "." || star?.text !== "*") return null;
    this.#at += 3;
    return text;
  }

  expect(...words: string[]): void {
    if (!this.accept(...words)) this.fail(`"${words.join(" ")}" expected`);
  }

  name(): string {
    const token = this.next();
    return token.kind === "name" ? token.text : this.fail("a name expected");
  }

  list<T>(item: () => T): T[] {
    const items = [item()];
    while (this.accept(",")) items.push(item());
    return items;
  }

  fail(why: string): never {
    throw new SyntaxError(`the model of the database cannot read this SQL (${why}, at "${this.token.text}"): ${this.#sql}`);
  }
}
