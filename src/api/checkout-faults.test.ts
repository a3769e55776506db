import assert from "node:assert/strict";
import { test } from "node:test";
import { validOrThrow } from "./checkout-faults.ts";
import { Invalid } from "./schemas/faults.ts";

test("a sum that the gateway never takes is a fault of the field gateway, in the gateway's words", () => {
  const reason = "QuickBooks takes US dollars alone";
  const refused = { kind: "invalid", faults: [{ field: "gateway", fault: "not the sum", reason }] } as const;
  assert.throws(
    () => validOrThrow(refused, "amount_cents"),
    (thrown) => {
      assert.ok(thrown instanceof Invalid);
      assert.deepEqual(thrown.items, [{ type: "value_error", loc: ["body", "gateway"], msg: `Value error, ${reason}` }]);
      return true;
    },
  );
});
