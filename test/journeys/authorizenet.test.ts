import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openTelephone, type Telephone } from "#src/cli/caller/caller.ts";
import { keyedPayment, PROMPT_CACHE } from "./paying.ts";
import { ledger, run, startService, type Service } from "./service.ts";

/** Payments through authorizenet over a whole service: what the session shows, what the webhook says, what the vendor holds. */

const ADDRESS = { street: "14 Main Street", city: "San Francisco", state: "CA", zip: "94105-1234", first_name: "Ada", last_name: "Byron" };

let service: Service;
let telephone: Telephone;
before(async () => {
  service = await startService({ env: { SPEECH: "off" } });
  telephone = await openTelephone(PROMPT_CACHE);
});
after(async () => {
  await telephone.close();
  await service.stop();
});

/** Applies the service's file with this capture mode, while it runs. */
async function setCapture(capture: string): Promise<void> {
  const file = join(service.folder, "apply.json");
  const wanted = JSON.parse(readFileSync(file, "utf8")) as { organizations: { projects: { gateways?: object }[] }[] };
  Object.assign(wanted.organizations[0]!.projects[0]!, { gateways: { authorizenet: { capture } } });
  writeFileSync(file, JSON.stringify(wanted));
  const { status, stderr } = await run(["apply", file], service.env);
  assert.equal(status, 0, stderr);
}

/** What the vendor did since the ledger had `length` entries, look-ups aside. */
async function entriesAfter(length: number) {
  return (await ledger(service.simulatorsUrl, "authorizenet")).slice(length).filter(({ kind }) => kind !== "look-up");
}

for (const [capture, status, captureStatus] of [
  ["auto", "payment-success", "captured"],
  ["authorize_only", "payment-authorized", "authorized"],
] as const) {
  describe(`authorizenet with capture: ${capture}`, () => {
    let length = 0;
    before(async () => {
      length = (await ledger(service.simulatorsUrl, "authorizenet")).length;
      await setCapture(capture);
    });

    /** One call to its end: the session as it is polled, and the webhook's processor. */
    async function pay(fields: object, final: string) {
      const { session_id, sip_uri } = await service.create({ gateway: "authorizenet", ...fields });
      const ended = service.until(session_id, final);
      await telephone.call({
        target: sip_uri,
        from: "sip:+15555550100@127.0.0.1",
        headers: [],
        turns: keyedPayment(),
        onEvent: () => {},
      });
      await ended;
      const { verified, body } = await service.webhook();
      const event = body as { session_id: string; event: string; status: string; processor: Record<string, unknown> };
      assert.deepEqual([verified, event.session_id, event.status], [true, session_id, final]);
      const session = (await service.session(session_id)) as { status: string; processor: Record<string, unknown> };
      return { session, event };
    }

    test(`an approved charge ends ${status}, in both forms of the processor (R-198, R-345, R-346)`, async () => {
      const { session, event } = await pay({ billing_address: ADDRESS }, status);
      const { authnet_transaction_id: id, authnet_auth_code: code, authnet_network_trans_id: network, ...rest } = session.processor;
      assert.deepEqual(Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)), {
        authnet_response_code: "1",
        authnet_avs_result_code: "X",
        authnet_cvv_result_code: "M",
        authnet_cavv_result_code: "",
        authnet_capture_status: captureStatus,
        card_brand: "visa",
        card_last4: "4242",
      });
      assert.equal(event.event, `payment.${status.replace("payment-", "")}`);
      assert.partialDeepStrictEqual(event.processor, {
        transaction_id: id,
        auth_code: code,
        response_code: "1",
        avs_result_code: "X",
        cvv_result_code: "M",
        cavv_result_code: "",
        network_trans_id: network,
        card_brand: "visa",
        card_last4: "4242",
      });
      assert.equal(event.processor["auth_only"], capture === "auto" ? undefined : true);
    });

    test("storing a card ends payment-success and fills the two ids in both forms (R-199, R-201)", async () => {
      const { session, event } = await pay({ mode: "tokenize", amount: "0", billing_address: ADDRESS }, "payment-success");
      for (const name of ["authnet_customer_profile_id", "authnet_payment_profile_id"]) {
        assert.match(String(session.processor[name]), /^[0-9]+$/);
        assert.equal(event.processor[name], session.processor[name]);
      }
      assert.ok(!("auth_only" in event.processor));
    });

    test("a lost answer is looked up and ends as it was, with one payment", async () => {
      const fault = { gateway: "authorizenet", kind: "reset_after", times: 1, path: "/xml/v1/request.api/createTransactionRequest" };
      const armed = await fetch(`${service.simulatorsUrl}/_faults`, { method: "POST", body: JSON.stringify(fault) });
      assert.equal(armed.status, 200);
      const { session } = await pay({}, status);
      assert.equal(session.processor["authnet_avs_result_code"], "Z");
      assert.equal(session.processor["authnet_capture_status"], captureStatus);
    });

    test("the vendor was told the address with its country, and nothing was captured or voided afterwards (R-131, R-410)", async () => {
      const entries: { kind: string; details?: object }[] = await entriesAfter(length);
      const paid = capture === "auto" ? "charge" : "authorization";
      assert.deepEqual(
        entries.map(({ kind }) => kind),
        [paid, "token", paid],
      );
      assert.partialDeepStrictEqual(entries[0]?.details, {
        first_name: "Ada",
        last_name: "Byron",
        street: "14 Main Street",
        country: "US",
      });
    });
  });
}
