import { JsonNumber } from "#src/kernel/json.ts";
import { Secret } from "#src/kernel/secret.ts";
import * as kit from "../kit/index.ts";

/**
 * ecommpay's signature (Gate API, Signature): every leaf of the body as `path:value`, in natural order of the paths,
 * joined by `;`, under HMAC-SHA512 in Base64. Card digits are signed where they lie in their cells.
 */

/** A body of ours or of the vendor's; undefined members are not in it. */
export type Signable = kit.Scalar | JsonNumber | null | readonly Signable[] | { readonly [name: string]: Signable | undefined };

type Pieces = readonly (string | Uint8Array)[];

/** The string to sign in pieces: in one piece it would hold the card number. */
export function piecesToSign(body: Signable): Pieces {
  const leaves = leavesOf(body, "").toSorted(([one], [other]) => naturalOrder(one, other));
  return leaves.flatMap(([path, value], index) => [`${index === 0 ? "" : ";"}${path}:`, ...value]);
}

export function sign(body: Signable, secretKey: Secret): string {
  return kit.hmac("sha512", secretKey, piecesToSign(body), "base64");
}

/** True when the vendor's body carries the signature that its own members give: at the top or, in some messages, in `general`. */
export function isSigned(body: kit.JsonObject, secretKey: Secret): boolean {
  const signature = kit.textAt(body, "signature") ?? kit.textAt(body, "general", "signature") ?? "";
  return kit.isSameText(signature, sign(body, secretKey));
}

function leavesOf(value: Signable, path: string): (readonly [path: string, value: Pieces])[] {
  if (!isTree(value)) return [[path, plain(value)]];
  return Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined || name === "signature" || name === "frame_mode") return [];
    const escaped = name.replaceAll(":", "::");
    return leavesOf(member, path === "" ? escaped : `${path}:${escaped}`);
  });
}

function isTree(value: Signable): value is readonly Signable[] | { readonly [name: string]: Signable | undefined } {
  return (
    typeof value === "object" && value !== null && !kit.isDigits(value) && !(value instanceof Secret) && !(value instanceof JsonNumber)
  );
}

function plain(value: kit.Scalar | JsonNumber | null): Pieces {
  if (value === null) return [""];
  if (kit.isDigits(value)) return kit.digitsOf(value);
  if (typeof value === "boolean") return [value ? "1" : "0"];
  if (value instanceof JsonNumber) return [value.text];
  return [value instanceof Secret ? value.reveal() : String(value)];
}

/** Byte by byte, but a run of digits counts as a number: `items:2` before `items:10`. */
function naturalOrder(one: string, other: string): number {
  const left = one.match(/\d+|\D/gu) ?? [];
  const right = other.match(/\d+|\D/gu) ?? [];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const [a = "", b = ""] = [left[index], right[index]];
    const difference = isNumber(a) && isNumber(b) ? Number(a) - Number(b) : Buffer.compare(Buffer.from(a), Buffer.from(b));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function isNumber(text: string): boolean {
  return /^\d/.test(text);
}
