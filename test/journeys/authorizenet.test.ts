import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { PROMPT_CACHE } from "./installation.ts";
import { keyedPayment } from "./paying.ts";
import { fault, ledger, shared, startService } from "./service.ts";

/** Payments through authorizenet over a whole service: what the session shows, what the webhook says, what the vendor holds. */

const ADDRESS = { street: "14 Main Street", city: "San Francisco", state: "CA", zip: "94105-1234", first_name: "Ada", last_name: "Byron" };

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService());

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
      await service.apply({ slug: "acme", projects: [{ slug: "shop", gateways: { authorizenet: { capture } } }] });
    });

    /** One call to its end: the session as it is polled, and the webhook's processor. */
    async function pay(fields: object, final: string) {
      const { session_id, sip_uri } = await service.create({ gateway: "authorizenet", ...fields });
      const ended = service.until(session_id, final);
      await telephone.call({ target: sip_uri, turns: keyedPayment() });
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
      await fault(service.simulatorsUrl, "authorizenet", "reset_after", "/xml/v1/request.api/createTransactionRequest");
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
