import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./nearest.ts";

const WORDS = ["slug", "name", "currency", "language", "phone_numbers", "status_webhook"];

test("a misspelt word is known again: a letter wrong, missing, too many or exchanged, in any case", () => {
  for (const [written, meant] of [
    ["curency", "currency"],
    ["currencyy", "currency"],
    ["langauge", "language"],
    ["slog", "slug"],
    ["phone_number", "phone_numbers"],
    ["Status_WebHook", "status_webhook"],
  ] as const)
    assert.equal(nearest(written, WORDS), meant);
});

test("what is like none of the words is taken for none", () => {
  for (const written of ["colour", "x", "webhook"]) assert.equal(nearest(written, WORDS), null);
  assert.equal(nearest("name", []), null);
});
