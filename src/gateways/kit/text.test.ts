import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewaySettings } from "../contract.ts";
import { baseOf } from "./base-url.ts";
import { readForm } from "./form.ts";
import { asciiText, shortReference, splitName } from "./text.ts";

test("any text becomes printable ASCII within its limit (R-421)", () => {
  assert.equal(asciiText("Zoë\u0301 paid\r\n5 €", 255), "Zoe paid 5 ?");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 40 }), (text, limit) => {
      const ascii = asciiText(text, limit);
      assert.ok(/^[\x20-\x7e]*$/.test(ascii) && ascii.length <= limit);
    }),
  );
});

test("a name's last word is the last name", () => {
  assert.deepEqual(splitName(" Ada King  Lovelace "), { first: "Ada King", last: "Lovelace" });
  assert.deepEqual(splitName("Ada"), { first: "", last: "Ada" });
  assert.deepEqual(splitName(""), { first: "", last: "" });
});

test("a short reference is letters of the wanted length and tells attempts apart", () => {
  const references = ["3f6c0a5e-1", "3f6c0a5e-2", "3f6c0a5e-11"].map((reference) => shortReference(reference, 24));
  assert.ok(references.every((reference) => /^[a-z]{24}$/.test(reference)));
  assert.equal(new Set(references).size, 3);
  assert.equal(shortReference("3f6c0a5e-1", 24), references[0]);
});

test("a form answer may stand there unencoded, but never twice, as HTML or as other than UTF-8", () => {
  const read = (text: string) => readForm(Buffer.from(text));
  assert.deepEqual(
    [...(read("a=x y&b=&c=%26+z\n") ?? [])],
    [
      ["a", "x y"],
      ["b", ""],
      ["c", "& z"],
    ],
  );
  for (const text of ["", "a=1&a=2", "<html>a=1</html>", "a=\u0000"]) assert.equal(read(text), null, text);
  assert.equal(readForm(Buffer.from([0x61, 0x3d, 0xff])), null);
});

test("an endpoint comes before a reseller's host, and that before the vendor's", () => {
  const hosts = { test: "https://sandbox.vendor.example", live: "https://vendor.example" };
  const base = (endpoint: string, own?: string) => {
    const credentials = own === undefined ? {} : { base_url: new Secret(own) };
    return baseOf(hosts, { environment: "test", credentials, options: {}, endpoint, version: 1 } satisfies GatewaySettings);
  };
  assert.equal(base(hosts.test), hosts.test);
  assert.equal(base(hosts.test, "https://reseller.example/"), "https://reseller.example");
  assert.equal(base("http://127.0.0.1:8090/vendor", "https://reseller.example"), "http://127.0.0.1:8090/vendor");
});
