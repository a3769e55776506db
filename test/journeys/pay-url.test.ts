import assert from "node:assert/strict";
import { test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { API_KEY, PROMPT_CACHE } from "./installation.ts";
import { CARD, nonceIn, payInPage, typedCard } from "./paying.ts";
import { ask } from "./processes.ts";
import { chargesOf, shared, startService } from "./service.ts";

/** A caller who waits on the line, or speaks in a browser, while the page of the session's link pays: over real SIP, RTP and HTTP. */

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService({ project: { voice: { pay_url: true } } }));

const create = async () => (await service.create()) as { session_id: string; sip_uri: string; pay_url: string };

test("while the caller waits the link is paid, and the call says thank you: one charge, one webhook (R-435)", async () => {
  const { session_id, sip_uri, pay_url } = await create();
  assert.equal((await service.session(session_id))["pay_url"], pay_url);
  const calling = telephone.call({ target: sip_uri, turns: [{ do: "wait for", text: "card number" }] });
  await service.until(session_id, "COLLECTING");
  const { status, body } = await payInPage({ session_id, widget_url: pay_url }, typedCard(CARD));
  assert.deepEqual([status, body["status"]], [200, "payment-success"]);
  const report = await calling;
  assert.equal(report.endedBy, "service");
  assert.match(report.prompts.join(" "), /Thank you\. Your payment was approved/);
  assert.equal((await chargesOf(service.simulatorsUrl, session_id)).length, 1);
  const { body: event } = await service.webhook();
  assert.partialDeepStrictEqual(event, { session_id, event: "payment.success", card_last4: "4242" });
  assert.equal(service.webhooks.length, 0);
  assert.equal("pay_url" in (await service.session(session_id)), false);
});

test("after a declined card on the page the caller pays by telephone, and the page is told so (R-435)", async () => {
  const { session_id, sip_uri, pay_url } = await create();
  const calling = telephone.call({
    target: sip_uri,
    turns: [
      { do: "wait for", text: "We can go on here" },
      { do: "dtmf", digits: `${CARD}#1230#123#94105#1` },
    ],
  });
  await service.until(session_id, "COLLECTING");
  assert.equal((await payInPage({ session_id, widget_url: pay_url }, typedCard("4000000000000002"))).status, 402);
  const nonce = nonceIn(await (await fetch(pay_url)).text());
  const report = await calling;
  assert.match(report.prompts.join(" "), /was approved/);
  const answer = await fetch(new URL(`/v1/widget-sessions/${session_id}`, pay_url), { headers: { "x-widget-nonce": nonce ?? "" } });
  assert.equal(answer.status, 410);
  assert.match(answer.headers.get("x-widget-result") ?? "", /^payment-success; /);
  const charges = await chargesOf(service.simulatorsUrl, session_id);
  assert.deepEqual(charges.map(({ outcome }) => outcome).toSorted(), ["approved", "declined"]);
});

test("in a call from a browser the agent sends the link, of two the last one is paid, and the agent learns of it (R-380, R-383, R-435)", async () => {
  const url = `${service.baseUrl}/integrations/alpha/webhook?project=shop&mode=charge&gateway=stripe`;
  let tools = 0;
  const tool = async (name: string, args: object) => {
    const call = { id: "call in a browser", type: "webCall" };
    const toolCallList = [{ id: `tool ${++tools}`, type: "function", function: { name, arguments: args } }];
    const { body } = await ask(url, "POST", API_KEY, { body: { message: { type: "tool-calls", toolCallList, call } } });
    return JSON.parse((body as { results: [{ result: string }] }).results[0].result) as Record<string, string>;
  };
  const [wrong, right] = [await tool("collect_payment", { amount: 12 }), await tool("collect_payment", { amount: 13.5 })];
  assert.equal((await fetch(wrong["pay_url"]!)).status, 410);
  const told = async (id: string | undefined) => {
    for (;;) {
      const body = (await service.webhook()).body as Record<string, unknown>;
      if (body["session_id"] === id) return body;
    }
  };
  assert.equal((await told(wrong["session_id"]))["status"], "cancelled");
  const [session_id, widget_url] = [right["session_id"]!, right["pay_url"]!];
  assert.equal((await payInPage({ session_id, widget_url }, typedCard(CARD))).status, 200);
  assert.partialDeepStrictEqual(await told(session_id), { event: "payment.success", caller: null, amount: 13.5 });
  assert.partialDeepStrictEqual(await tool("get_payment_result", {}), { status: "success", session_id, card_last4: "4242" });
});
