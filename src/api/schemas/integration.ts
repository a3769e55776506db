import { z } from "zod";
import { COLLECT_PAYMENT, GET_PAYMENT_RESULT } from "#src/integrations/index.ts";
import { model } from "./validate.ts";

/**
 * What stands in the address that a merchant gives to a voice platform. Only its form is checked here: what is wrong with it the agent is
 * told in words.
 */
const once = (description: string) => z.string().optional().meta({ description });

const PARAMETERS = {
  api_key: once("The API key, one with the scope `integrations:use` alone; or leave it out and send it as a bearer token."),
  project: once("Id or slug of the project."),
  mode: once("`charge` or `tokenize`; else the argument `mode` of the tool call."),
  gateway: once("As in SessionCreate; else the argument `gateway`."),
  amount: once("A fixed amount, in place of the argument."),
  caller: once("The caller's number where neither the arguments nor the call name one."),
  description: once("In place of the argument."),
  callback: once("Where the caller is transferred back to, in place of the argument."),
  stripe_account: once("As in SessionCreate; never taken from the arguments."),
  transfer: once(
    "`control`, first platform: the service has the call transferred as soon as a session is made, and no transfer tool is needed.",
  ),
  tool: once("The second platform with arguments alone: which tool is meant, `collect_payment` when left out."),
};
export const integrationQuery = model(PARAMETERS);
export type IntegrationQuery = z.output<typeof integrationQuery>;

/** What the values of these can only be. */
const CHOICES: Readonly<Record<string, readonly string[]>> = { transfer: ["control"], tool: [COLLECT_PAYMENT, GET_PAYMENT_RESULT] };

/** The first parameter of the address with a value that it cannot have; null: there is none. */
export function wrongParameterOf(query: Readonly<Record<string, unknown>>): string | null {
  const isWrong = ([name, value]: [string, unknown]) => value !== "" && CHOICES[name]?.includes(String(value)) === false;
  return Object.entries(query).find(isWrong)?.[0] ?? null;
}

/** The first parameter of the address that is none of ours: ignored, but it may be a misspelt one. In the log's words, so no other than a plain name. */
export function unknownParameterOf(query: Readonly<Record<string, unknown>>): string | null {
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(PARAMETERS, name));
  return unknown === undefined || /^[a-z_-]{1,40}$/i.test(unknown) ? (unknown ?? null) : "(not a word)";
}
