import type { AccessToken, AttemptTrace, GatewayRequest, Order, Outcome, VoidResult } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;
type Build = (token: AccessToken) => GatewayRequest;

/** The largest amount that Intuit's own programs name, in cents. */
const LARGEST = 9_999_999;

/** QuickBooks Payments API v4 under OAuth 2.0: US merchants, US dollars. The refresh token changes with its use. */
export const gateway = kit.defineGateway({
  name: "quickbooks",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "replay",
    // No search by Request-Id: a lost answer is asked for again with the card, and without it voided by its Request-Id.
    lookUp: "none",
    absenceIsProofAfterMs: 120_000,
    verifiesOnTokenize: false,
    token: "a card of a customer made for the session",
    processorFields: { charge: "quickbooks_charge_id", tokenize: "quickbooks_card_id" },
  },
  sandbox: { client_id: "ABsimulator", client_secret: "simulatorsClientSecret", refresh_token: "RT1-simulator" },
  supportHeader: "intuit_tid",
  documentation:
    "US dollars alone, 99,999.99 at the most. A refresh token that is not used for about 100 days expires, and the merchant must then connect again: a worker " +
    "renews it after 30 days without use. Unconfirmed: how long Intuit keeps a Request-Id, how long one may be, its answer to a void of one that it never got " +
    "(taken for 404 with PMT-10305), how long a replaced refresh token goes on, the longest description, the members of a stored card's answer, and the " +
    "statuses of fraud refusals. Intuit's sandbox settles at once, so a void by Request-Id may fail there. A refund without a clear answer is not sent again: " +
    "the charge's status tells of it, or the payment stays on the list of unmatched ones.",
  refusalOf: ({ mode, currency, amountMinor }) =>
    mode === "charge" && (currency !== "USD" || amountMinor > LARGEST)
      ? "QuickBooks takes US dollars alone, and 99,999.99 of them at the most"
      : null,
  charge,
  tokenize,
  authenticate: (io) => io.accessToken(mint(io)),
  void: (attempt, io) => (attempt.mode === "charge" ? voidCharge(attempt, io) : removeCards(attempt, io)),
});

/** A new access token; the refresh token that came with it is kept first. */
const mint = (io: Io) => () =>
  kit.mintByRotation(io, async ({ refresh_token = io.settings.credentials.refresh_token }) =>
    responses.readTokens(await io.send(requests.refresh(io.settings, refresh_token)), io.clock),
  );

const send = (io: Io, build: Build) => kit.sendWithToken(io, mint(io), build);

/** Sends until it is final under one Request-Id; the token may change between the tries. What ends with a fault that Intuit names is one once it is found not to have been made. */
async function sendWithKey(io: Io, build: Build) {
  let isFault = false;
  const judge = (answer: kit.Answered) => {
    isFault = responses.isNamedFault(answer);
    return responses.judge(answer);
  };
  const answer = await kit.sendWithKey(io, () => send(io, build), { effect: "money", judge, recorded: responses.isRecorded });
  if (isFault && kit.isOutcome(answer)) await io.note({ [kit.REFUSED_AS]: "processing_error" });
  return answer;
}

async function charge(order: Order, io: Io): Promise<Outcome> {
  const answer = await sendWithKey(io, (token) => requests.charge(order, io.settings, token));
  if (kit.isOutcome(answer)) return answer;
  const response = responses.readCharge(answer, order);
  if (response.outcome !== "excess") return response;
  return kit.releasedFirst(
    response.refusal,
    async () => responses.readReversal(await send(io, (token) => requests.voidCharge(order, io.settings, token))) === "done",
  );
}

async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const answer = await sendWithKey(io, (token) => requests.storeCard(order, io.settings, token));
  return kit.isOutcome(answer) ? answer : responses.readStored(answer);
}

/**
 * By the Request-Id while it is not settled, else by the charge's id, where the answer gave it: such a charge is not absent either. Intuit does
 * not say that it would refuse a second refund, so that of one without a clear answer only the charge's own status tells.
 */
async function voidCharge(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  const id = attempt.notes["quickbooks_charge_id"];
  if (id !== undefined && responses.isTakenBack(await send(io, (token) => requests.readCharge(io.settings, token, id)), id))
    return { outcome: "voided" };
  const end = kit.keyEnd(attempt.notes);
  const voided = responses.readReversal(await send(io, (token) => requests.voidCharge(attempt, io.settings, token, end)));
  if (voided === "absent" || voided === "refused") await kit.nextKey(io, attempt.notes);
  if (voided === "done") return { outcome: "voided" };
  if (voided === "absent" && id === undefined) return kit.absent;
  const isRefunded = id !== undefined && voided !== "unclear" && (await refund(attempt, io, id));
  return isRefunded ? { outcome: "voided" } : kit.unknown("the payment could not be voided");
}

function refund(attempt: AttemptTrace, io: Io, id: string): Promise<boolean> {
  // Only a void that was refused leads here, so that the next reversal has other keys.
  const sending = () => send(io, (token) => requests.refund(attempt, io.settings, token, id, kit.keyEnd(attempt.notes)));
  return kit.refundOnce(io, sending, responses.readRefund, attempt.notes);
}

async function removeCards(attempt: AttemptTrace, io: Io): Promise<VoidResult> {
  const cards = responses.readCards(await send(io, (token) => requests.listCards(attempt, io.settings, token)));
  if (cards === null) return kit.unknown("what there is to remove is not known");
  for (const id of cards) {
    const answer = await send(io, (token) => requests.deleteCard(attempt, io.settings, token, id));
    const gone = !kit.isOutcome(answer) && answer.kind === "answered" && kit.isGone(answer);
    if (!gone) return kit.unknown("the stored card could not be removed");
  }
  return { outcome: cards.length > 0 ? "voided" : "nothing to void" };
}
