import { at } from "../kit/index.ts";
import type { Behaviour } from "../testing.ts";
import { orderReference } from "./requests.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "trustpayments_transaction_reference", tokenize: "trustpayments_transaction_reference" },
  path: { charge: "/json/", tokenize: "/json/" },
  wrong: { password: "wrongPassw0rd" },
  everyAnswerLost: { charge: "unknown", tokenize: "declined" },
  told: orderReference,
  neverActed: { charge: { outcome: "absent" }, tokenize: { outcome: "approved" } },
  keepsStored: true,
  storesAgain: true,
  async chargeStored(kept, order, vendor) {
    const Authorization = `Basic ${Buffer.from("webservices@merchant.com:Passw0rd1^").toString("base64")}`;
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
    return at(await vendor.postJson("/json/", { Authorization }, body), "response", 0, "errorcode") === "0";
  },
};
