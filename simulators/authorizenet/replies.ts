import { Refusal } from "../kit/index.ts";
import type { Answer } from "../kit/index.ts";

/** What is said of a call as a whole. */
export interface Result {
  code: string;
  text: string;
}

export const OK: Result = { code: "I00001", text: "Successful." };
export const UNSUCCESSFUL: Result = { code: "E00027", text: "The transaction was unsuccessful." };

/** The members of an answer with the result behind them; `finish` of `index.ts` writes it. */
export function answer({ code, text }: Result, members: object = {}): Answer {
  const messages = { resultCode: code.startsWith("I") ? "Ok" : "Error", message: [{ code, text }] };
  return { status: 200, body: { ...members, messages } };
}

export function refusal(code: string, text: string, members: object = {}): Refusal {
  return new Refusal(answer({ code, text }, members), code);
}

/** No mistake of the sender, so the ledger keeps no refusal. */
export function notFound(text = "The record cannot be found."): Refusal {
  return new Refusal(answer({ code: "E00040", text }), "E00040", { isRecorded: false });
}
