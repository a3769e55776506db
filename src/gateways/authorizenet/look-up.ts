import type { AttemptTrace, GatewayRequest, LookUpResult, VoidResult } from "../contract.ts";
import { type Answered, type Io, sendUntilFinal } from "../kit/index.ts";
import {
  deleteCustomerProfile,
  getCustomerProfile,
  getTransactionDetails,
  listBatch,
  listBatches,
  listUnsettled,
  type SETTINGS,
  type Subject,
  voidTransaction,
} from "./requests.ts";
import { isDeleted, isVoided, type Listed, readBatches, readCustomerProfile, readDetails, readList } from "./responses.ts";

/** Most pages of one list that a look-up goes through. */
const MOST_PAGES = 20;
/** For the difference between the database's clock and the vendor's. */
const CLOCK_MARGIN_MS = 10 * 60_000;

/** What the attempt left at the vendor: the customer profile or the transaction that carries its reference. */
export async function lookUp(attempt: AttemptTrace, io: Io<typeof SETTINGS>): Promise<LookUpResult> {
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

async function ask(io: Io<typeof SETTINGS>, request: GatewayRequest): Promise<Answered | null> {
  const answer = await io.send(request);
  return answer.kind === "answered" ? answer : null;
}

function unsettled(attempt: AttemptTrace, io: Io<typeof SETTINGS>): Promise<Listed[] | null> {
  return pages(attempt, io, (page) => listUnsettled(attempt, io.settings, page));
}

/** Settled transactions leave the unsettled list once a day, so an old attempt is in a batch. */
async function settled(attempt: AttemptTrace, io: Io<typeof SETTINGS>): Promise<Listed[] | null> {
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
async function pages(attempt: AttemptTrace, io: Io<typeof SETTINGS>, build: (page: number) => GatewayRequest): Promise<Listed[] | null> {
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

/** Gives the payment back, or forgets the stored card; looked for first, whatever is known of it. */
export async function undo(attempt: AttemptTrace, io: Io<typeof SETTINGS>): Promise<VoidResult> {
  const found = await lookUp(attempt, io);
  if (found.outcome === "absent" || found.outcome === "declined") return { outcome: "nothing to void" };
  if (found.outcome !== "approved") return unknown("what there is to void is not known");
  const { authnet_transaction_id: transId = "", authnet_customer_profile_id: profileId = "" } = found.processor;
  const gone = attempt.mode === "tokenize" ? await deleted(attempt, io, profileId) : await voided(attempt, io, transId);
  return gone ? { outcome: "voided" } : unknown("the payment could not be voided");
}

/** Voids a transaction; false when it is not known to be void. */
export async function voided(subject: Subject, io: Io<typeof SETTINGS>, transId: string): Promise<boolean> {
  const { answer } = await sendUntilFinal(io, () => voidTransaction(subject, io.settings, transId), judge);
  return answer !== null && isVoided(answer, subject);
}

async function deleted(subject: Subject, io: Io<typeof SETTINGS>, profileId: string): Promise<boolean> {
  const { answer } = await sendUntilFinal(io, () => deleteCustomerProfile(subject, io.settings, profileId), judge);
  return answer !== null && isDeleted(answer, subject);
}

/** Undoing a thing twice does no harm, so it is tried until the vendor says something. */
function judge({ status }: Answered): "final" | "perhaps done" {
  return status === 200 ? "final" : "perhaps done";
}

/** An outcome that nobody knows, and why. */
export function unknown(reason: string) {
  return { outcome: "unknown", reason } as const;
}
