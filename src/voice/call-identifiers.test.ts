import assert from "node:assert/strict";
import { test } from "node:test";
import { inviteRequest } from "#src/sip/testing.ts";
import { callIdentifiersOf } from "./call-identifiers.ts";

const ID = "11111111-2222-4333-8444-555555555555";

/** The INVITE with this Request-URI and To, as a transfer through a carrier leaves them. */
const identifiers = (parts: { uri?: string; to?: string; fields?: string[] }) => {
  const { uri = "sip:pay@till.example", to = "<sip:pay@till.example>", fields = [] } = parts;
  return callIdentifiersOf(inviteRequest({ uri, toField: to, fields }), true);
};

test("X-Session-Id is read as header, doubled header, URI header and URI parameter of Request-URI and To (R-211, RFC 3261 section 19.1)", () => {
  const places = [
    { fields: [`X-Session-Id: ${ID}`] },
    { fields: [`x-session-ID: ${ID}`] },
    { fields: [`X-X-Session-Id: ${ID}`] },
    { uri: `sip:pay@till.example?X-Session-Id=${ID}` },
    { uri: `sip:pay@till.example;x-session-id=${ID}` },
    { uri: `sip:pay@till.example;transport=udp?X-X-Session-Id=${ID}` },
    { to: `<sip:pay@till.example?X-Session-Id=${ID}>` },
    { to: `<sip:pay@till.example;X-Session-Id=${ID}>` },
  ];
  for (const place of places) assert.deepEqual(identifiers(place).sessionIds, [ID], JSON.stringify(place));
  assert.deepEqual(identifiers({}).sessionIds, []);
});

test("a header that is repeated is a list, with the same value too (R-211)", () => {
  const fields = [`X-Session-Id: ${ID}`, `X-Session-Id: ${ID}`];
  assert.deepEqual(identifiers({ fields }).sessionIds, [`${ID},${ID}`]);
});

test("what is repeated within one URI, or a list that names one value only, is a list as well (R-211)", () => {
  const other = ID.replace("1111", "9999");
  const places = [
    { uri: `sip:pay@till.example?X-Session-Id=${ID}&x-session-id=${other}` },
    { uri: `sip:pay@till.example;X-Session-Id=${ID};x-session-id=${other}` },
    { to: `<sip:pay@till.example?X-Session-Id=${ID}&X-Session-Id=${other}>` },
    { fields: [`X-Session-Id: ${ID}`, `X-Session-Id: ${other}`] },
  ];
  for (const place of places) assert.deepEqual(identifiers(place).sessionIds, [`${ID},${other}`], JSON.stringify(place));
  assert.deepEqual(identifiers({ fields: [`X-Session-Id: ${ID},`] }).sessionIds, [`${ID},`]);
  assert.deepEqual(identifiers({ fields: ["X-Session-Id:", `X-Session-Id: ${ID}`] }).sessionIds, [`,${ID}`]);
  assert.deepEqual(identifiers({ fields: ["X-Session-Id:"] }).sessionIds, []);
});

test("X-Caller is read from the same places, escapes decoded (R-213)", () => {
  assert.deepEqual(identifiers({ uri: "sip:pay@till.example?X-Caller=%2B14155550102" }).callers, ["+14155550102"]);
  assert.deepEqual(identifiers({ to: "<sip:pay@till.example;X-X-Caller=+14155550102>" }).callers, ["+14155550102"]);
});

test("eight digits behind the dialled number, or alone, are a short code (RFC 3966 section 5.3)", () => {
  for (const user of ["+15550001111*12345678", "+15550001111,12345678", "+15550001111x12345678", "+15550001111;ext=12345678"]) {
    const { dialled, codes } = identifiers({ uri: `sip:${user}@till.example`, to: "<sip:+15550001111@till.example>" });
    assert.deepEqual([dialled, codes], [["+15550001111"], ["12345678"]], user);
  }
  assert.deepEqual(identifiers({ uri: "sip:+15550001111@till.example;ext=12345678" }).codes, ["12345678"]);
  const tel = identifiers({ uri: "tel:+15550001111;ext=12345678", to: "<tel:+15550001111>" });
  assert.deepEqual([tel.dialled, tel.codes], [["+15550001111"], ["12345678"]]);
  const alone = identifiers({ uri: "sip:12345678@till.example", to: "<sip:12345678@till.example>" });
  assert.deepEqual([alone.dialled, alone.codes], [["12345678"], ["12345678"]]);
  for (const user of ["+15550001111*1234567", "+15550001111*123456789", "4155550102"]) {
    assert.deepEqual(identifiers({ uri: `sip:${user}@till.example`, to: "<sip:pay@till.example>" }).codes, [], user);
  }
});

test("an asserted identity comes before From, and who withholds his number has none (R-215)", () => {
  const invite = inviteRequest({ from: "+14155550103", fields: ["P-Asserted-Identity: <sip:+14155550102@carrier.example>"] });
  assert.deepEqual(callIdentifiersOf(invite, true).calling, ["+14155550102", "+14155550103"]);
  assert.deepEqual(callIdentifiersOf(invite, false).calling, ["+14155550103"], "of a trunk alone");
  assert.deepEqual(callIdentifiersOf(inviteRequest({ from: "Restricted" }), true).calling, []);
});
