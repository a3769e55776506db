import type { Behaviour } from "../testing.ts";
import { gateway } from "./index.ts";
import { shopperReference } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "adyen_psp_reference", tokenize: "adyen_psp_reference adyen_stored_payment_method_id" },
  path: { charge: "/v72/payments", tokenize: "/v72/payments" },
  wrong: { api_key: "AQEwrong+KEY" },
  neverActed: { outcome: "approved" },
  voidsUnseen: { charge: true, tokenize: false },
  async chargeStored({ adyen_stored_payment_method_id: storedPaymentMethodId = "" }, order, vendor) {
    const key = gateway.sandboxCredentials("")["api_key"]?.reveal() ?? "";
    const headers = { "X-API-Key": key, "Idempotency-Key": `later-${order.sessionId}` };
    const later = await vendor.postJson("/v72/payments", headers, {
      amount: { currency: "USD", value: 2500 },
      merchantAccount: "YourCompanyECOM",
      reference: `later-${order.sessionId}`,
      paymentMethod: { type: "scheme", storedPaymentMethodId },
      shopperReference: shopperReference(order),
      shopperInteraction: "ContAuth",
      recurringProcessingModel: "UnscheduledCardOnFile",
      returnUrl: "https://example.com/none",
    });
    return later["resultCode"] === "Authorised";
  },
};
