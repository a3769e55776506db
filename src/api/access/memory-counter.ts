import type { Clock } from "#src/kernel/clock.ts";
import { type RateCounter, SLOT_MS, WINDOW_MS } from "./counter.ts";

const SLOTS = WINDOW_MS / SLOT_MS;
/** Past this many buckets the oldest are forgotten: an attacker with a whole network must not fill the memory. */
const MAX_BUCKETS = 100_000;

interface Slot {
  number: number;
  count: number;
}

/** Counts in this process: right where one process serves everything. */
export function memoryCounter(clock: Clock): RateCounter {
  const buckets = new Map<string, Slot[]>();
  const slotNow = () => Math.floor(clock.monotonic() / SLOT_MS);
  const counting = (slots: Slot[], slot: number) => slots.filter(({ number }) => number >= slot - SLOTS);

  return {
    count(bucket, limit) {
      const slot = slotNow();
      const slots = counting(buckets.get(bucket) ?? [], slot);
      const earlier = slots.reduce((sum, { count }) => sum + count, 0);
      const allowed = earlier < limit;
      if (allowed) {
        const last = slots.at(-1);
        if (last?.number === slot) last.count++;
        else slots.push({ number: slot, count: 1 });
      }
      if (!buckets.has(bucket) && buckets.size >= MAX_BUCKETS) buckets.delete(buckets.keys().next().value!);
      buckets.set(bucket, slots);
      const oldest = slots[0]?.number ?? slot;
      return { allowed, used: earlier + (allowed ? 1 : 0), resetMs: (oldest + SLOTS + 1) * SLOT_MS - clock.monotonic() };
    },

    sweep() {
      const slot = slotNow();
      for (const [bucket, slots] of buckets) {
        if (counting(slots, slot).length === 0) buckets.delete(bucket);
      }
    },
  };
}
