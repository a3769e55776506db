/** What a simulator is made of; see `define.ts` for the table, `wrong-requests.ts` for its tests. */
export * from "./answers.ts";
export * from "./auth.ts";
export * from "./bodies.ts";
export * from "./cards.ts";
export * from "./define.ts";
export * from "./rule-table.ts";
export * from "./rules.ts";
export * from "./simulator.ts";
export * from "./transactions.ts";
export * from "./vault.ts";
