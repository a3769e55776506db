import { setTimeout as delay } from "node:timers/promises";

/** A limit that nobody may still be waiting for when the run is over. */
export const pause = (ms: number) => delay(ms, undefined, { ref: false });

/** Looks every quarter of a second whether something has come about; false when it has not within `limitMs`. */
export async function eventually(isSo: () => boolean, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs;
  while (!isSo()) {
    if (performance.now() >= until) return false;
    await delay(250);
  }
  return true;
}
