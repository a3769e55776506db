import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Secret } from "#src/kernel/secret.ts";
import { readForm, readLines, readTagged } from "./form.ts";
import { BASE_URL, addressFault, describeSettings, resolveSettings } from "./settings.ts";
import { asciiText, shortReference, splitName, unicodeText } from "./text.ts";

test("any text becomes printable ASCII within its limit (R-421)", () => {
  assert.equal(asciiText("Zoë\u0301 paid\r\n5 €", 255), "Zoe paid 5 ?");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 40 }), (text, limit) => {
      const ascii = asciiText(text, limit);
      assert.ok(/^[\x20-\x7e]*$/.test(ascii) && ascii.length <= limit);
    }),
  );
});

test("a text of any script is cut by the strictest way of counting, and never within a character (R-421)", () => {
  assert.equal(unicodeText(`Rose 🌹${"x".repeat(300)}`, 255).length, 255);
  assert.equal(unicodeText(`${"x".repeat(254)}🌹`, 255), "x".repeat(254));
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 40 }), (text, limit) => {
      const cut = unicodeText(text, limit);
      assert.ok(cut.length <= limit && cut.isWellFormed() && !/\p{Cc}/u.test(cut));
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
  const many = (count: number) => Array.from({ length: count }, (_, index) => `f${index}=1`).join("&");
  assert.deepEqual([read(many(1_000))?.size, read(many(1_001))], [1_000, null]);
});

test("lines and tagged values are read as they are, and refused when a name stands there twice", () => {
  const lines = (text: string) => readLines(Buffer.from(text));
  assert.deepEqual(lines("Status=OK\r\nStatusDetail=0000 : a=b & c.\r\n")?.get("StatusDetail"), "0000 : a=b & c.");
  for (const text of ["", "Status=OK\nStatus=NO", "<html>", "Status"]) assert.equal(lines(text), null, text);
  const tagged = (text: string) => readTagged(Buffer.from(text));
  assert.deepEqual(
    [...(tagged("RESULT=0&NAME[5]=& Foo&AMT=362.45&X=") ?? [])],
    [
      ["RESULT", "0"],
      ["NAME", "& Foo"],
      ["AMT", "362.45"],
      ["X", ""],
    ],
  );
  for (const text of ["", "A=1&A=2", "A[9]=12", "A[1]=12&B=1", "<html>"]) assert.equal(tagged(text), null, text);
});

test("an endpoint comes before a reseller's host, and that before the vendor's", () => {
  const description = describeSettings({
    hosts: { test: "https://{site}.vendor.example", live: "https://vendor.example" },
    sideHosts: { token: { test: "https://token.vendor.example", live: "https://token.example" } },
    credentials: { site: { secret: false, meaning: "" }, base_url: BASE_URL },
  });
  const addresses = (endpoint: string, own?: string) => {
    const credentials = { site: new Secret("acme"), ...(own !== undefined && { base_url: new Secret(own) }) };
    const resolved = resolveSettings(description, { environment: "test", credentials, options: {}, endpoint, version: 1 });
    return [resolved?.endpoint, resolved?.side.token];
  };
  const token = "https://token.vendor.example";
  assert.deepEqual(addresses(description.hosts.test), ["https://acme.vendor.example", token]);
  assert.deepEqual(addresses(description.hosts.test, "https://reseller.example/"), ["https://reseller.example", token]);
  const simulator = "http://127.0.0.1:8090/vendor";
  assert.deepEqual(addresses(simulator, "https://reseller.example"), [simulator, simulator]);
});

test("a host's part of a credential cannot turn the address elsewhere, and a base address has no path", () => {
  const description = {
    hosts: { test: "https://{site}.vendor.example", live: "" },
    credentials: { site: { secret: false, meaning: "" }, base_url: BASE_URL },
  };
  const fault = (site: string, base?: string) =>
    addressFault(description, {
      environment: "test",
      credentials: { site: new Secret(site), ...(base !== undefined && { base_url: new Secret(base) }) },
      options: {},
      endpoint: description.hosts.test,
      version: 1,
    });
  assert.equal(fault("acme-1"), null);
  for (const site of ["", "a/b", "evil.example#", "a.b", "-a", "@x"]) assert.match(fault(site) ?? "", /site is not/, site);
  for (const base of ["http://x.example", "https://x.example/path", "https://u:p@x.example", "x"])
    assert.match(fault("acme", base) ?? "", /base_url/);
});
