import assert from "node:assert/strict";
import { test } from "node:test";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { behaviours } from "#src/gateways/testing.ts";
import { GATEWAYS } from "#src/kernel/payment.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { openTelephone } from "#softphone/caller.ts";
import type { Turn } from "#softphone/script.ts";
import { PROMPT_CACHE } from "./installation.ts";
import { keyedPayment } from "./paying.ts";
import type { Shown } from "./processes.ts";
import { shared, startService } from "./service.ts";

/** A whole keypad call to a whole service for each gateway: charged, stored, declined. Several calls at a time, as callers do. */

const elsewhere = process.env["TEST_DATABASE_URL"] ? "runs on the embedded database, in the other leg" : false;

/** A caller who has no other card: hanging up ends the session as failed. */
const DECLINED_AND_AWAY: Turn[] = [
  ...keyedPayment("4000000000000002"),
  { do: "wait for", text: "The card was declined" },
  { do: "hang up" },
];
const COLUMNS = await behaviours();

interface Wanted {
  gateway: GatewayName;
  mode: "charge" | "tokenize";
  declined: boolean;
}

const MATRIX: readonly Wanted[] = (Object.keys(GATEWAYS_BUILT) as GatewayName[]).flatMap((gateway) => [
  { gateway, mode: "charge", declined: false } as const,
  { gateway, mode: "tokenize", declined: false } as const,
  { gateway, mode: "charge", declined: true } as const,
]);
const nameOf = ({ gateway, mode, declined }: Wanted) => `${gateway} ${mode}${declined ? ", declined" : ""}`;

test("every gateway of the interface is built", () => {
  assert.deepEqual(Object.keys(GATEWAYS_BUILT).sort(), [...GATEWAYS].sort());
});

test(
  "a caller pays, stores a card and is declined through every gateway, with its processor fields (R-400, R-345)",
  { skip: elsewhere },
  async () => {
    const service = await shared(startService());
    const telephone = await shared(openTelephone(PROMPT_CACHE));
    const events = new Map<string, Shown>();
    const faults: string[] = [];

    async function pay(wanted: Wanted): Promise<void> {
      const { gateway, mode, declined } = wanted;
      const { session_id, sip_uri } = await service.create({ gateway, mode });
      const ended = service.until(session_id, declined ? "payment-failed" : "payment-success");
      await telephone.call({ target: sip_uri, turns: declined ? DECLINED_AND_AWAY : keyedPayment() });
      await ended;
      const session = await service.session(session_id);
      const processor = session["processor"] as Record<string, unknown> | null;
      while (!events.has(session_id)) {
        const { verified, body } = await service.webhook();
        assert.ok(verified);
        events.set(String((body as Shown)["session_id"]), body as Shown);
      }
      const event = events.get(session_id)!;
      assert.equal(event["status"], session["status"]);
      if (declined) {
        assert.equal((session["error"] as Shown | null)?.["code"], "card_declined");
        return;
      }
      for (const field of [...COLUMNS[gateway]!.specFields[mode].split(" "), "card_brand", "card_last4"])
        assert.equal(typeof processor?.[field], "string", `${field} of ${JSON.stringify(processor)}`);
      assert.deepEqual([processor?.["card_brand"], processor?.["card_last4"]], ["visa", "4242"]);
      assert.partialDeepStrictEqual(event["processor"], { card_brand: "visa", card_last4: "4242" });
    }

    const waiting = [...MATRIX];
    const line = async () => {
      for (let wanted = waiting.shift(); wanted; wanted = waiting.shift()) {
        const name = nameOf(wanted);
        await pay(wanted).catch((error: Error) => faults.push(`${name}: ${error.message}`));
      }
    };
    // Fewer than ten: a service on a busy machine turns nobody away for being late with its work.
    await Promise.all(Array.from({ length: 9 }, line));
    assert.deepEqual(faults, []);
  },
);
