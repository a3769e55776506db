import assert from "node:assert/strict";
import { test } from "node:test";
import { allowRuleFault } from "./transfer-allow.ts";

test("a rule that some callback fits is taken: the beginning of a number, a host, every host below one (R-330)", () => {
  for (const rule of [
    "+",
    "+1",
    "+44",
    "+4420",
    "+14155550100",
    "+800",
    "sip:pbx.example",
    "sips:PBX.example",
    "sip:*.merchant.example",
    "sip:192.0.2.7",
    "sip:[2001:db8::7]",
  ])
    assert.equal(allowRuleFault(rule), null, rule);
});

test("a rule that no callback can ever fit is refused in words (R-330)", () => {
  for (const rule of ["44", "+44 20", "tel:+44", "merchant.example", "*", "+44-20", ""])
    assert.match(allowRuleFault(rule) ?? "", /must be the beginning of a number/, rule);
  for (const rule of ["+979", "+870", "+0", "+999"]) assert.match(allowRuleFault(rule) ?? "", /no number that may be dialled/, rule);
  for (const rule of ["sip:", "sip:*", "sip:user@pbx.example", "sip:pbx.example:5060", "sip:pbx.example;transport=tcp", "sip:pbx.*"])
    assert.match(allowRuleFault(rule) ?? "", /names no host/, rule);
});
