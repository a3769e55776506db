import { Refusal } from "./simulator.ts";
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

/** A refusal in JSON. */
export const refused = (code: string, status: number, body: object, headers: Headers = {}): Refusal =>
  new Refusal(json(status, body, headers), code);

export const plain = (status: number, body: string, contentType = "text/plain", headers: Headers = {}): Answer => ({
  status,
  headers: { "content-type": contentType, ...headers },
  body,
});

/** The page of a web server that knows no such path, or not with this method. */
export const htmlNotFound = (isKnown: boolean): Refusal =>
  new Refusal(plain(isKnown ? 405 : 404, "<html><body>Not found</body></html>", "text/html"), "no such page");

/** A map out of rows parted by commas and line ends, each a key and, behind its first blank, the value: `table("visa V, jcb C1")`. */
export const table = (rows: string): ReadonlyMap<string, string> =>
  new Map(
    rows
      .trim()
      .split(/,\s*|\s*\n\s*/)
      .map((row) => [row.replace(/ .*/, ""), row.slice(row.indexOf(" ") + 1)]),
  );

/** Seconds since the epoch, whole. */
export const unixSeconds = (ms: number): number => Math.floor(ms / 1000);
/** UTC without milliseconds: 2026-02-10T18:34:58Z. */
export const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
/** 2026-02-10 18:34:58 */
export const spacedTime = (ms: number): string => isoSeconds(ms).slice(0, 19).replace("T", " ");
/** 20260210183458 */
export const digitTime = (ms: number): string => isoSeconds(ms).replace(/\D/g, "");

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
