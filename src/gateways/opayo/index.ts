import type { AttemptTrace, LookUpResult, Order, Outcome } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { Found } from "./responses.ts";

type OpayoIo = kit.Io<typeof requests.SETTINGS>;

/**
 * Opayo Direct, VPSProtocol 4.00 (forms in, lines out), and the Reporting API for what was lost.
 * Length: a form protocol with a reporting interface of another form, compulsory addresses, and reversals that carry the first payment's fields.
 */
export const gateway = kit.defineGateway({
  name: "opayo",
  settings: requests.SETTINGS,
  capabilities: {
    // A VendorTxCode is taken once for ever.
    idempotency: "refuse",
    absenceIsProofAfterMs: 180_000,
    verifiesOnTokenize: false,
    token: "an AUTHENTICATE registration, valid 90 days, for later AUTHORISEs up to 115 % of its amount",
    needsAddress: true,
    processorFields: { charge: "opayo_vps_tx_id opayo_security_key", tokenize: "opayo_vps_tx_id opayo_security_key" },
    deadlineMs: 75_000,
  },
  sandbox: { vendor: "acmevendor", reporting_user: "apiuser", reporting_password: "s3cretPw1" },
  checkSettings: requests.settingsFault,
  documentation:
    "Register this installation's addresses in MyOpayo, or payments are refused with 4020. A stored card is a registration: the bank is " +
    "first asked when it is charged. Unconfirmed: the vendor's list of transaction states (16 alone counts as charged), the 90 days, " +
    "and codes 2xxx other than 2000, 2001 and 2004 to 2006.",
  refusalOf: (sum, settings) => {
    const amount = sum.mode === "charge" ? requests.opayoAmount(sum) : requests.ceilingAmount(sum, settings);
    if (amount === null) return "Opayo takes two decimal places only";
    return Number(amount) > requests.LARGEST ? "Opayo takes 100,000.00 at the most" : null;
  },
  charge: (order, io) => register(order, io, kit.unrefused(requests.opayoAmount(order))),
  tokenize: (order, io) => register(order, io, kit.unrefused(requests.ceilingAmount(order, io.settings))),
  lookUp: async (attempt, io) => {
    const found = await find(attempt, io);
    return found.outcome === "stands" && found.isRefunded ? kit.unknown("the payment, or a part of it, was refunded") : outcomeOf(found);
  },
  void: async (attempt, io) => {
    const found = await find(attempt, io);
    return kit.reversal(outcomeOf(found), async () => found.outcome === "stands" && takeBack(attempt, io, found));
  },
});

async function register(order: Order, io: OpayoIo, amount: string): Promise<Outcome> {
  const type = requests.cardType(order);
  if (type === undefined) return kit.declined("card_not_supported", { reason: "Opayo has no name for this brand" });
  const { settings, egressIp } = io;
  const mayAuthenticate = type === "MC" && !requests.isTelephoneOrder(order, settings);
  return responses.readRegistration(await io.send(requests.register(order, settings, { amount, type, egressIp })), order, mayAuthenticate);
}

async function find(attempt: AttemptTrace, io: OpayoIo): Promise<Found> {
  const request = requests.transactionDetail(attempt.reference, io.settings);
  if (request === null) return kit.unknown("no reporting_user: a lost answer cannot be looked up");
  return responses.readDetail(await io.send(request), attempt);
}

function outcomeOf(found: Found): LookUpResult {
  if (found.outcome !== "stands") return found;
  return kit.approved({ opayo_vps_tx_id: found.registered.vpsTxId, opayo_security_key: found.registered.securityKey });
}

/** A void until the day's end, a refund afterwards, which is looked for first: its answer may have been lost. A registration is cancelled. */
async function takeBack(
  attempt: AttemptTrace,
  io: OpayoIo,
  { registered, isRefunded }: Extract<Found, { outcome: "stands" }>,
): Promise<boolean> {
  const first = () => requests.takeBack(attempt, io.settings, registered);
  if (attempt.mode === "charge") {
    const request = requests.transactionDetail(requests.refundCode(attempt), io.settings);
    const refunded = request === null ? "unclear" : responses.readRefund(await io.send(request), attempt);
    const refund = () => requests.refund(attempt, io.settings, registered);
    if (refunded === "refused") await kit.nextKey(io, attempt.notes);
    if (refunded !== "absent" || isRefunded) return refunded === "done";
    // The vendor does not say that it refuses to refund what is voided.
    const steps = { void: first, refund, secondRefund: "harmless", lookUp: async () => outcomeOf(await find(attempt, io)) } as const;
    return kit.voidElseRefund(io, steps, responses.readReversal, attempt.notes);
  }
  return kit.isDone(io, first(), responses.readReversal);
}
