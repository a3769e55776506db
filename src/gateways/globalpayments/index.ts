import type { AccessToken, AttemptTrace, Declined, GatewayRequest, LookUpResult, Order, Outcome, Subject, Unknown } from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { State } from "./responses.ts";

type Io = kit.Io<typeof requests.SETTINGS>;

/** The vendor's own programs disagree with each other on CLP, KRW and PYG, and do not know the others. */
const DECIMALS = kit.uncertainDecimals("BIF CLP CVE DJF KRW MGA PYG UGX VUV");

/** Global Payments' GP-API (UCP): transactions, verifications and payment methods, with access tokens that a hash asks for. */
export const gateway = kit.defineGateway({
  name: "globalpayments",
  settings: requests.SETTINGS,
  capabilities: {
    // A repeated key is refused, but names what it made first.
    idempotency: "refuse",
    // A sale may be sent as late as the deadline, be worked on for 65 s, and reports may lag a little.
    absenceIsProofAfterMs: 180_000,
    token: "a payment method (PMT_...) of the tokenization account",
    processorFields: { charge: "globalpayments_transaction_id", tokenize: "globalpayments_payment_method_id" },
    deadlineMs: 90_000,
  },
  sandbox: { app_id: "ExampleAppId00000000000000000001", app_key: "ExampleAppKey0001" },
  refusalOf: DECIMALS.refusalOf,
  documentation:
    "A payment that the merchant's fraud filter holds fails as held for review, and he releases or reverses it. A lost store cannot be looked up " +
    "later; it takes nothing. Unconfirmed: the HTTP status beside each error code, results 107 to 111 " +
    "and 2xx to 5xx, and the live host in the European Union. " +
    DECIMALS.note,
  charge: async (order, io) => {
    const answer = await send(io, (token) => requests.sale(order, io.settings, token), "money");
    return kit.isOutcome(answer) ? answer : follow(order, io, responses.readSale(answer, order));
  },
  tokenize,
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), ({ processor }) => takeBack(attempt, io, processor["globalpayments_transaction_id"] ?? "")),
});

const mint = (io: Io) => async (): Promise<AccessToken | Declined> =>
  responses.readAccessToken(await io.send(requests.askForToken(io.settings, io)), io.clock);

/** A key that was seen before is an answer; a fault of the vendor, or what cannot be read, may have acted. */
const judge = (answer: kit.Answered): kit.Repeat => {
  const byStatus = answer.status === 409 ? "final" : kit.repeatByStatus(answer);
  return byStatus === "final" && kit.isUnclear(answer, responses.isVendors) ? "perhaps done" : byStatus;
};

/** The same key until the answer is final, with another token when the vendor no longer takes this one. */
async function send(io: Io, build: (token: AccessToken) => GatewayRequest, effect: kit.Effect): Promise<kit.Answered | Declined | Unknown> {
  const recorded = ({ status }: kit.Answered) => status === 200 || status === 409;
  const rule = { effect, judge, recorded };
  for (const renew of [false, true]) {
    const token = await io.accessToken(mint(io), { renew });
    if (kit.isOutcome(token)) return token;
    const answer = await kit.sendWithKey(io, () => build(token), rule);
    if (kit.isOutcome(answer) || answer.status !== 401) return answer;
  }
  return kit.declined("gateway_credentials_invalid");
}

/** Reads what the key made first, and what is not decided yet. */
async function follow(subject: Subject, io: Io, first: State): Promise<Outcome> {
  if (first.outcome !== "open" && first.outcome !== "duplicate") return first;
  await io.note({ transaction: first.id });
  const read = async (): Promise<State | undefined> => {
    const answer = await kit.sendWithToken(io, mint(io), (token) => requests.readTransaction(io.settings, token, first.id));
    const body = kit.isOutcome(answer) ? null : kit.lookUpBody(answer, kit.readJson);
    const state = body && responses.readTransaction(body, subject);
    return state === null || state.outcome === "open" || state.outcome === "unknown" ? undefined : state;
  };
  const state = (first.outcome === "duplicate" ? await read() : undefined) ?? (await kit.poll(io, read));
  return state === null || state.outcome === "open" || state.outcome === "duplicate"
    ? kit.unknown("the payment is not decided yet")
    : state;
}

/** Once more under another key where the answer was lost: a verification moves nothing, and its key does not say what it found. */
async function tokenize(order: Order, io: Io): Promise<Outcome> {
  for (const step of ["verify", "verify2"] as const) {
    const verified = await send(io, (token) => requests.verify(order, io.settings, token, step), "nothing");
    const refusal = kit.isOutcome(verified) ? verified : responses.readVerification(verified);
    if (refusal === null) return store(order, io);
    if (refusal !== "again") return refusal.outcome === "declined" ? refusal : kit.declined("gateway_unavailable");
  }
  return kit.declined("gateway_unavailable", { reason: "what the card's verification said was lost twice" });
}

async function store(order: Order, io: Io): Promise<Outcome> {
  const answer = await send(io, (token) => requests.store(order, io.settings, token), "money");
  const stored = kit.isOutcome(answer) ? answer : responses.readStored(answer);
  if (typeof stored === "string") return kit.approved({ globalpayments_payment_method_id: stored });
  return stored.outcome === "declined" ? stored : kit.LOST_STORE;
}

async function lookUp(attempt: AttemptTrace, io: Io): Promise<LookUpResult> {
  if (attempt.mode === "tokenize") return kit.perhapsStored;
  const answer = await kit.sendWithToken(io, mint(io), (token) =>
    requests.findTransactions(attempt, io.settings, token, attempt.startedAtMs),
  );
  const states = kit.isOutcome(answer) ? null : responses.readList(answer, attempt);
  if (states === null) return kit.unknown("Global Payments did not answer the look-up");
  return kit.theStanding(states.map((state) => (state.outcome === "open" || state.outcome === "duplicate" ? kit.pending : state)));
}

async function takeBack(attempt: AttemptTrace, io: Io, id: string): Promise<boolean> {
  const token = await io.accessToken(mint(io));
  if (kit.isOutcome(token)) return false;
  return kit.voidElseRefund(
    io,
    {
      void: () => requests.takeBack(attempt, io.settings, token, id, "reverse"),
      refund: () => requests.takeBack(attempt, io.settings, token, id, `refund${kit.keyEnd(attempt.notes)}`),
      // It has a key of its own.
      secondRefund: "harmless",
      isKept: (answer, step) => step === "refund" && responses.isDeclined(answer),
    },
    (answer) => responses.readReversal(answer, id),
    attempt.notes,
  );
}
