import { Secret } from "#src/kernel/secret.ts";
import type { Behaviour } from "../testing.ts";
import { orderReference } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "trustpayments_transaction_reference", tokenize: "trustpayments_transaction_reference" },
  path: { charge: "/json/", tokenize: "/json/" },
  wrongCredentials: ({ credentials }) => ({ credentials: { ...credentials, password: new Secret("wrongPassw0rd") } }),
  refusedCredentials: "gateway_credentials_invalid",
  lost: { outcome: "approved" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  told: orderReference,
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  async chargeStored(kept, order, vendor) {
    const headers = {
      "Content-Type": "application/json;charset=utf-8",
      Authorization: `Basic ${Buffer.from("webservices@merchant.com:Passw0rd1^").toString("base64")}`,
    };
    const request = {
      requesttypedescriptions: ["AUTH"],
      sitereference: "test_site12345",
      accounttypedescription: "ECOM",
      currencyiso3a: "GBP",
      baseamount: "1250",
      orderreference: `later${order.sessionId.slice(0, 8)}`,
      parenttransactionreference: kept["trustpayments_transaction_reference"],
      credentialsonfile: "2",
    };
    const body = { alias: "webservices@merchant.com", version: "1.00", request: [request] };
    const later = JSON.parse(await vendor.post("/json/", headers, JSON.stringify(body))) as { response: { errorcode: string }[] };
    return later.response[0]?.errorcode === "0";
  },
};
