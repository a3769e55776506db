import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/clock.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { SipRequest } from "../grammar/message.ts";
import { sessionTerms, SessionTimer } from "./session-timer.ts";

const terms = (expires: string, supported = "timer") =>
  sessionTerms(new SipRequest("INVITE", "sip:a", new HeaderFields().add("x", expires).add("k", supported)));

test("a session interval is taken over and the caller refreshes (RFC 4028 section 9)", () => {
  assert.deepEqual(terms("1800"), {
    interval: 1800,
    headers: [
      ["Session-Expires", "1800;refresher=uac"],
      ["Require", "timer"],
    ],
  });
  assert.deepEqual(terms("90 ; refresher=uac"), terms("90"));
});

test("an interval under 90 s is refused with 422 and Min-SE", () => {
  assert.deepEqual(terms("89"), { status: 422, headers: [["Min-SE", "90"]] });
});

test("no timer runs for a caller who does not know timers, wants us to refresh, or writes nonsense", () => {
  for (const none of [terms("1800", "100rel"), terms("1800;refresher=uas"), terms("soon"), terms("-5"), terms("")]) {
    assert.deepEqual(none, { interval: null, headers: [] });
  }
});

test("a session that is not refreshed ends before it expires, a refresh starts it anew", () => {
  const clock = new ManualClock(0);
  const expired: number[] = [];
  const timer = new SessionTimer(clock, () => expired.push(clock.monotonic()));
  timer.restart({ interval: 90, headers: [] });
  clock.advance(59_000);
  timer.restart({ interval: 1_800, headers: [] });
  clock.advance(1_767_000);
  assert.deepEqual(expired, []);
  clock.advance(1_000);
  assert.deepEqual(expired, [1_827_000]);
  timer.restart({ interval: 90, headers: [] });
  timer.stop();
  assert.equal(clock.pending, 0);
});
