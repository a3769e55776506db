import type { AttemptTrace, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { State } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/**
 * Checkout.com's payments on the present platform; a stored card is the source of a verification.
 * Length: a payment may be decided later, approved in part, or in need of its actions to say why it was declined, and each is read by itself.
 */
export const gateway = kit.defineGateway({
  name: "checkoutcom",
  settings: requests.SETTINGS,
  capabilities: {
    // The first answer of a status below 300 for 24 hours; a repeat after a fault is executed again, so that nothing is repeated here.
    idempotency: "replay",
    // How soon the look-up by reference shows a payment was not to be learnt.
    absenceIsProofAfterMs: 180_000,
    token: "a source (src_...) that the verification of the card made",
    processorFields: { charge: "checkoutcom_payment_id", tokenize: "checkoutcom_payment_id checkoutcom_source_id" },
    deadlineMs: 75_000,
  },
  sandbox: {
    secret_key: "sk_sbox_examplesecretkeyabcdefgh234",
    prefix: "example1",
    processing_channel_id: "pc_zs5fqhybzc2e3jmq3efvybybpq",
  },
  checkSettings: requests.settingsFault,
  supportHeader: "cko-request-id",
  refusalOf: (sum) => (requests.checkoutAmount(sum) === null ? "Checkout.com does not take all decimals of this amount" : null),
  documentation:
    "Checkout.com must switch on full card numbers for the account, and MOTO for the processing channel of telephone payments. Keys of the " +
    "previous platform and OAuth clients are not taken. The capture follows the authorization by itself within seconds, but not of a payment that the " +
    "merchant's risk rules flag: it fails as held for review, and he captures or voids it at Checkout.com. Unconfirmed: the answers to " +
    "an account without those switches, the names of most errors, the answer to a second delivery of a request beside the first (it is looked " +
    "up), the delay of the look-up by reference, and hosts without prefix for new accounts.",
  charge: pay,
  tokenize: pay,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor }) =>
      attempt.mode === "charge"
        ? sendBack(attempt, io, processor["checkoutcom_payment_id"] ?? "")
        : isRemoved(io, processor["checkoutcom_source_id"] ?? ""),
    ),
});

async function pay(order: Order, io: Io): Promise<Outcome> {
  const amount = kit.unrefused(requests.checkoutAmount(order));
  return follow(order, io, responses.readAnswer(await io.send(requests.payment(order, io.settings, amount)), order));
}

/** Reads a payment that is still at work, and sends back one that was approved in part. */
async function follow(subject: Subject, io: Io, first: State): Promise<Outcome> {
  if (!("id" in first)) return first;
  const { id } = first;
  await io.note({ payment: id });
  if (first.outcome === "working") {
    const read = async (): Promise<State | undefined> => {
      const now = responses.readPayment(await io.send(requests.readPayment(io.settings, id)), id, subject);
      return now === null || now.outcome === "working" || now.outcome === "unknown" ? undefined : now;
    };
    const decided = await kit.poll(io, read);
    return decided === null ? kit.unknown("Checkout.com is still working on the payment") : follow(subject, io, decided);
  }
  const processor = { checkoutcom_payment_id: id };
  const refused = kit.declined("card_declined", { processor, reason: "only a part was approved; it was sent back" });
  return kit.releasedFirst(refused, () => sendBack(subject, io, id));
}

/**
 * Asks for the reversal, and waits until the payment shows it. One that was accepted may be declined later, a void that the capture
 * came before, say; its key would answer "accepted" again and do nothing.
 */
async function sendBack(subject: Subject, io: Io, id: string): Promise<boolean> {
  const declined = responses.declinedReversals(await io.send(requests.readActions(io.settings, id)));
  if (declined === null) return false;
  const asked = responses.readReversal(await io.send(requests.reverse(subject, io.settings, id, declined)));
  if (asked !== "accepted") return asked === "done";
  const read = async () => (responses.isReversed(await io.send(requests.readPayment(io.settings, id))) ? true : undefined);
  return (await read()) ?? (await kit.poll(io, read)) ?? false;
}

const isRemoved = async (io: Io, id: string): Promise<boolean> =>
  responses.isRemoved(await io.send(requests.deleteSource(io.settings, id)));

/** By the reference, or by the payment's id where it is known already. */
async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  const known = attempt.notes["payment"];
  const ids = known ? [known] : responses.readSearch(await io.send(requests.search(attempt, io.settings)), requests.referenceOf(attempt));
  if (ids === null) return kit.unknown("Checkout.com did not answer the look-up");
  return kit.theStanding(await kit.each(ids, (id) => readOne(attempt, io, id)));
}

async function readOne(attempt: AttemptTrace, io: Io, id: string): Promise<LookUpResult> {
  const state = responses.readPayment(await io.send(requests.readPayment(io.settings, id)), id, attempt);
  if (state === null) return kit.unknown("Checkout.com did not answer the look-up");
  if (state.outcome === "working") return kit.pending;
  if (state.outcome === "declined" && state.reason === responses.NO_CODE)
    return responses.withAction(await io.send(requests.readActions(io.settings, id)), state);
  return follow(attempt, io, state);
}
