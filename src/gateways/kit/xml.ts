/**
 * A vendor's XML answer, read strictly: valid UTF-8, or ISO-8859-1 where it is declared, one well-formed root element, nothing
 * that could pull in more than the answer itself. A document type, a processing instruction and an undeclared entity are refused (XML 1.0, fifth edition).
 */
export interface XmlElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: readonly XmlElement[];
  /** All character data directly inside, entities resolved, surrounding blanks removed. */
  text: string;
}

const MAX_DEPTH = 32;
const DECLARATION = /<\?xml version="1\.[0-9]+"(?: encoding="([A-Za-z0-9._-]+)")?(?: standalone="(?:yes|no)")?\s*\?>/y;
/** What a declaration may name (section 4.3.3); without one it is UTF-8. */
const ENCODING = /^(utf-8|iso-8859-1)$/i;
const LONGEST_DECLARATION = 128;
const FILLER = /(?:\s+|<!--(?:(?!--)[^])*-->)*/y;
const OPEN = /<([A-Za-z_][\w.:-]*)/y;
const ATTRIBUTE = /\s+([A-Za-z_][\w.:-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;
const OPEN_END = /\s*(\/?)>/y;
const TEXT = /[^<]+/y;
const CDATA = /<!\[CDATA\[((?:(?!\]\]>)[^])*)\]\]>/y;
const COMMENT = /<!--(?:(?!--)[^])*-->/y;
const CLOSE = /<\/([A-Za-z_][\w.:-]*)\s*>/y;
const ENTITY = /&(?:#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6})|([A-Za-z]+));/g;
const ENTITIES = new Map(Object.entries({ lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" }));

class Malformed extends Error {}

/** The root element, or null when the body is not such a document: HTML, a truncated body, an empty one. */
export function readXml(body: Uint8Array): XmlElement | null {
  try {
    DECLARATION.lastIndex = 0;
    const encoding = DECLARATION.exec(Buffer.from(body.subarray(0, LONGEST_DECLARATION)).toString("latin1"))?.[1] ?? "utf-8";
    return ENCODING.test(encoding) ? document(new TextDecoder(encoding, { fatal: true }).decode(body)) : null;
  } catch {
    return null;
  }
}

function document(text: string): XmlElement {
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };

  const attributes = (): Record<string, string> => {
    const found = new Map<string, string>();
    for (let next = match(ATTRIBUTE); next; next = match(ATTRIBUTE)) {
      const [, name = "", double, single] = next;
      if (found.has(name)) throw new Malformed();
      found.set(name, resolve(double ?? single ?? ""));
    }
    return Object.fromEntries(found);
  };

  const element = (depth: number): XmlElement => {
    const name = match(OPEN)?.[1];
    if (name === undefined || depth > MAX_DEPTH) throw new Malformed();
    const given = attributes();
    const end = match(OPEN_END);
    if (!end) throw new Malformed();
    if (end[1] === "/") return { name, attributes: given, children: [], text: "" };
    const children: XmlElement[] = [];
    let inside = "";
    for (;;) {
      const close = match(CLOSE);
      if (close && close[1] !== name) throw new Malformed();
      if (close) return { name, attributes: given, children, text: inside.trim() };
      const plain = match(TEXT);
      const verbatim = plain ? null : match(CDATA);
      if (plain) inside += resolve(plain[0]);
      else if (verbatim) inside += verbatim[1] ?? "";
      else if (!match(COMMENT)) children.push(element(depth + 1));
    }
  };

  match(DECLARATION);
  match(FILLER);
  const root = element(0);
  match(FILLER);
  if (at < text.length) throw new Malformed();
  return root;
}

/** Character and the five predefined entity references (section 4.6); any other ampersand is a fault. */
function resolve(text: string): string {
  if (/&(?!(?:#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|lt|gt|amp|quot|apos);)/.test(text) || text.includes("]]>")) throw new Malformed();
  return text.replace(ENTITY, (_whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return ENTITIES.get(name) ?? "";
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal));
  });
}

/** Children of this name, in order. */
export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The text of the only child of this name; undefined when there is none, or more than one. */
export function childText(element: XmlElement, name: string): string | undefined {
  const [only, ...others] = childrenOf(element, name);
  return others.length > 0 ? undefined : only?.text;
}
