import { Secret } from "#src/kernel/secret.ts";
import type { AttemptTrace, Declined, Gateway, GatewayIo, GatewayRequest, LookUpResult, Order, Outcome, VoidResult } from "../contract.ts";
import { sendUntilFinal } from "../shared/repeat.ts";
import type { Answered } from "../shared/repeat.ts";
import {
  authorizesOnly,
  createCustomerProfile,
  createTransaction,
  credentialFault,
  deleteCustomerProfile,
  getCustomerProfile,
  getTransactionDetails,
  listBatch,
  listBatches,
  listUnsettled,
  voidTransaction,
} from "./requests.ts";
import type { Subject } from "./requests.ts";
import { isDeleted, isVoided, readBatches, readCustomerProfile, readDetails, readList, readStored, readTransaction } from "./responses.ts";
import type { Listed } from "./responses.ts";

/** Longest card number that the vendor's schema takes. */
const LONGEST_NUMBER = 16;
/** Most pages of one list that a look-up goes through. */
const MOST_PAGES = 20;
/** For the difference between the database's clock and the vendor's. */
const CLOCK_MARGIN_MS = 10 * 60_000;

/** Authorize.Net API (JSON): createTransaction for a charge, a customer profile with one payment profile to store a card. */
export const authorizenet: Gateway = {
  name: "authorizenet",
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
    },
    deadlineMs: 65_000,
  },
  credentialFields: [
    {
      name: "api_login_id",
      secret: true,
      required: true,
      meaning: "API Login ID, Account > Settings > API Credentials & Keys; sandbox and live accounts have different ones",
    },
    {
      name: "transaction_key",
      secret: true,
      required: true,
      meaning:
        "Transaction Key (16 characters), same page; a lost answer is looked up with the Transaction Details API, which must be enabled",
    },
    { name: "signature_key", secret: true, required: false, meaning: "Signature Key (128 hex digits), same page; not needed to charge" },
  ],
  credentialsIn: "credentials",
  optionFields: [
    {
      name: "capture",
      values: ["auto", "authorize_only"],
      default: "auto",
      meaning: "auto takes the money at once; authorize_only holds it for a later capture by the merchant (payment-authorized)",
    },
    {
      name: "moto",
      values: [true, false],
      default: true,
      meaning: "mark telephone payments as MOTO; false for accounts that are boarded for e-commerce alone",
    },
    {
      name: "validation",
      values: ["liveMode", "testMode"],
      default: "liveMode",
      meaning: "how a card is checked before it is stored: liveMode asks the issuer, testMode checks the form alone",
    },
  ],
  hosts: { test: "https://apitest.authorize.net", live: "https://api.authorize.net" },
  sandboxCredentials: () => ({ api_login_id: new Secret("simulator1"), transaction_key: new Secret("simulatorKey0001") }),
  checkSettings: credentialFault,
  charge,
  tokenize,
  lookUp: find,
  void: undo,
};

async function charge(order: Order, io: GatewayIo): Promise<Outcome> {
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

async function tokenize(order: Order, io: GatewayIo): Promise<Outcome> {
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

function unknown(reason: string) {
  return { outcome: "unknown", reason } as const;
}

/** What the attempt left at the vendor: the customer profile or the transaction that carries its reference. */
async function find(attempt: AttemptTrace, io: GatewayIo): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") {
    const answer = await ask(io, getCustomerProfile(attempt, io.settings));
    return answer ? readCustomerProfile(answer, attempt) : unknown("Authorize.Net did not answer the look-up");
  }
  const mine = await unsettled(attempt, io);
  const all = mine?.length === 0 ? await settled(attempt, io) : mine;
  if (all === null) return unknown("the transactions could not be listed; is the Transaction Details API enabled?");
  const standing = all.filter(({ refused }) => !refused);
  if (standing.length > 1) return unknown("more than one transaction carries this attempt");
  const [chosen = all[0]] = standing;
  if (chosen === undefined) return { outcome: "absent" };
  const answer = await ask(io, getTransactionDetails(attempt, io.settings, chosen.transId));
  return answer ? readDetails(answer, attempt) : unknown("Authorize.Net did not answer the look-up");
}

async function ask(io: GatewayIo, request: GatewayRequest): Promise<Answered | null> {
  const answer = await io.send(request);
  return answer.kind === "answered" ? answer : null;
}

function unsettled(attempt: AttemptTrace, io: GatewayIo): Promise<Listed[] | null> {
  return pages(attempt, io, (page) => listUnsettled(attempt, io.settings, page));
}

/** Settled transactions leave the unsettled list once a day, so an old attempt is in a batch. */
async function settled(attempt: AttemptTrace, io: GatewayIo): Promise<Listed[] | null> {
  const answer = await ask(io, listBatches(attempt, io.settings, attempt.startedAtMs - CLOCK_MARGIN_MS, io.clock.now()));
  const batches = answer && readBatches(answer, attempt);
  const found: Listed[] = [];
  for (const batch of batches ?? []) {
    const mine = await pages(attempt, io, (page) => listBatch(attempt, io.settings, batch, page));
    if (mine === null) return null;
    found.push(...mine);
  }
  return batches && found;
}

/** The attempt's own transactions of a list, newest first; null when it could not be read to the attempt's begin. */
async function pages(attempt: AttemptTrace, io: GatewayIo, build: (page: number) => GatewayRequest): Promise<Listed[] | null> {
  const found: Listed[] = [];
  for (let page = 1; page <= MOST_PAGES; page++) {
    const answer = await ask(io, build(page));
    const list = answer && readList(answer, attempt, attempt.startedAtMs - CLOCK_MARGIN_MS);
    if (list === null) return null;
    found.push(...list.mine);
    if (!list.more) return found;
  }
  return null;
}

async function undo(attempt: AttemptTrace, io: GatewayIo): Promise<VoidResult> {
  const found = await find(attempt, io);
  if (found.outcome === "absent" || found.outcome === "declined") return { outcome: "nothing to void" };
  if (found.outcome !== "approved") return unknown("what there is to void is not known");
  const { authnet_transaction_id: transId = "", authnet_customer_profile_id: profileId = "" } = found.processor;
  const gone = attempt.mode === "tokenize" ? await deleted(attempt, io, profileId) : await voided(attempt, io, transId);
  return gone ? { outcome: "voided" } : unknown("the payment could not be voided");
}

async function voided(subject: Subject, io: GatewayIo, transId: string): Promise<boolean> {
  const { answer } = await sendUntilFinal(io, () => voidTransaction(subject, io.settings, transId), judge);
  return answer !== null && isVoided(answer, subject);
}

async function deleted(subject: Subject, io: GatewayIo, profileId: string): Promise<boolean> {
  const { answer } = await sendUntilFinal(io, () => deleteCustomerProfile(subject, io.settings, profileId), judge);
  return answer !== null && isDeleted(answer, subject);
}

/** Undoing a thing twice does no harm, so it is tried until the vendor says something. */
function judge({ status }: Answered): "final" | "perhaps done" {
  return status === 200 ? "final" : "perhaps done";
}
