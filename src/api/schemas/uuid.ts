import { FAULTS, type Fault } from "./faults.ts";

/** Where each of the five groups of a UUID starts, and their lengths (RFC 9562 section 4). */
const STARTS = [0, 9, 14, 19, 24] as const;
const LENGTHS = [8, 4, 4, 4, 12] as const;

/** Why `text` is no UUID, in the words that Pydantic gives: the first foreign character, else the number or length of the groups. */
export function uuidFault(text: string): Fault {
  const foreign = /[^0-9A-Fa-f-]/u.exec(text);
  if (foreign) {
    const position = Buffer.byteLength(text.slice(0, foreign.index)) + 1;
    return FAULTS.uuid(`invalid character: found \`${foreign[0]}\` at ${position}`);
  }
  const groups = text.split("-");
  if (groups.length === 1) return FAULTS.uuid(`invalid length: expected length 32 for simple format, found ${text.length}`);
  if (groups.length !== STARTS.length) return FAULTS.uuid(`invalid group count: expected 5, found ${groups.length}`);
  let start = 0;
  for (const [index, group] of groups.entries()) {
    const found = start + group.length - (STARTS[index] ?? 0);
    if (found !== LENGTHS[index]) return FAULTS.uuid(`invalid group length in group ${index}: expected ${LENGTHS[index]}, found ${found}`);
    start += group.length + 1;
  }
  return FAULTS.uuid("invalid group length");
}
