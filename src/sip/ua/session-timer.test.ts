import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { SipRequest, SipResponse } from "../grammar/message.ts";
import { agreedTerms, type SessionTerms, sessionTerms, SessionTimer } from "./session-timer.ts";

const terms = (expires: string, supported = "timer") =>
  sessionTerms(new SipRequest("INVITE", "sip:a", new HeaderFields().add("x", expires).add("k", supported)));

test("a session interval is taken over, and the caller refreshes unless he names us (RFC 4028 section 9)", () => {
  const timer = ["Require", "timer"];
  assert.deepEqual(terms("1800"), { interval: 1800, ours: false, headers: [["Session-Expires", "1800;refresher=uac"], timer] });
  assert.deepEqual(terms("90 ; refresher=uac"), terms("90"));
  assert.deepEqual(terms("1800;refresher=uas"), {
    interval: 1800,
    ours: true,
    headers: [["Session-Expires", "1800;refresher=uas"], timer],
  });
});

test("for a caller who does not know timers we refresh, as a proxy between wants it (RFC 4028 section 9, table 2)", () => {
  const ours = { interval: 1800, ours: true, headers: [["Session-Expires", "1800;refresher=uas"]] };
  assert.deepEqual(terms("1800", "100rel"), ours);
  assert.deepEqual(terms("1800;refresher=uac", ""), ours);
});

test("an interval under 90 s is refused with 422 and Min-SE to who knows timers, else left alone (RFC 4028 sections 5 and 9)", () => {
  assert.deepEqual(terms("89"), { status: 422, headers: [["Min-SE", "90"]] });
  assert.deepEqual(terms("89", ""), { interval: null, ours: false, headers: [] });
});

test("an interval longer than a timer can wait is shortened, and does not end the call at once (RFC 4028 section 9)", () => {
  for (const value of ["4294967", "999999999", "4294967295"]) {
    const { interval, headers } = terms(value) as SessionTerms;
    assert.ok(interval !== null && interval * 1_000 < 2 ** 31);
    assert.deepEqual(headers[0], ["Session-Expires", `${interval};refresher=uac`]);
  }
});

test("no timer runs without an interval, or with nonsense for one", () => {
  for (const none of [terms("soon"), terms("-5"), terms(""), terms("0")])
    assert.deepEqual(none, { interval: null, ours: false, headers: [] });
});

test("the 2xx to a refresh of ours says whether a timer runs on, and whose it is (RFC 4028 section 7.2)", () => {
  const agreed = (value: string) => agreedTerms(new SipResponse(200, "OK", new HeaderFields().add("Session-Expires", value)));
  assert.deepEqual(agreed("1800;refresher=uac"), { interval: 1800, ours: true, headers: [] });
  assert.deepEqual([agreed("1800;refresher=uas").ours, agreed("1800").ours, agreed("1").interval], [false, true, 90]);
  assert.equal(agreedTerms(new SipResponse(200, "OK")).interval, null);
});

test("a session that is not refreshed ends before it expires, a refresh starts it anew (RFC 4028 section 10)", () => {
  const clock = new ManualClock(0);
  const happened: string[] = [];
  const timer = new SessionTimer(clock, {
    onRefresh: (interval) => void happened.push(`refresh of ${interval} at ${clock.monotonic()}`),
    onExpired: () => void happened.push(`expired at ${clock.monotonic()}`),
  });
  timer.restart({ interval: 90, ours: false });
  clock.advance(59_000);
  timer.restart({ interval: 1_800, ours: false });
  clock.advance(1_767_000);
  assert.deepEqual(happened.splice(0), []);
  clock.advance(1_000);
  assert.deepEqual(happened.splice(0), ["expired at 1827000"]);
  timer.restart({ interval: 90, ours: true });
  clock.advance(60_000);
  assert.deepEqual(happened, ["refresh of 90 at 1872000", "expired at 1887000"]);
  timer.restart({ interval: 90, ours: true });
  timer.stop();
  assert.equal(clock.pending, 0);
});
