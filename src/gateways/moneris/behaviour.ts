import type { Behaviour } from "../testing.ts";

const PATH = "/gateway2/servlet/MpgRequest";

export const behaviour: Behaviour = {
  specFields: { charge: "moneris_txn_id", tokenize: "moneris_data_key" },
  path: { charge: `${PATH}/purchase`, tokenize: `${PATH}/res_add_cc` },
  wrong: { api_token: "wrongtoken" },
  // The vault knows no order id.
  told: ({ mode, sessionId, reference }) => (mode === "tokenize" ? sessionId.replaceAll("-", "") : reference),
  neverAnswered: { charge: { outcome: "approved" }, tokenize: { outcome: "declined", code: "gateway_unavailable" } },
  // The status check still answers.
  everyAnswerLost: { charge: "approved", tokenize: "declined" },
  neverActed: { outcome: "approved" },
  lostRefundStaysUnknown: true,
  storesAgain: true,
  chargeStored: async ({ moneris_data_key: key = "" }, { sessionId }, vendor) => {
    const body =
      '<?xml version="1.0" encoding="UTF-8"?><request><store_id>store5</store_id><api_token>yesguy</api_token>' +
      `<res_purchase_cc><data_key>${key}</data_key><order_id>later-${sessionId}</order_id><cust_id>c1</cust_id><amount>12.50</amount>` +
      "<crypt_type>7</crypt_type></res_purchase_cc></request>";
    const answer = await vendor.post(PATH, { "Content-Type": "text/xml" }, body);
    return /<ResponseCode>0\d\d<\/ResponseCode>/.test(answer) && answer.includes("<Complete>true</Complete>");
  },
};
