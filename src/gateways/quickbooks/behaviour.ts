import type { Behaviour } from "../testing.ts";
import { customerId, requestId } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "quickbooks_charge_id", tokenize: "quickbooks_card_id" },
  path: { charge: "/quickbooks/v4/payments/charges", tokenize: "/quickbooks/v4/customers/" },
  wrong: { refresh_token: "RT1-wrong" },
  neverActed: { outcome: "approved" },
  told: (order) => (order.mode === "charge" ? requestId(order) : customerId(order)),
  folded: {
    charge: { lost_or_stolen: "card_declined", processing_error: "unknown" },
    tokenize: { lost_or_stolen: "card_declined", processing_error: "unknown" },
  },
  async chargeStored({ quickbooks_card_id: cardOnFile = "" }, order, vendor) {
    const authorization = `Basic ${Buffer.from("ABsimulator:simulatorsClientSecret").toString("base64")}`;
    const refresh = "grant_type=refresh_token&refresh_token=RT1-simulator";
    const form = { Authorization: authorization, "Content-Type": "application/x-www-form-urlencoded" };
    const { access_token: token } = JSON.parse(await vendor.post("/oauth2/v1/tokens/bearer", form, refresh)) as { access_token: string };
    const headers = { Authorization: `Bearer ${token}`, "Request-Id": `later${order.sessionId}` };
    const context = { mobile: false, isEcommerce: false, recurring: true };
    const body = { amount: "25.00", currency: "USD", capture: true, cardOnFile, context };
    return (await vendor.postJson("/quickbooks/v4/payments/charges", headers, body))["status"] === "CAPTURED";
  },
};
