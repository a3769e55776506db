import type { AttemptTrace, LookUpResult, Order, Outcome } from "../contract.ts";
import { declined, defineGateway, reversal, unknown, voidElseRefund } from "../kit/index.ts";
import type { Io } from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type NmiIo = Io<typeof requests.SETTINGS>;

/** NMI Payment API (transact.php) and Query API (query.php), the Customer Vault for stored cards. */
export const gateway = defineGateway({
  name: "nmi",
  settings: requests.SETTINGS,
  capabilities: {
    // No key: the vendor refuses the same card and amount for five minutes.
    idempotency: "refuse",
    lookUp: "by reference",
    voidBy: "reference",
    // A sale may be acted on until its time-out, and the report lags behind by less than a minute.
    absenceIsProofAfterMs: 120_000,
    authorizeOnly: false,
    oneAttempt: false,
    moto: true,
    verifiesOnTokenize: true,
    token: "a Customer Vault record",
    needsAddress: false,
    takesBillingAddress: false,
    connectedAccountOption: null,
    processorFields: {
      charge: ["nmi_transaction_id"],
      tokenize: ["nmi_transaction_id", "nmi_customer_vault_id"],
      transactionId: "nmi_transaction_id",
    },
    deadlineMs: 60_000,
  },
  sandbox: { security_key: "simulatorsSecurityKeyOfThirtyTwo" },
  checkSettings: requests.keyFault,
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    reversal(await lookUp(attempt, io), async ({ processor: { nmi_transaction_id: id = "" } }) =>
      attempt.mode === "tokenize"
        ? responses.readReversal(await io.send(requests.deleteRecord(attempt, io.settings))) === "done"
        : voidElseRefund(
            io,
            {
              void: () => requests.voidSale(io.settings, id),
              refund: () => requests.refund(io.settings, id, requests.nmiAmount(attempt) ?? ""),
            },
            responses.readReversal,
          ),
    ),
});

async function charge(order: Order, io: NmiIo): Promise<Outcome> {
  const amount = requests.nmiAmount(order);
  if (amount === null) return declined("gateway_misconfigured", { reason: "the vendor takes two decimal places only" });
  const response = responses.readResponse(await io.send(requests.sale(order, io.settings, amount)), order);
  if (response.outcome === "unsupported") return response.refusal;
  return response.outcome === "partial" ? releasePart(io, response.id) : response;
}

async function tokenize(order: Order, io: NmiIo): Promise<Outcome> {
  const verified = responses.readResponse(await io.send(requests.validateAndStore(order, io.settings)), order);
  if (verified.outcome !== "unsupported") return responses.asOutcome(verified);
  return responses.asOutcome(responses.readResponse(await io.send(requests.store(order, io.settings)), order));
}

/** Only a part was authorized, although no part was asked for. */
async function releasePart(io: NmiIo, id: string): Promise<Outcome> {
  await io.note({ transaction: id });
  if (responses.readReversal(await io.send(requests.voidSale(io.settings, id))) !== "done")
    return unknown("a partial payment that could not be voided");
  return declined("insufficient_funds", { processor: { nmi_transaction_id: id }, reason: "only a part was authorized; it was voided" });
}

async function lookUp(attempt: AttemptTrace, io: NmiIo): Promise<LookUpResult> {
  const payment = responses.readTransactions(await io.send(requests.findTransactions(attempt, io.settings)), attempt);
  if (attempt.mode === "charge" || (payment.outcome !== "approved" && payment.outcome !== "absent")) return payment;
  const stored = responses.holdsRecord(await io.send(requests.findRecord(attempt, io.settings)), attempt);
  if (stored === null) return unknown("the vault did not answer the look-up");
  if (stored) return payment.outcome === "approved" ? payment : responses.stored(undefined, attempt);
  if (payment.outcome === "absent") return payment;
  return declined("gateway_misconfigured", { reason: "the card was verified, but the vault holds no record of it" });
}
