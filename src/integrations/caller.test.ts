import assert from "node:assert/strict";
import { test } from "node:test";
import { readCaller } from "./caller.ts";

test("a caller is read from a number, a tel: or a sip: address, and without its plus where it can be nothing else in the project's country (R-385)", () => {
  const spelled = [
    "+1 (415) 555-0123",
    "14155550123",
    "tel:+14155550123",
    "sip:+14155550123@pbx.example",
    "SIPS:14155550123:5060@pbx.example",
  ];
  for (const text of [
    ...spelled,
    "sip:%2B14155550123@pbx.example;transport=tls",
    "tel:+1-415-555-0123;ext=5",
    "tel:555-0123;ext=5;phone-context=+1-415",
    "sip:555-0123;phone-context=+1-415@pbx.example;user=phone",
  ])
    assert.equal(readCaller(text, "US"), "+14155550123", text);
  assert.equal(readCaller("+14155550123", null), "+14155550123");
});

test("what may be a national number, another country's without its plus, or none at all is nobody's (R-385)", () => {
  for (const text of [
    "4155550123",
    "442079460958",
    "anonymous",
    "sip:ada@pbx.example",
    "+",
    "",
    "{{user_number}}",
    "tel:14155550123;phone-context=pbx.example",
  ])
    assert.equal(readCaller(text, "US"), null, text);
  // An Italian mobile number begins with the country's own calling code.
  assert.equal(readCaller("3931234567", "IT"), null);
  for (const country of ["GB", null, "XX"]) assert.equal(readCaller("14155550123", country), null);
});
