import type { Behaviour } from "../testing.ts";

const AUTHS = "/cardpayments/v1/accounts/1002158490/auths";

export const behaviour: Behaviour = {
  specFields: { charge: "paysafe_auth_id", tokenize: "paysafe_payment_token" },
  path: { charge: AUTHS, tokenize: "/customervault/v1/profiles" },
  wrong: { password: "B-qa2-0-wrong" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  async chargeStored({ paysafe_payment_token: paymentToken = "" }, order, vendor) {
    const Authorization = `Basic ${Buffer.from("test_examplemerchant:B-qa2-0-0123456789abcdef").toString("base64")}`;
    const body = {
      merchantRefNum: `${order.sessionId}-later`,
      amount: 2500,
      settleWithAuth: true,
      dupCheck: true,
      card: { paymentToken },
      billingDetails: { zip: "44628" },
      storedCredential: { type: "ADHOC", occurrence: "SUBSEQUENT" },
    };
    return (await vendor.postJson(AUTHS, { Authorization }, body))["status"] === "COMPLETED";
  },
};
