import type { Clock } from "#src/kernel/clock.ts";
import { type Log, WindowCounter } from "#src/platform/index.ts";

const WINDOW_MS = 10_000;
/** Ten a second, for as long as a window lasts. */
const ALARMING = 100;
const MOST = 1000;
/** One line a minute for an address that goes on. */
const QUIET_MS = 60_000;

/** Told of each call with the address that it came from; writes `invite_flood` to the log when they are too many (S-18). */
export function createInviteWatch({ clock, log }: { clock: Clock; log: Log }): (address: string) => void {
  const calls = new WindowCounter({ clock, windowMs: WINDOW_MS, most: MOST });
  const told = new WindowCounter({ clock, windowMs: QUIET_MS, most: MOST });
  return (address) => {
    const { name, count } = calls.count(address);
    if (count === ALARMING && told.count(name).count === 1) log.warn("invite_flood", { host: name, count, ms: WINDOW_MS });
  };
}
