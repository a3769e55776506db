import assert from "node:assert/strict";
import { test } from "node:test";
import { brandNames, cardFaults, issuer, mask, wordsBy } from "./cards.ts";

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

test("words stand by each of their keys, and by no other", () => {
  const typesOf = wordsBy<readonly string[]>("visa VISA|DELTA, diners/discover DC");
  assert.deepEqual([typesOf("visa"), typesOf("discover"), typesOf("jcb")], [["VISA", "DELTA"], ["DC"], null]);
  const faultOf = cardFaults<readonly string[]>("number 11|Card, expiry 16, code 14");
  assert.deepEqual([faultOf("number"), faultOf("code")], [["11", "Card"], ["14"]]);
  assert.throws(() => cardFaults("number 11, code 14"), /each fault/);
});

test("a card is shown with as many digits as the vendor shows, and named as the vendor names its brand", () => {
  assert.deepEqual([mask("4242424242424242"), mask("4242424242424242", "x", 6)], ["************4242", "424242xxxxxx4242"]);
  const nameOf = brandNames("visa VISA, amex AX", "OTHER");
  assert.deepEqual(["4242424242424242", "378282246310005", "6011111111111117"].map(nameOf), ["VISA", "AX", "OTHER"]);
});
