import { Secret } from "#src/kernel/secret.ts";
import type { AttemptTrace, Declined, Gateway, GatewayIo, LookUpResult, Order, Outcome, Unknown, VoidResult } from "../contract.ts";
import { baseUrlField } from "../kit/base-url.ts";
import {
  HOSTS,
  deleteRecord,
  findRecord,
  findTransactions,
  nmiAmount,
  refund,
  sale,
  settingsFault,
  store,
  validateAndStore,
  voidSale,
} from "./requests.ts";
import type { Subject } from "./requests.ts";
import { holdsRecord, readAnswer, readTransactions, readUndoing, storedAlone } from "./responses.ts";
import type { Reading } from "./responses.ts";

const DEADLINE_MS = 60_000;

/** NMI Payment API (transact.php) and Query API (query.php), the Customer Vault for stored cards. */
export const nmi: Gateway = {
  name: "nmi",
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
    deadlineMs: DEADLINE_MS,
  },
  credentialFields: [
    {
      name: "security_key",
      secret: true,
      required: true,
      meaning: "private security key with API permission, Settings > Security Keys; not the public tokenization key",
    },
    {
      name: "processor_id",
      secret: false,
      required: false,
      meaning: "which of several merchant ids takes the payment, as named under Settings > Processors",
    },
    baseUrlField,
  ],
  credentialsIn: "credentials",
  optionFields: [
    {
      name: "industry",
      values: [true, false],
      default: true,
      meaning: "tell the processor that a payment came by telephone or over the web; some processors ignore it",
    },
  ],
  hosts: HOSTS,
  sandboxCredentials: () => ({ security_key: new Secret("simulatorsSecurityKeyOfThirtyTwo") }),
  checkSettings: settingsFault,
  charge,
  tokenize,
  lookUp,
  void: undo,
};

async function charge(order: Order, io: GatewayIo): Promise<Outcome> {
  const amount = nmiAmount(order);
  if (amount === null) {
    const reason = "the vendor takes two decimal places only";
    return { outcome: "declined", code: "gateway_misconfigured", message: null, processor: {}, reason };
  }
  return settle(order, io, readAnswer(await io.send(sale(order, io.settings, amount)), order));
}

async function tokenize(order: Order, io: GatewayIo): Promise<Outcome> {
  const verified = readAnswer(await io.send(validateAndStore(order, io.settings)), order);
  if (verified.outcome !== "unsupported") return settle(order, io, verified);
  return settle(order, io, readAnswer(await io.send(store(order, io.settings)), order));
}

async function settle(order: Order, io: GatewayIo, reading: Reading): Promise<Outcome> {
  if (reading.outcome === "unsupported") return reading.verdict;
  if (reading.outcome === "duplicate") return ownOrRefused(order, io, reading.verdict);
  return reading.outcome === "partial" ? giveBackPart(io, reading.id) : reading;
}

/**
 * The vendor has seen this card and amount, or this vault record, before. When that was this very attempt, its outcome
 * stands; else another payment was meant, and this one was refused.
 */
async function ownOrRefused(order: Order, io: GatewayIo, refused: Declined): Promise<Outcome> {
  const found = await find(order, io);
  if (found.outcome === "absent") return refused;
  return found.outcome === "pending" ? unknown("a duplicate of a payment that is not settled yet") : found;
}

/** Only a part was authorized, although no part was asked for. */
async function giveBackPart(io: GatewayIo, id: string): Promise<Outcome> {
  await io.note({ transaction: id });
  const undone = readUndoing(await io.send(voidSale(io.settings, id)));
  if (undone !== "done") return unknown("a partial payment that could not be voided");
  const reason = "only a part was authorized; it was voided";
  return { outcome: "declined", code: "insufficient_funds", message: null, processor: { nmi_transaction_id: id }, reason };
}

function unknown(reason: string): Unknown {
  return { outcome: "unknown", reason };
}

async function find(subject: Subject, io: GatewayIo): Promise<LookUpResult> {
  const transaction = readTransactions(await io.send(findTransactions(subject, io.settings)), subject);
  if (subject.mode === "charge" || (transaction.outcome !== "approved" && transaction.outcome !== "absent")) return transaction;
  const stored = holdsRecord(await io.send(findRecord(subject, io.settings)), subject);
  if (stored === null) return unknown("the vault did not answer the look-up");
  if (stored) return transaction.outcome === "approved" ? transaction : storedAlone(subject);
  if (transaction.outcome === "absent") return transaction;
  const reason = "the card was verified, but the vault holds no record of it";
  return { outcome: "declined", code: "gateway_misconfigured", message: null, processor: {}, reason };
}

async function lookUp(attempt: AttemptTrace, io: GatewayIo): Promise<LookUpResult> {
  return find(attempt, io);
}

async function undo(attempt: AttemptTrace, io: GatewayIo): Promise<VoidResult> {
  const found = await find(attempt, io);
  if (found.outcome === "absent" || found.outcome === "declined") return { outcome: "nothing to void" };
  if (found.outcome !== "approved") return unknown("what there is to void is not known");
  const { settings } = io;
  const id = found.processor["nmi_transaction_id"] ?? "";
  const first = attempt.mode === "charge" ? voidSale(settings, id) : deleteRecord(attempt, settings);
  let result = readUndoing(await io.send(first));
  if (attempt.mode === "charge" && result === "settled already")
    result = readUndoing(await io.send(refund(settings, id, nmiAmount(attempt) ?? "")));
  return result === "done" ? { outcome: "voided" } : unknown("the payment could not be voided");
}
