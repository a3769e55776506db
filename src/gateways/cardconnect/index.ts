import type { AttemptTrace, LookUpResult, Order, Outcome, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { State } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/**
 * CardPointe Gateway API (Fiserv's CardConnect): `auth` for sales and verified profiles, `inquireByOrderid`, `void` and `refund`.
 * Length: codes of three processors, and no repetition that is safe: payment, part, refund and stored card are each inquired about.
 */
export const gateway = kit.defineGateway({
  name: "cardconnect",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "none",
    // The gateway's own time-out is 32 s; ours is 60 s, and the vendor's shows nothing before.
    absenceIsProofAfterMs: 120_000,
    token: "a profile and its account, <profileid>/<acctid>",
    processorFields: { charge: "cardconnect_retref", tokenize: "cardconnect_profile_id" },
    deadlineMs: 75_000,
  },
  sandbox: { merchant_id: "496160873888", username: "exampleuser", password: "examplepass", site: "fts" },
  documentation:
    "A profile is made once for the same card and holder, so that two sessions may give the same one; it is never deleted. A card without " +
    "a postal code is sent with the vendor's own 55555. Where the merchant enforces neither AVS nor CVV, cards cannot be verified: switch " +
    "verify off. Unconfirmed: the body of a 401, and whether an inquiry shows the profile of a verification. " +
    "A refund after the batch whose answer was lost, and that no inquiry shows, is not sent again: the payment stays on the list of unmatched ones.",
  refusalOf: (sum) => (sum.mode === "charge" && kit.twoPlaces(sum) === null ? "CardConnect takes two decimal places only" : null),
  charge,
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), async ({ processor }) =>
      // Another session may have the same profile.
      attempt.mode === "tokenize" ? false : takeBackOnce(attempt, io, processor["cardconnect_retref"] ?? ""),
    ),
});

async function charge(order: Order, io: Io): Promise<Outcome> {
  return settled(order, io, responses.readSale(await io.send(requests.sale(order, io.settings)), order));
}

/** What was approved in part is voided. */
async function settled<S extends State | typeof kit.absent>(
  subject: kit.Noted<Subject>,
  io: Io,
  state: S,
): Promise<Exclude<S, { outcome: "partial" }> | Outcome> {
  if (state.outcome !== "partial") return state as Exclude<S, { outcome: "partial" }>;
  await io.note({ retref: state.retref });
  const refusal = kit.declined("insufficient_funds", { reason: "only a part was approved; it was voided" });
  return kit.releasedFirst(refusal, () => takeBack(subject, io, state.retref));
}

/** The vendor knows no repetition of a refund, and does not say that it refuses to refund what is voided. */
const takeBack = (subject: kit.Noted<Subject>, io: Io, retref: string): Promise<boolean> =>
  kit.voidElseRefund(
    io,
    {
      void: () => requests.voidSale(io.settings, retref),
      refund: () => requests.refund(subject, io.settings, retref),
      lookUp: async () => standing(subject, (await inquired(subject, io))?.map(kit.partStands)),
    },
    responses.readReversal,
    subject.notes,
  );

/** A refund whose answer was lost is looked for first. */
async function takeBackOnce(attempt: AttemptTrace, io: Io, retref: string): Promise<boolean> {
  const refunded = responses.readRefund(await io.send(requests.inquire(requests.refundId(attempt), io.settings)), attempt, retref);
  return refunded === "absent" ? takeBack(attempt, io, retref) : refunded === "done";
}

/** The same card and holder give the same profile again, so that a lost store is simply sent once more, and then inquired about. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  const build = io.settings.options.verify ? requests.verifyAndStore : requests.store;
  const stored = await kit.storeAgain(io, async () => responses.readStored(await io.send(build(order, io.settings))));
  if (stored.outcome !== "declined" || stored.code !== "gateway_unavailable") return stored;
  const found = await lookUp(order, io);
  return found.outcome === "approved" ? found : stored;
}

const inquired = async (subject: Subject, io: Io) =>
  responses.readInquiry(await io.send(requests.inquire(requests.orderId(subject), io.settings)), subject);

async function lookUp(attempt: kit.Noted<Subject>, io: Io): Promise<LookUpResult> {
  const found = await inquired(attempt, io);
  return standing(attempt, found && (await kit.each(found, (state) => settled(attempt, io, state))));
}

function standing({ mode }: Subject, found: readonly LookUpResult[] | null | undefined): LookUpResult {
  if (!found) return kit.unknown("CardConnect did not answer the look-up");
  const seen = found.filter(({ outcome }) => outcome !== "absent");
  // The card may have been verified more than once: any of its profiles is the card's.
  return mode === "tokenize" ? kit.anyApproved(seen) : kit.theStanding(seen);
}
