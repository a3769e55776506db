import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { parseUuid } from "./ids.ts";
import { parseE164 } from "./phone.ts";
import { alphanumeric, systemRandom } from "./random.ts";
import { Secret } from "./secret.ts";

test("a phone number is E.164 once its separators are gone (R-100)", () => {
  for (const text of ["+14155550100", "+1 (415) 555-0100", "+1.415.555.0100"]) assert.equal(parseE164(text), "+14155550100", text);
  assert.equal(parseE164("+1234567"), "+1234567");
  assert.equal(parseE164("+123456789012345"), "+123456789012345");
});

test("everything else is no phone number (R-101)", () => {
  const texts = [
    "4155550100",
    "0014155550100",
    "tel:+14155550100",
    "+04155550100",
    "+1234567890123456",
    "+1415555010a",
    "+١٤١٥٥٥٥٠١٠٠",
    "",
    "+",
    "+123456",
    "+14155550100\n",
  ];
  for (const text of texts) assert.equal(parseE164(text), null, JSON.stringify(text));
});

test("a UUID is read in both forms and any case, and written in one (R-151)", () => {
  const canonical = "0192f0c1-2d3e-4f50-8a6b-7c8d9e0f1a2b";
  for (const text of [canonical, canonical.toUpperCase(), canonical.replaceAll("-", "")]) assert.equal(parseUuid(text), canonical);
});

test("braces, urn and near misses are no UUIDs (R-151)", () => {
  const canonical = "0192f0c1-2d3e-4f50-8a6b-7c8d9e0f1a2b";
  const texts = [
    `{${canonical}}`,
    `urn:uuid:${canonical}`,
    canonical.slice(1),
    `${canonical}0`,
    `${canonical}\n`,
    canonical.replace("a", "g"),
    "",
    canonical.replace("-", ""),
  ];
  for (const text of texts) assert.equal(parseUuid(text), null, JSON.stringify(text));
});

test("a secret is printed as a mask and revealed on demand", () => {
  const secret = new Secret("sk_live_value");
  for (const printed of [String(secret), JSON.stringify({ secret }), inspect(secret), inspect({ deep: { secret } })]) {
    assert.doesNotMatch(printed, /sk_live/);
    assert.match(printed, /redacted/);
  }
  assert.equal(secret.reveal(), "sk_live_value");
});

test("random text has the length asked for and only letters and digits, all of them", () => {
  assert.match(alphanumeric(systemRandom, 32), /^[A-Za-z0-9]{32}$/);
  const all = { ...systemRandom, bytes: () => Uint8Array.from({ length: 256 }, (_, byte) => byte) };
  assert.equal(new Set(alphanumeric(all, 248)).size, 62);
});
