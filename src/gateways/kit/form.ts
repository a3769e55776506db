/** Vendors' answers in names and values. */

export type Form = ReadonlyMap<string, string>;

/** No vendor's response has a tenth of that; reading tens of thousands would take long. */
const MAX_FIELDS = 1_000;

function decoded(body: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body).trim();
  } catch {
    return null;
  }
}

/** Never ambiguous: null when a name stands there twice. */
function unambiguous(pairs: Iterable<readonly [string, string]>): Form | null {
  const fields = new Map<string, string>();
  for (const [name, value] of pairs) {
    if (fields.has(name)) return null;
    fields.set(name, value);
  }
  return fields;
}

/**
 * application/x-www-form-urlencoded, read tolerantly (values may stand there unencoded): valid UTF-8, only printable text, no
 * name twice, at most a thousand fields. Null for anything else, HTML above all.
 */
export function readForm(body: Uint8Array): Form | null {
  const text = decoded(body);
  if (text === null || text === "" || /[\p{Cc}<>]/u.test(text) || text.split("&", MAX_FIELDS + 1).length > MAX_FIELDS) return null;
  return unambiguous(new URLSearchParams(text));
}

/** `Name=Value`, one a line (CRLF or LF), values as they are. Null when a line is none, or a name stands there twice. */
export function readLines(body: Uint8Array): Form | null {
  const lines = decoded(body)?.split(/\r?\n/, MAX_FIELDS + 1) ?? [];
  if (lines.length > MAX_FIELDS) return null;
  const pairs = lines.map((line) => /^(\w[\w.]*)=([^\p{Cc}]*)$/u.exec(line));
  return pairs.includes(null) ? null : unambiguous(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
}

/** `NAME=value&NAME[5]=a & b`: nothing is encoded; a tag gives the value's length in characters, so that it may hold `&` and `=`. */
export function readTagged(body: Uint8Array): Form | null {
  const text = decoded(body);
  if (text === null || text === "" || /\p{Cc}/u.test(text)) return null;
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at < text.length;) {
    const head = /^([A-Za-z]\w*)(?:\[(\d{1,5})\])?=/.exec(text.slice(at));
    if (head === null) return null;
    const [whole, name = "", tag] = head;
    const start: number = at + whole.length;
    const next = text.indexOf("&", start);
    const end = tag === undefined ? (next < 0 ? text.length : next) : start + Number(tag);
    if (end > text.length || (end < text.length && text[end] !== "&")) return null;
    pairs.push([name, text.slice(start, end)]);
    at = end + 1;
  }
  return unambiguous(pairs);
}
