/** What adapters share. An adapter imports from here and from `contract.ts`, and nothing else of the gateways. */
export * from "./amount.ts";
export * from "./body.ts";
export * from "./card.ts";
export * from "./code-table.ts";
export * from "./define.ts";
export * from "./form.ts";
export * from "./http.ts";
export * from "./json.ts";
export * from "./outcomes.ts";
export * from "./repeat.ts";
export * from "./reversal.ts";
export { words } from "./scrub.ts";
export * from "./settings.ts";
export * from "./signature.ts";
export * from "./text.ts";
export * from "./token.ts";
export * from "./triage.ts";
export * from "./xml.ts";
