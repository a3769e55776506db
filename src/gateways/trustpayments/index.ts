import type { AttemptTrace, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { State } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

const DECIMALS = kit.uncertainDecimals(kit.DISPUTED);

/**
 * Trust Payments (formerly Secure Trading), Webservices API 1.00: AUTH, ACCOUNTCHECK, and TRANSACTIONQUERY for what was lost.
 * Length: no repetition is known to the vendor, several responses stand in one answer, and whether money is kept is told by a status beside the refusal.
 */
export const gateway = kit.defineGateway({
  name: "trustpayments",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "none",
    // A minute for our own wait, a minute of empty queries.
    absenceIsProofAfterMs: 120_000,
    token: "the reference of an ACCOUNTCHECK, charged as parenttransactionreference with credentialsonfile 2",
    processorFields: { charge: "trustpayments_transaction_reference", tokenize: "trustpayments_transaction_reference" },
    deadlineMs: 75_000,
  },
  sandbox: { username: "webservices@merchant.com", password: "Passw0rd1^", sitereference: "test_site12345" },
  checkSettings: requests.settingsFault,
  refusalOf: DECIMALS.refusalOf,
  documentation:
    "Trust Payments must enable account type MOTO for telephone payments and ECOM for the widget, whose cards may ask for an authentication " +
    "that it cannot show. An authorization that a rule of the account suspends is cancelled and refused. Stored cards need an acquirer that " +
    "supports ACCOUNTCHECK. Merchants of financial services (MCC 6012) are refused with 60025. Unconfirmed: the host of the United States. " +
    DECIMALS.note +
    "A refund whose answer was lost, and that no query shows, is not sent again: the payment stays on the list of unmatched ones.",
  charge: async (order, io) => {
    const site = await siteOf(order, io);
    return settled(io, site, responses.readPayment(await io.send(requests.sale(order, io.settings)), order));
  },
  tokenize,
  lookUp: (attempt, io) => find(attempt, keptSite(attempt, io), io),
  void: async (attempt, io) => {
    const site = keptSite(attempt, io);
    return kit.reversal(await find(attempt, site, io), async ({ processor }) =>
      // What a check stored cannot be taken out again.
      attempt.mode === "tokenize" ? false : takeBack(attempt, io, site, processor["trustpayments_transaction_reference"] ?? ""),
    );
  },
});

/** The order's site; noted where telephone payments have their own, because a look-up no longer knows the channel. */
async function siteOf(order: Order, io: Io): Promise<string> {
  const site = requests.siteOf(order, io.settings);
  if (io.settings.credentials.moto_sitereference) await io.note({ site });
  return site;
}

const keptSite = ({ notes }: AttemptTrace, { settings }: Io): string => notes["site"] ?? settings.credentials.sitereference.reveal();

/** What is suspended will never settle: it is cancelled, so that no hold stays. */
async function settled(io: Io, site: string, state: State): Promise<Outcome> {
  if (state.outcome !== "suspended") return state;
  await io.note({ transaction: state.transaction });
  const cancel = requests.cancel(io.settings, site, state.transaction);
  return kit.releasedFirst(state.refusal, () => kit.isDone(io, cancel, responses.readReversal));
}

/** A check takes nothing, so that a lost one is sent again; a query finds what was stored meanwhile. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const site = await siteOf(order, io);
  const stored = await kit.storeAgain(io, async () =>
    settled(io, site, responses.readPayment(await io.send(requests.check(order, io.settings)), order)),
  );
  if (stored.outcome !== "declined" || stored.code !== "gateway_unavailable") return stored;
  const found = await find(order, site, io);
  return found.outcome === "approved" ? found : stored;
}

async function find(subject: Subject, site: string, io: Io): Promise<LookUpResult> {
  const answer = await io.send(requests.query(subject, io.settings, site));
  const found = responses.readQuery(answer, subject);
  if (found === null) return kit.unknown("Trust Payments did not answer the look-up");
  const states = await kit.each(found, (state) => settled(io, site, state));
  // The card may have been checked more than once: any of the checks is its token.
  return subject.mode === "tokenize" ? kit.anyApproved(states) : kit.theStanding(states);
}

/** Cancelled before settlement, refunded after. */
function takeBack(attempt: AttemptTrace, io: Io, site: string, transaction: string): Promise<boolean> {
  const steps = {
    void: () => requests.cancel(io.settings, site, transaction),
    refund: () => requests.refund(attempt, io.settings, site, transaction),
    lookUp: () => find(attempt, site, io),
  };
  return kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
}
