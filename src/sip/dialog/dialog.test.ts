import assert from "node:assert/strict";
import { test } from "node:test";
import { respond, SipRequest } from "../grammar/message.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { SipUri } from "../grammar/uri.ts";
import { remoteTargetOf, Dialog, dialogKey, dialogOf } from "./dialog.ts";

function invite(extra: readonly (readonly [string, string])[] = [], cseq = "7 INVITE"): SipRequest {
  const fields = new HeaderFields()
    .add("Via", "SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1")
    .add("From", '"A" <sip:a@example.com>;tag=theirs')
    .add("To", "<sip:b@example.com>")
    .add("Call-ID", "c1")
    .add("CSeq", cseq);
  for (const [name, value] of extra) fields.add(name, value);
  return new SipRequest("INVITE", "sip:b@example.com", fields);
}

const ROUTES = [["Record-Route", "<sip:p1;lr>, <sip:p2;lr>"]] as const;
const uas = (request: SipRequest) => Dialog.uas(request, "ours", new SipUri("sip:a@192.0.2.1:5070?X-A=1"));

test("the UAS side sends to the Contact by the recorded route, with From and To exchanged (RFC 3261 section 12.1.1)", () => {
  const dialog = uas(invite(ROUTES));
  const bye = dialog.request("BYE");
  assert.equal(bye.requestUri, "sip:a@192.0.2.1:5070");
  assert.deepEqual(bye.headers("Route"), ["<sip:p1;lr>", "<sip:p2;lr>"]);
  assert.equal(dialog.nextHop.toString(), "sip:p1;lr");
  assert.equal(bye.header("From"), "<sip:b@example.com>;tag=ours");
  assert.equal(bye.header("To"), '"A" <sip:a@example.com>;tag=theirs');
  assert.deepEqual(bye.cseq, { number: 1, method: "BYE" });
  assert.equal(dialog.request("INFO").cseq.number, 2);
});

test("the UAC side takes the recorded route in reverse (section 12.1.2)", () => {
  const request = invite();
  const response = respond(request, 200, "their-tag");
  response.fields.add("Record-Route", "<sip:p1;lr>, <sip:p2;lr>");
  const dialog = Dialog.uac(request, response, new SipUri("sip:b@192.0.2.2"));
  assert.deepEqual(dialog.id, { callId: "c1", localTag: "theirs", remoteTag: "their-tag" });
  assert.deepEqual(dialog.request("ACK", 7).headers("Route"), ["<sip:p2;lr>", "<sip:p1;lr>"]);
  assert.equal(dialog.request("ACK", 7).cseq.number, 7);
  assert.equal(dialog.request("BYE").cseq.number, 8);
});

test("a strict router gets itself in the Request-URI and the target as last route (section 12.2.1.1)", () => {
  const dialog = uas(invite([["Record-Route", "<sip:old.example.com>, <sip:p2;lr>"]]));
  const bye = dialog.request("BYE");
  assert.equal(bye.requestUri, "sip:old.example.com");
  assert.deepEqual(bye.headers("Route"), ["<sip:p2;lr>", "<sip:a@192.0.2.1:5070>"]);
});

test("without a route requests go to the target, and a new Contact moves it", () => {
  const dialog = uas(invite());
  assert.equal(dialog.nextHop.toString(), "sip:a@192.0.2.1:5070?X-A=1");
  dialog.refreshTarget(invite([["Contact", "<sip:a@192.0.2.9>"]]));
  assert.equal(dialog.request("BYE").requestUri, "sip:a@192.0.2.9");
  dialog.refreshTarget(invite([["Contact", "<tel:1>"]]));
  assert.equal(dialog.request("BYE").requestUri, "sip:a@192.0.2.9");
});

test("a request whose CSeq is lower than the last is out of order (section 12.2.2)", () => {
  const dialog = uas(invite());
  assert.equal(dialog.accepts(invite([], "9 INVITE")), true);
  assert.equal(dialog.accepts(invite([], "8 INVITE")), false);
  assert.equal(dialog.accepts(invite([], "9 INVITE")), true);
});

test("a request finds its dialog by Call-ID and both tags, one of an RFC 2543 peer without a tag too", () => {
  const tagless = new SipRequest(
    "INVITE",
    "sip:b",
    new HeaderFields().add("From", "<sip:a@b>").add("To", "<sip:b>").add("Call-ID", "c2").add("CSeq", "1 INVITE"),
  );
  const dialog = uas(tagless);
  const ours = dialog.request("BYE");
  const fields = new HeaderFields()
    .add("Call-ID", "c2")
    .add("From", ours.header("To") ?? "")
    .add("To", ours.header("From") ?? "");
  assert.equal(dialogKey(dialogOf(new SipRequest("BYE", "sip:b", fields))), dialogKey(dialog.id));
  assert.equal(dialog.id.remoteTag, "");
});

test("an INVITE without Contact is answered to its From, as RFC 2543 had it; a malformed Contact is no Contact", () => {
  assert.equal(remoteTargetOf(invite())?.toString(), "sip:a@example.com");
  assert.equal(remoteTargetOf(invite([["Contact", "<sip:c@d>"]]))?.toString(), "sip:c@d");
  assert.equal(remoteTargetOf(invite([["Contact", "<tel:1>"]])), null);
  assert.equal(remoteTargetOf(invite([["m", '"unbalanced <sip:c@d>']])), null);
});
