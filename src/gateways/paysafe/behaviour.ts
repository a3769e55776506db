import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";

const AUTHS = "/cardpayments/v1/accounts/1002158490/auths";

export const behaviour: Behaviour = {
  specFields: { charge: "paysafe_auth_id", tokenize: "paysafe_payment_token" },
  path: { charge: AUTHS, tokenize: "/customervault/v1/profiles" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, password: new Secret("B-qa2-0-wrong") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  async chargeStored({ paysafe_payment_token: paymentToken = "" }, order, vendor) {
    const headers = {
      Authorization: `Basic ${Buffer.from("test_examplemerchant:B-qa2-0-0123456789abcdef").toString("base64")}`,
      "Content-Type": "application/json; charset=utf-8",
    };
    const body = {
      merchantRefNum: `${order.sessionId}-later`,
      amount: 2500,
      settleWithAuth: true,
      dupCheck: true,
      card: { paymentToken },
      billingDetails: { zip: "44628" },
      storedCredential: { type: "ADHOC", occurrence: "SUBSEQUENT" },
    };
    return (JSON.parse(await vendor.post(AUTHS, headers, JSON.stringify(body))) as { status?: string }).status === "COMPLETED";
  },
};
