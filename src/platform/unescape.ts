/** Text with its escapes undone and every decimal digit in ASCII, and where each character of it stood. */
interface Unescaped {
  text: string;
  /** Offset in the original of the character at each index, and of the end behind the last. */
  starts: readonly number[];
}

/** Without one of these there is nothing to undo. */
const ESCAPED = /[\\%&\u0080-\uffff]/;
const HEX_ESCAPE = /u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})/y;
const CHARACTER_REFERENCE = /&#(?:([0-9]{1,7})|[xX]([0-9a-fA-F]{1,6}));?/y;
/** A percent sign that was escaped itself, any number of times, still begins an escape. */
const PERCENT = /%(?:25)*([0-9a-fA-F]{2})/y;
/** White space stands for what a letter behind a backslash writes: n, r, t, b, f, v. */
const BLANK_LETTERS = "nrtbfv";

/**
 * Undoes what JSON, JavaScript, URLs and XML do to a character, through any number of levels (a run of backslashes counts as one), in one
 * pass that looks at each character a bounded number of times. It is for finding things in text, not for reading it back.
 */
export function unescape(original: string): Unescaped {
  if (!ESCAPED.test(original)) return { text: original, starts: Array.from({ length: original.length + 1 }, (_, index) => index) };
  const characters: string[] = [];
  const starts: number[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(original);
    if (found) at = pattern.lastIndex;
    return found;
  };
  while (at < original.length) {
    const start = at;
    const character = original[at] === "\\" ? behindBackslashes() : original[at] === "%" ? percentEncoded() : other();
    for (const unit of inAscii(character)) {
      characters.push(unit);
      starts.push(start);
    }
  }
  return { text: characters.join(""), starts: [...starts, original.length] };

  function behindBackslashes(): string {
    while (original[at] === "\\") at++;
    const escape = match(HEX_ESCAPE);
    if (escape) return String.fromCharCode(Number.parseInt(escape[1] ?? escape[2] ?? "", 16));
    const letter = original[at++] ?? "";
    return BLANK_LETTERS.includes(letter) ? " " : letter;
  }

  /** One character of UTF-8 (RFC 3629 section 3), or the octet when it is none. */
  function percentEncoded(): string {
    const first = match(PERCENT)?.[1];
    if (first === undefined) return other();
    const lead = Number.parseInt(first, 16);
    const octets = [lead];
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    while (octets.length < length) {
      const next = match(PERCENT)?.[1];
      if (next === undefined) break;
      octets.push(Number.parseInt(next, 16));
    }
    return Buffer.from(octets).toString(length === 1 ? "latin1" : "utf8");
  }

  function other(): string {
    const reference = original[at] === "&" ? match(CHARACTER_REFERENCE) : null;
    if (reference) {
      const code = reference[1] === undefined ? Number.parseInt(reference[2] ?? "", 16) : Number(reference[1]);
      return code <= 0x10ffff ? String.fromCodePoint(code) : "?";
    }
    const character = String.fromCodePoint(original.codePointAt(at) ?? 0);
    at += character.length;
    return character;
  }
}

const DIGIT = /^\p{Nd}$/u;
const NUMBER = /^\p{No}$/u;
const digits = new Map<string, string>();

/** `character` with its digit in ASCII when it is one: of any script, full-width, superscript or circled. */
function inAscii(character: string): string {
  if (character < "\u0080") return character;
  const known = digits.get(character);
  if (known !== undefined) return known;
  if (DIGIT.test(character)) return remember(character, String(digitOf(character)));
  const plain = NUMBER.test(character) ? character.normalize("NFKC") : "";
  return /^[0-9]$/.test(plain) ? remember(character, plain) : character;
}

function remember(character: string, digit: string): string {
  digits.set(character, digit);
  return digit;
}

/** Decimal digits stand in blocks of ten, 0 first (Unicode Standard section 4.6), some blocks right behind another. */
function digitOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  let first = code;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
  return (code - first) % 10;
}
