import type { Declined, Order, Outcome } from "../contract.ts";
import { defineGateway } from "../kit/index.ts";
import type { Io } from "../kit/index.ts";
import { lookUp, undo, unknown, voided } from "./look-up.ts";
import { SETTINGS, authorizesOnly, createCustomerProfile, createTransaction, credentialFault } from "./requests.ts";
import { readStored, readTransaction } from "./responses.ts";

/** Longest card number that the vendor's schema takes. */
const LONGEST_NUMBER = 16;

/** Authorize.Net API (JSON): createTransaction for a charge, a customer profile with one payment profile to store a card. */
export const gateway = defineGateway({
  name: "authorizenet",
  settings: SETTINGS,
  capabilities: {
    idempotency: "refuse",
    lookUp: "by reference",
    voidBy: "reference",
    // A request may run for a minute, and a new transaction may take another to show in the reports.
    absenceIsProofAfterMs: 180_000,
    authorizeOnly: true,
    oneAttempt: false,
    moto: true,
    verifiesOnTokenize: true,
    token: "a payment profile of a customer profile",
    needsAddress: false,
    takesBillingAddress: true,
    connectedAccountOption: null,
    processorFields: {
      charge: [
        "authnet_transaction_id",
        "authnet_auth_code",
        "authnet_response_code",
        "authnet_avs_result_code",
        "authnet_cvv_result_code",
        "authnet_cavv_result_code",
        "authnet_network_trans_id",
        "authnet_capture_status",
      ],
      tokenize: ["authnet_customer_profile_id", "authnet_payment_profile_id"],
      transactionId: "authnet_transaction_id",
      authCode: "authnet_auth_code",
      inWebhook: {
        authnet_transaction_id: ["transaction_id"],
        authnet_auth_code: ["auth_code"],
        authnet_response_code: ["response_code"],
        authnet_avs_result_code: ["avs_result_code"],
        authnet_cvv_result_code: ["cvv_result_code"],
        authnet_cavv_result_code: ["cavv_result_code"],
        authnet_network_trans_id: ["network_trans_id"],
        // `auth_only` says it there.
        authnet_capture_status: [],
        authnet_customer_profile_id: ["authnet_customer_profile_id"],
        authnet_payment_profile_id: ["authnet_payment_profile_id"],
      },
    },
    deadlineMs: 65_000,
  },
  sandbox: { api_login_id: "simulator1", transaction_key: "simulatorKey0001" },
  checkSettings: credentialFault,
  charge,
  tokenize,
  lookUp,
  void: undo,
});

async function charge(order: Order, io: Io<typeof SETTINGS>): Promise<Outcome> {
  if (order.card.number.length > LONGEST_NUMBER) return refusal("card_not_supported");
  const capture = authorizesOnly(io.settings) ? "authorized" : "captured";
  const answer = await io.send(createTransaction(order, io.settings));
  if (answer.kind !== "answered") return unanswered(answer.kind);
  const reading = readTransaction(answer, order, capture);
  if (reading.outcome !== "partial") return reading;
  return (await voided(order, io, reading.transId))
    ? refusal("insufficient_funds", "a part was approved and given back")
    : unknown("a part was approved and could not be given back");
}

async function tokenize(order: Order, io: Io<typeof SETTINGS>): Promise<Outcome> {
  if (order.card.number.length > LONGEST_NUMBER) return refusal("card_not_supported");
  const answer = await io.send(createCustomerProfile(order, io.settings));
  return answer.kind === "answered" ? readStored(answer, order) : unanswered(answer.kind);
}

/** A request is never sent again: the duplicate check is by content and within a time, so the look-up must tell. */
function unanswered(kind: "lost" | "not sent"): Outcome {
  return kind === "lost" ? unknown("Authorize.Net's answer was lost") : refusal("gateway_unavailable");
}

function refusal(code: Declined["code"], reason?: string): Declined {
  return { outcome: "declined", code, message: null, processor: {}, ...(reason && { reason }) };
}
