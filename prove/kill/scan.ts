import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "#src/kernel/errors.ts";

/** Looks for card numbers where none may be (I8). */

/** The forms in which digits travel: plain, in groups, as two-byte text, in hexadecimal, backwards, in base64 at each alignment. */
function formsOf(digits: string): readonly Buffer[] {
  const groups = digits.match(/.{1,4}/g) ?? [];
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(digits)]).toString("base64");
    return Buffer.from(text.slice(shift === 0 ? 0 : 4, Math.floor(text.length / 4) * 4 - 4));
  });
  return [
    Buffer.from(groups.join(" ")),
    Buffer.from(groups.join("-")),
    Buffer.from(digits, "utf16le"),
    Buffer.from(Buffer.from(digits).toString("hex")),
    Buffer.from(digits.split("").toReversed().join("")),
    ...base64,
  ];
}

export type SearchedText = readonly [where: string, bytes: Buffer];

/** All files in the folder and below, but for those that are renamed or deleted while they are read. */
export function filesBelow(folder: string): SearchedText[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    try {
      const path = join(folder, name);
      return statSync(path).isFile() ? [[name, readFileSync(path)] as const] : [];
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  });
}

/** Where any of the cards stands: all of them as they are, the `thorough` ones in every other form too. */
export function findCards(texts: readonly SearchedText[], cards: readonly string[], thorough: readonly string[]): string[] {
  const lasts = (number: string) => `a card that ends in ${number.slice(-4)}`;
  return texts.flatMap(([where, bytes]) => [
    ...cards.filter((card) => bytes.includes(card)).map((card) => `${lasts(card)} in ${where}`),
    ...thorough
      .filter((card) => formsOf(card).some((form) => bytes.includes(form)))
      .map((card) => `${lasts(card)}, in another form, in ${where}`),
  ]);
}
