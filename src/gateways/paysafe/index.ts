import type { AttemptTrace, GatewayRequest, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { State } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

const POLL_MS = [2_000, 4_000, 8_000, 16_000, 30_000];

/** The vendor's own programs count in whole ones JPY, KRW, PYG and VND alone, and do not know these. */
const DECIMALS = kit.uncertainDecimals("BIF CLP DJF GNF IQD ISK KMF RWF UGX VUV XAF XOF XPF");

/** Paysafe's Card Payments API v1, and the Customer Vault API v1 for stored cards. */
export const gateway = kit.defineGateway({
  name: "paysafe",
  settings: requests.SETTINGS,
  capabilities: {
    // A used merchantRefNum is refused for 90 days, without the first answer.
    idempotency: "refuse",
    absenceIsProofAfterMs: 120_000,
    token: "the payment token of a card in the Customer Vault",
    processorFields: { charge: "paysafe_auth_id", tokenize: "paysafe_payment_token" },
    deadlineMs: 75_000,
  },
  sandbox: { username: "test_examplemerchant", password: "B-qa2-0-0123456789abcdef", account_id: "1002158490", currency: "USD" },
  supportHeader: "x-application-uid",
  documentation:
    "An account has one currency, and a session in another one is refused before anything is sent. Telephone payments need an account that is " +
    "set up for them (moto_account_id), or entryMode where Paysafe allows it. Merchants who charge stored cards without the holder set " +
    "stored_credential_type. Unconfirmed: whether a ZIP code without a street passes on every account with address checks, whether the vault " +
    "takes a ZIP code and country alone, and whether a declined reference may be used again (each card has its own). " +
    DECIMALS.note,
  refusalOf(sum, { credentials }) {
    if (sum.currency !== credentials.currency.reveal()) return "the session's currency is not the account's: set currency and account_id";
    return sum.mode === "charge" && !requests.fits(sum) ? "Paysafe takes two decimal places" : DECIMALS.refusalOf(sum);
  },
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), () =>
      attempt.mode === "charge" ? sendBack(attempt, io, accountOf(attempt, io)) : remove(attempt, io),
    ),
});

/** The account that the attempt went to: of the two only the noted one can be known. */
const accountOf = ({ notes }: AttemptTrace, { settings }: Io): string => notes["account"] ?? settings.credentials.account_id.reveal();
const currencyOf = ({ settings }: Io): string => settings.credentials.currency.reveal();

async function noteAccount(order: Order, io: Io): Promise<void> {
  if (io.settings.credentials.moto_account_id) await io.note({ account: requests.accountOf(order, io.settings) });
}

async function charge(order: Order, io: Io): Promise<Outcome> {
  await noteAccount(order, io);
  const answer = await io.send(requests.sale(order, io.settings));
  return follow(order, io, requests.accountOf(order, io.settings), responses.readPayment(answer, order, currencyOf(io)));
}

/** Waits for what is at work, and sends back what must not stay. */
async function follow(subject: kit.Noted<Subject>, io: Io, account: string, first: State): Promise<Outcome> {
  if (first.outcome === "received") {
    const read = async () => responses.readAgain(await io.send(requests.readAuth(io.settings, account, first.id)), subject, currencyOf(io));
    const decided = await kit.poll(io, read, POLL_MS);
    return decided === null ? kit.unknown("Paysafe is still working on the payment") : follow(subject, io, account, decided);
  }
  if (!("id" in first)) return first;
  const { id } = first;
  const processor = { paysafe_auth_id: id };
  if (first.outcome === "held") {
    const held = kit.declined("fraud_suspected", { processor, reason: "held by the vendor's risk rules; the payment was cancelled" });
    return kit.releasedFirst(held, async () => responses.isCancelled(await io.send(requests.cancel(io.settings, account, "auths", id))));
  }
  const reason = "the account has another currency than its settings say; the payment was sent back";
  return kit.releasedFirst(kit.declined("gateway_misconfigured", { processor, reason }), () => sendBack(subject, io, account));
}

/** What stands under a reference; null when the vendor did not say. */
const search = async (io: Io, account: string, kind: requests.Kind, reference: string) =>
  responses.readSearch(await io.send(requests.search(io.settings, account, kind, reference)), kind, reference);

/** Takes the settlement out of the batch and releases the hold; gives the money back where the batch is gone. */
async function sendBack(subject: kit.Noted<Subject>, io: Io, account: string): Promise<boolean> {
  const { settings } = io;
  const found = await search(io, account, "auths", subject.reference);
  const ids = responses.idsOf(found?.find((one) => kit.textAt(one, "status") === "COMPLETED"));
  if (ids === null) return false;
  const step = async (request: GatewayRequest, kind: "cancellation" | "refund") => {
    const answer = await kit.ask(io, request);
    return answer === null ? "unclear" : responses.readReversal(answer, kind);
  };
  const release = () => kit.sendUntilFinal(io, () => requests.voidAuth(subject, settings, account, ids.auth));
  if (ids.settlement === undefined) {
    const { answer } = await release();
    return answer !== null && responses.readReversal(answer, "refund") === "done";
  }
  const cancelled = await step(requests.cancel(settings, account, "settlements", ids.settlement), "cancellation");
  // Once it is cancelled no money can move; the hold would lapse by itself, and one that is gone is refused.
  if (cancelled === "done") await release();
  if (cancelled !== "settled already") return cancelled === "done";
  const refunded = await step(requests.refund(subject, settings, account, ids.settlement, kit.keyEnd(subject.notes)), "refund");
  if (refunded === "refused") await kit.nextKey(io, subject.notes);
  // A lost refund is tried again under its reference, which is used whatever became of it: that it was made, the settlement tells.
  return refunded === "done" || (refunded === "none left" && ids.isRefunded);
}

async function tokenize(order: Order, io: Io): Promise<Outcome> {
  await noteAccount(order, io);
  const verified = await verify(order, io);
  return verified.outcome === "approved" ? kit.storeAgain(io, () => store(order, io)) : verified;
}

/** The issuer's word on a card. It is no payment: its id is not told. Null where nothing was said: a duplicate may be our own request. */
function wordOf(state: State | undefined): Outcome | null {
  if (state?.outcome === "held") return kit.declined("fraud_suspected", { reason: "the verification is held by the vendor's risk rules" });
  const isTold = state?.outcome === "approved" || (state?.outcome === "declined" && state.code !== "duplicate_transaction");
  return isTold ? { ...state, processor: {} } : null;
}

/** Asks the issuer about the card. A lost answer is looked up, and where the request never arrived it is made again. */
function verify(order: Order, io: Io): Promise<Outcome> {
  const account = requests.accountOf(order, io.settings);
  let round = 0;
  return kit.verifyAgain(io, async () => {
    round += 1;
    const verification: Subject = { ...order, reference: requests.verificationRef(order, round) };
    const answer = await io.send(requests.verify(order, io.settings, round));
    const word = wordOf(responses.readPayment(answer, verification, currencyOf(io)));
    if (word !== null) return word;
    const [known] = (await search(io, account, "verifications", verification.reference)) ?? [];
    const late = wordOf(known && responses.stateOf(known, verification, currencyOf(io)));
    return late ?? kit.unknown("the verification's answer was lost");
  });
}

/** Stores the card, without an address where the vault does not take it; a profile that was stored before is adopted. */
async function store(order: Order, io: Io): Promise<Outcome> {
  const create = async (withAddress: boolean) =>
    responses.readStored(await io.send(requests.createProfile(order, io.settings, withAddress)), order);
  const first = await create(true);
  const stored = first === "no such address" ? await create(false) : first;
  if (kit.isOutcome(stored)) return stored;
  const found = await findProfile(order, io);
  return found.outcome === "approved" ? found : kit.unknown("the vault holds the card and does not show it");
}

/** A payment by its reference; a stored card by the profile that is named after the attempt. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return findProfile(attempt, io);
  const account = accountOf(attempt, io);
  const found = await search(io, account, "auths", attempt.reference);
  if (found === null) return kit.unknown("Paysafe did not answer the look-up");
  const state = kit.theStanding(found.map((one) => responses.stateOf(one, attempt, currencyOf(io))));
  if (state.outcome === "absent") return state;
  return state.outcome === "received" ? kit.pending : follow(attempt, io, account, state);
}

async function findProfile(subject: Subject, io: Io): Promise<LookUpResult> {
  const id = responses.readProfileId(await io.send(requests.findProfile(subject, io.settings)), subject);
  if (id === null) return kit.absent;
  if (id === undefined) return kit.unknown("Paysafe did not answer the look-up");
  return responses.readProfile(await io.send(requests.readProfile(io.settings, id)), subject);
}

/** Takes the profile and its card out of the vault. */
async function remove(subject: Subject, io: Io): Promise<boolean> {
  const id = responses.readProfileId(await io.send(requests.findProfile(subject, io.settings)), subject);
  const answer = typeof id === "string" ? await kit.ask(io, requests.deleteProfile(io.settings, id)) : null;
  return answer?.status === 200;
}
