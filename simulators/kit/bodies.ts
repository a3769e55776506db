/**
 * Request bodies, flattened: a field's full name -> its value. JSON and XML members are joined by dots, list elements are
 * `[0]`, forms and name-value pairs keep their names. An empty object or list is a value of its own.
 */
export type Fields = ReadonlyMap<string, unknown>;

/** A field as text: "" when it is absent, null, or no scalar. */
export function textOf(fields: Fields, name: string): string {
  const value = fields.get(name);
  return typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** The content types that announce a format, and how it is read; null when the body cannot be. */
export interface Reader {
  readonly types: readonly string[];
  read(bytes: Buffer): Fields | null;
}

export type BodyFormat = keyof typeof READERS;

export const READERS = {
  json: { types: ["application/json"], read: (bytes) => jsonFields(utf8(bytes)) },
  form: { types: ["application/x-www-form-urlencoded"], read: (bytes) => parseForm(utf8(bytes)) },
  nameValue: { types: ["text/namevalue", "text/name value"], read: (bytes) => parseNameValue(utf8(bytes)) },
  xml: { types: ["application/xml", "text/xml"], read: (bytes) => xmlFields(utf8(bytes)) },
} satisfies Record<string, Reader>;

/** The text, or one that no reader takes when it is not UTF-8. */
function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return "\u0000";
  }
}

function jsonFields(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? flatten(value) : null;
  } catch {
    return null;
  }
}

/** Every leaf of a JSON value under its full name. */
export function flatten(value: unknown): Fields {
  const leaves: [string, unknown][] = [];
  const visit = (part: unknown, path: string): void => {
    const members = typeof part === "object" && part !== null ? Object.entries(part) : [];
    if (members.length === 0 && path !== "") leaves.push([path, part]);
    for (const [name, member] of members) visit(member, Array.isArray(part) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`);
  };
  visit(value, "");
  return new Map(leaves);
}

/** application/x-www-form-urlencoded (WHATWG URL section 5.1), but a broken escape is refused. `a[]` twice is `a[0]`, `a[1]`. */
export function parseForm(text: string): Map<string, string> | null {
  const fields = new Map<string, string>();
  try {
    for (const pair of text.split("&").filter((pair) => pair !== "")) {
      const [name = "", ...value] = pair.split("=").map((part) => decodeURIComponent(part.replaceAll("+", " ")));
      let index = 0;
      while (name.endsWith("[]") && fields.has(`${name.slice(0, -1)}${index}]`)) index++;
      fields.set(name.endsWith("[]") ? `${name.slice(0, -1)}${index}]` : name, value.join("="));
    }
    return text === "\u0000" ? null : fields;
  } catch {
    return null;
  }
}

/** `NAME[4]=a&b=&NAME=value`: a length tag counts characters, so its value may hold & and =; null when a tag is wrong. */
export function parseNameValue(text: string): Map<string, string> | null {
  const fields = new Map<string, string>();
  let rest = text;
  while (rest !== "") {
    const head = /^([^=&[\]]+)(?:\[([0-9]+)\])?=/.exec(rest);
    if (head === null) return null;
    const [whole, name = "", tag] = head;
    rest = rest.slice(whole.length);
    const end = tag === undefined ? (rest.indexOf("&") + 1 || rest.length + 1) - 1 : Number(tag);
    if (end > rest.length || (end < rest.length && rest[end] !== "&")) return null;
    fields.set(name, rest.slice(0, end));
    if (end + 1 === rest.length) return null;
    rest = rest.slice(end + 1);
  }
  return fields;
}

/** An XML element: its children in order, or its text. */
export interface Element {
  name: string;
  children: Element[];
  text: string;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** A document without DTD, CDATA and mixed content, which no vendor here uses; null when it is not well-formed. Attributes are dropped. */
export function parseXml(text: string): Element | null {
  const root: Element = { name: "", children: [], text: "" };
  const open = [root];
  const token = /<\?[^>]*\?>|<(\/?)([A-Za-z_][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/y;
  while (token.lastIndex < text.length) {
    const match = token.exec(text);
    const top = open.at(-1);
    if (match === null || top === undefined) return null;
    const [, slash, name, , selfClosed, words] = match;
    if (words !== undefined) {
      const decoded = decodeEntities(words);
      if (decoded === null) return null;
      top.text += decoded;
    } else if (name !== undefined && slash === "/") {
      if (open.length === 1 || open.pop()?.name !== name) return null;
    } else if (name !== undefined) {
      const element = { name, children: [], text: "" };
      top.children.push(element);
      if (selfClosed !== "/") open.push(element);
    }
  }
  const [first, second] = root.children;
  return open.length === 1 && first !== undefined && second === undefined && root.text.trim() === "" ? first : null;
}

function decodeEntities(text: string): string | null {
  let isBroken = false;
  const decoded = text.replace(/&([^;\s]*;?)/g, (_all, name: string) => {
    const code = /^#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));$/.exec(name);
    const value = code
      ? String.fromCodePoint(Math.min(code[1] === undefined ? Number(code[2]) : parseInt(code[1], 16), 0x10ffff))
      : ENTITIES.get(name.slice(0, -1));
    isBroken ||= value === undefined || !name.endsWith(";");
    return value ?? "";
  });
  return isBroken ? null : decoded;
}

function xmlFields(text: string): Fields | null {
  const root = parseXml(text);
  if (root === null) return null;
  const leaves: [string, unknown][] = [];
  const visit = ({ name, children, text }: Element, path: string): void => {
    const here = path === "" ? name : `${path}.${name}`;
    if (children.length === 0) leaves.push([here, text]);
    for (const child of children) {
      const twins = children.filter((twin) => twin.name === child.name);
      visit(twins.length === 1 ? child : { ...child, name: `${child.name}[${twins.indexOf(child)}]` }, here);
    }
  };
  visit(root, "");
  return new Map(leaves);
}
