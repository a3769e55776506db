import assert from "node:assert/strict";
import { test } from "node:test";
import { issuer } from "./cards.ts";

const DECLINES = "card_declined 05|Declined, no more, insufficient_funds/51 51|Funds, expired_card 54, incorrect_cvc 82";

test("an issuer's words stand by every trigger of their row, and commas inside them do not part rows", () => {
  const said = issuer<readonly string[]>(`
    ${DECLINES}
    processing_error 96|, lost_or_stolen/4557012345678902 41|Lost
  `);
  assert.deepEqual(["card_declined", "51", "4557012345678902"].map(said), [
    ["05", "Declined, no more"],
    ["51", "Funds"],
    ["41", "Lost"],
  ]);
  assert.deepEqual([said("processing_error"), said("4242424242424242")], [["96", ""], null]);
});

test("an issuer that has no words for a decline of the uniform cards is refused when it is read", () => {
  assert.throws(() => issuer(`${DECLINES}, processing_error 96`), /lost_or_stolen/);
});
