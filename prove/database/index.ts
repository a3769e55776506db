export type { Result } from "./statements.ts";
export { Connection, ModelDatabase } from "./model.ts";
export { type Change, DatabaseError } from "./transaction.ts";
export { type Row, textOf, type Value } from "./values.ts";
