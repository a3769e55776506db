import { SipSyntaxError } from "./syntax-error.ts";

/** `token` of RFC 3261 section 25.1. */
const TOKEN = /[A-Za-z0-9\-.!%*_+`'~]+/y;
const SPACE = /[ \t]*/y;
/** A quoted-string; a quoted pair may hold any octet but CR and LF, NUL included. */
const QUOTED = /"(?:[^"\\\r\n]|\\[^\r\n])*"/y;
/** A parameter's value, more liberal than `gen-value`: whatever cannot end the parameter. Branches in the wild hold "=" and "/". */
const VALUE = /[^\x00-\x20;,"<>\x7f]+/y;
const QUOTED_PAIR = /\\([^])/g;

const [QUOTE, COMMA, LESS, GREATER, BACKSLASH] = [0x22, 0x2c, 0x3c, 0x3e, 0x5c];

const WHOLE_TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/;

/** Whether `text` is one token: a method, a header name, an option tag. */
export function isToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}

/** What a quoted-string says, without its quotes and escapes; other text unchanged. */
export function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(QUOTED_PAIR, "$1") : text;
}

/** `text` as a quoted-string (RFC 3261 section 25.1). */
export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Header parameters: `;name=value`, names without case, the first of two equal names wins. Values are as written, quotes included. */
export class Params {
  readonly #entries: readonly (readonly [name: string, value: string | null])[];

  constructor(entries: readonly (readonly [name: string, value: string | null])[]) {
    this.#entries = entries;
  }

  /** The value, unquoted; null when the parameter is absent or has none. */
  get(name: string): string | null {
    const value = this.#entries.find(([own]) => own.toLowerCase() === name)?.[1] ?? null;
    return value === null ? null : unquote(value);
  }

  has(name: string): boolean {
    return this.#entries.some(([own]) => own.toLowerCase() === name);
  }

  /** A copy without any parameter of these names, followed by `entries`. */
  with(entries: readonly (readonly [name: string, value: string | null])[]): Params {
    const names = new Set(entries.map(([name]) => name));
    return new Params([...this.#entries.filter(([name]) => !names.has(name.toLowerCase())), ...entries]);
  }

  toString(): string {
    return this.#entries.map(([name, value]) => (value === null ? `;${name}` : `;${name}=${value}`)).join("");
  }
}

/** Reads one header value from left to right; every step is a sticky expression, so the whole is linear in the value's length. */
export class Scanner {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get done(): boolean {
    return this.at >= this.text.length;
  }

  match(sticky: RegExp): string | null {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text);
    if (!found) return null;
    this.at = sticky.lastIndex;
    return found[0];
  }

  /** Skips optional white space (folding is gone by the time a value is read). */
  space(): void {
    this.match(SPACE);
  }

  /** Takes `character` and the white space around it (SEMI, EQUAL, COMMA, SLASH ... of section 25.1); false leaves the place as it was. */
  separator(character: string): boolean {
    const before = this.at;
    this.space();
    if (this.text[this.at] !== character) {
      this.at = before;
      return false;
    }
    this.at++;
    this.space();
    return true;
  }

  token(): string {
    return this.match(TOKEN) ?? this.fail("token expected");
  }

  /** A quoted-string with its quotes, or null when no quote stands here; an unbalanced quote fails. */
  quoted(): string | null {
    if (this.text[this.at] !== '"') return null;
    return this.match(QUOTED) ?? this.fail("unbalanced quote");
  }

  /** `*( SEMI generic-param )` */
  params(): Params {
    const entries: [string, string | null][] = [];
    while (this.separator(";")) {
      const name = this.token();
      const value = this.separator("=") ? (this.quoted() ?? this.match(VALUE) ?? this.fail("parameter value expected")) : null;
      entries.push([name, value]);
    }
    return new Params(entries);
  }

  end(): void {
    this.space();
    if (!this.done) this.fail("unexpected characters");
  }

  fail(reason: string): never {
    throw new SipSyntaxError(reason);
  }
}

/** The elements of a comma-separated header value; commas inside quotes and angle brackets do not separate. Empty elements are left out. */
export function splitList(value: string): string[] {
  const elements: string[] = [];
  let start = 0;
  while (start <= value.length) {
    const comma = nextComma(value, start);
    const end = comma < 0 ? value.length : comma;
    const element = trimBlank(value.slice(start, end));
    if (element !== "") elements.push(element);
    start = end + 1;
  }
  return elements;
}

/** Where the next separating comma stands at or after `from`, or -1. */
export function nextComma(value: string, from: number): number {
  let isQuoted = false;
  let isBracketed = false;
  for (let at = from; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (isQuoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isQuoted = false;
    } else if (code === QUOTE) isQuoted = true;
    else if (code === LESS) isBracketed = true;
    else if (code === GREATER) isBracketed = false;
    else if (code === COMMA && !isBracketed) return at;
  }
  return -1;
}

/** `text` without spaces and tabs at its ends. Not `trim`: that one takes the octet A0 too, which may end a UTF-8 character. */
export function trimBlank(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Space or tab. */
export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
