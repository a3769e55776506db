import type { Answer } from "./simulator.ts";

/** Bodies of responses in the forms that vendors use. */

type Headers = Record<string, string>;
/** What is undefined is left out. */
type Pairs = Readonly<Record<string, string | number | undefined>>;

export const json = (status: number, body: object, headers: Headers = {}): Answer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

export const plain = (status: number, body: string, contentType = "text/plain", headers: Headers = {}): Answer => ({
  status,
  headers: { "content-type": contentType, ...headers },
  body,
});

/** `name=value` joined by `separator`; values as they are, or percent-encoded. */
export function pairs(values: Pairs, { separator = "&", isEncoded = false } = {}): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${isEncoded ? encodeURIComponent(String(value)) : String(value)}`)
    .join(separator);
}

/** An element around text, around elements made before (a list), or around members by name. */
export function element(name: string, inside: string | number | readonly string[] | Pairs): string {
  const content =
    typeof inside === "string" || typeof inside === "number"
      ? String(inside).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
      : isList(inside)
        ? inside.join("")
        : Object.entries(inside)
            .filter(([, value]) => value !== undefined)
            .map(([member, value]) => element(member, String(value)))
            .join("");
  return `<${name}>${content}</${name}>`;
}

function isList(inside: readonly string[] | Pairs): inside is readonly string[] {
  return Array.isArray(inside);
}
