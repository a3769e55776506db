import assert from "node:assert/strict";
import { test } from "node:test";
import { transferHeaders } from "./transfer-headers.ts";

const paid: Parameters<typeof transferHeaders>[0] = {
  id: "11111111-2222-4333-8444-555555555555",
  status: "payment-success",
  phase: null,
  amountMinor: 4995,
  currency: "USD",
  cardBrand: "visa",
  cardLast4: "4242",
  errorCode: null,
  memory: "order 118",
};

test("the agent that gets the caller back reads the result from the INVITE (R-325)", () => {
  const headers = Object.fromEntries(transferHeaders(paid));
  assert.equal(headers["X-Session-Id"], paid.id);
  assert.equal(headers["X-Payment-Status"], "payment-success");
  assert.equal(headers["X-Memory"], "order 118");
  assert.equal(headers["X-payment_status"], "success");
  assert.equal(headers["X-payment_amount"], "49.95");
  assert.equal(headers["X-payment_card_last4"], "4242");
  assert.equal(headers["X-payment_memory"], "order%20118");
  assert.equal("X-payment_error_code" in headers, false);
});

test("memory that is not printable ASCII travels as base64url, and no header can break a line (R-325)", () => {
  const headers = transferHeaders({ ...paid, memory: "größe\r\nX-Evil: 1" });
  const memory = headers.find(([name]) => name === "X-Memory")?.[1] ?? "";
  assert.equal(Buffer.from(memory, "base64url").toString(), "größe\r\nX-Evil: 1");
  assert.equal(
    headers.some(([, value]) => /[\r\n]/.test(value)),
    false,
  );
});

test("memory too long for a header is left out and a reference stands in for it (R-325)", () => {
  const headers = Object.fromEntries(transferHeaders({ ...paid, memory: "x".repeat(1025) }));
  assert.equal("X-Memory" in headers, false);
  assert.equal("X-payment_memory" in headers, false);
  assert.equal(headers["X-payment_memory_ref"], paid.id);
});

test("a payment whose outcome is not known is never told as anything else (R-323, I2)", () => {
  for (const phase of ["charging", "unknown"] as const) {
    const headers = Object.fromEntries(transferHeaders({ ...paid, status: "COLLECTING", phase }));
    assert.deepEqual(
      [headers["X-Payment-Status"], headers["X-payment_status"], headers["X-payment_said"]],
      ["unknown", "unknown", "not_completed"],
    );
  }
});

test("who was told not to try again yet is not told of as one who knows that nothing was charged", () => {
  const said = (errorCode: string) =>
    Object.fromEntries(transferHeaders({ ...paid, status: "payment-failed", errorCode }))["X-payment_said"];
  assert.deepEqual(["held_for_review", "webhook_gateway_error", "card_declined"].map(said), ["not_completed", "not_completed", "failed"]);
});
