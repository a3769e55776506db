import assert from "node:assert/strict";
import { test } from "node:test";
import { digitOf } from "./dtmf-relay.ts";

const key = (body: string) => digitOf(Buffer.from(body));

test("every key of an INFO body is its RFC 4733 event code (R-226)", () => {
  const keys = "0123456789*#ABCD".split("").map((name) => key(`Signal=${name}\r\nDuration=160\r\n`));
  assert.deepEqual(
    keys,
    Array.from({ length: 16 }, (_, event) => event),
  );
});

test("spaces, case, a bare key and an event code are understood", () => {
  for (const body of [
    "Signal= 5\r\nDuration= 100",
    "\r\nSIGNAL = 5 \r\n",
    "signal=5",
    "5",
    "5\r\n",
    "Signal=05",
    "Duration=160\r\nSignal=5\r\n",
    "Duration = 1\n signal = 5",
    'Signal="5"\r\nDuration=160',
    'Signal= "05"',
  ])
    assert.equal(key(body), 5, body);
  assert.equal(key("Signal=11\r\nDuration=160"), 11);
  assert.equal(key("Signal=a"), 12);
});

test("a key in Nortel's digits is its event code (R-226)", () => {
  const nortel = (name: string) => `p=Digit-Collection\r\ny=Digits\r\ns=success\r\nu=17\r\ni=1374\r\nd=${name}\r\n`;
  const keys = "0123456789*#".split("");
  assert.deepEqual(
    keys.map((name) => key(nortel(name))),
    Array.from({ length: 12 }, (_, event) => event),
  );
  for (const body of ["d=*", "D = *", 'd="*"', 'Signal="*"', "d=*\r\nDuration=160"]) assert.equal(key(body), 10, body);
});

test("anything else is no key", () => {
  for (const body of [
    "",
    "Signal",
    "Signal=",
    "Signal=\r\nDuration=5",
    "Signal=16",
    "Signal=123",
    "Signal=5x",
    "hello",
    "Signal=!",
    'Signal="5',
    'Signal=5"',
    'Signal="5"5',
    'Signal=""',
    "Duration=160",
    "d=",
    "d=\r\ni=5",
    "id=5",
    "p=Digit-Collection\r\ny=Digits",
    "Duration=160\r\nSignal=5x",
    "Duration=160\r\nxSignal=5",
  ]) {
    assert.equal(key(body), null, body);
  }
});
