import { join } from "node:path";
import type { Turn } from "#src/cli/caller/script.ts";
import { ROOT } from "./installation.ts";

/** Rendered prompts are the same at every run and in every process. */
export const PROMPT_CACHE = join(ROOT, "node_modules/.cache/voicetill/prompts");

export const CARD = "4242424242424242";

/** A whole payment typed ahead, as soon as the line is open: number, expiry, security code, ZIP, yes. */
export function keyedPayment(card: string = CARD): Turn[] {
  return [
    { do: "wait for", text: "payment line" },
    { do: "key", keys: `${card}#1230#123#94105#1` },
  ];
}
