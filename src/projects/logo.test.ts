import assert from "node:assert/strict";
import { test } from "node:test";
import { logoFault } from "./logo.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const of = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString("base64")}`;

test("a logo is a picture of a form that holds no script, with its own first bytes, and small", () => {
  assert.equal(logoFault(of("image/png", PNG)), null);
  assert.equal(logoFault(of("image/jpeg", Buffer.from("ffd8ffe000104a46", "hex"))), null);
  assert.equal(logoFault(of("image/webp", Buffer.from("52494646240000005745425056503820", "hex"))), null);
  assert.match(logoFault(of("image/svg+xml", Buffer.from("<svg onload='x()'/>"))) ?? "", /image\/png, image\/jpeg, image\/webp/);
  assert.match(logoFault("https://shop.example/logo.png") ?? "", /must be data:/);
  assert.match(logoFault(of("constructor", PNG)) ?? "", /must be data:/);
  assert.match(logoFault(of("image/jpeg", PNG)) ?? "", /is not a picture of the type image\/jpeg/);
  assert.match(logoFault(`${of("image/png", PNG)}" onerror="x()`) ?? "", /must be data:/);
  assert.match(logoFault(of("image/png", Buffer.concat([PNG, Buffer.alloc(50_000)]))) ?? "", /50016 bytes; 49152 are the most/);
});
