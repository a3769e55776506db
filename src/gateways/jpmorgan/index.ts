import type {
  AccessToken,
  Approved,
  AttemptTrace,
  Declined,
  GatewayAnswer,
  GatewayRequest,
  LookUpResult,
  Order,
  Outcome,
  Subject,
} from "../contract.ts";
import * as kit from "../kit/index.ts";
import * as requests from "./requests.ts";
import * as responses from "./responses.ts";
import type { PaymentState } from "./responses.ts";
import { SIMULATOR_PRIVATE_KEY, SIMULATOR_THUMBPRINT } from "./simulator-key.ts";

type JpmorganIo = kit.Io<typeof requests.SETTINGS>;

/** J.P. Morgan gives up after 70 s and keeps no payment that it gave up. */
const DEADLINE_MS = 85_000;
const POLL_MS = [2_000] as const;
const CAPTURE_READS = 3;

const DECIMALS = kit.uncertainDecimals(kit.DISPUTED);

/** J.P. Morgan Online Payments API v2: `payments` for a charge, `verifications` with a consumer profile to store a card. */
export const gateway = kit.defineGateway({
  name: "jpmorgan",
  settings: requests.SETTINGS,
  capabilities: {
    idempotency: "none",
    // 90 s after sending, which may come as late as the deadline: the access token is asked for first.
    absenceIsProofAfterMs: DEADLINE_MS + 95_000,
    token: "a consumer profile with a payment method, and a Safetech token where the merchant is enrolled",
    processorFields: {
      charge: "jpmorgan_transaction_id jpmorgan_state",
      tokenize: "jpmorgan_transaction_id jpmorgan_consumer_profile_id jpmorgan_payment_method_id jpmorgan_payment_token",
    },
    deadlineMs: DEADLINE_MS,
  },
  sandbox: {
    client_id: "CC-000000-D00000-000000-TEST",
    merchant_id: "998482157632",
    private_key: SIMULATOR_PRIVATE_KEY,
    certificate_thumbprint: SIMULATOR_THUMBPRINT,
  },
  checkSettings: requests.settingsFault,
  refusalOf: DECIMALS.refusalOf,
  documentation:
    "A look-up goes by the request-id that was noted before the payment was sent. Unconfirmed: most names of responseCode (told apart by " +
    "their words), the body of a 409, the lengths of merchantOrderNumber and merchantPurchaseDescription, and whether a repeated " +
    "request-id is refused. " +
    DECIMALS.note +
    "A refund whose answer was lost, and that no look-up shows, is not sent again: the payment stays on the list of unmatched ones.",
  charge: (order, io) => submit(order, io, requests.pay),
  tokenize: (order, io) => submit(order, io, requests.verifyAndStore),
  authenticate: (io) => io.accessToken(mint(io)),
  lookUp,
  void: async (attempt, io) =>
    kit.reversal(await lookUp(attempt, io), async (approved) => {
      const id = approved.processor["jpmorgan_transaction_id"] ?? "";
      if (attempt.mode === "tokenize") return false;
      return isUncaptured(approved) ? released(io, id) : refund(attempt, io, id);
    }),
});

const mint = (io: JpmorganIo) => async (): Promise<AccessToken | Declined> =>
  responses.readAccessToken(await io.send(requests.askForToken(io.settings, io)), io.clock);

/** A request that may be sent again with another token: it moves nothing, or 401 says that it did not. */
const send = (io: JpmorganIo, build: (by: requests.By) => GatewayRequest): Promise<GatewayAnswer | Declined> =>
  kit.sendWithToken(io, mint(io), (token) => build({ settings: io.settings, token, requestId: io.random.uuid() }));

/** Sends the payment or verification under a request-id that is committed first: it is all a lost answer can be found by. */
async function submit(order: Order, io: JpmorganIo, build: typeof requests.pay): Promise<Outcome> {
  for (const renew of [false, true]) {
    const token = await io.accessToken(mint(io), { renew });
    if (kit.isOutcome(token)) return token;
    const requestId = io.random.uuid();
    await io.note({ request_id: requestId });
    const answer = await io.send(build(order, { settings: io.settings, token, requestId }));
    const state = responses.readAnswer(answer, order);
    const isStale = answer.kind === "answered" && answer.status === 401 && state.outcome === "declined";
    if (!isStale || renew) return follow(order, io, state);
  }
  return kit.declined("gateway_credentials_invalid");
}

/** Waits for what is not decided or not captured yet, and sends back what was approved in part. */
async function follow(subject: kit.Noted<Subject>, io: JpmorganIo, first: PaymentState): Promise<Outcome> {
  const read = async (id: string) => {
    const answer = await send(io, (by) => requests.readPayment(by, id));
    const found = kit.isOutcome(answer) ? null : responses.readFound(answer, subject);
    return found === null || found.outcome === "pending" || found.outcome === "unknown" ? undefined : found;
  };
  let state: PaymentState | null = first;
  if (first.outcome === "pending") state = await kit.poll(io, () => read(first.id), POLL_MS);
  // J.P. Morgan captures it by itself: read again for the state to report, which does not change that it was approved.
  for (let reads = 0; reads < CAPTURE_READS && state && isUncaptured(state) && (await io.wait(POLL_MS[0])); reads++)
    state = (await read(state.processor["jpmorgan_transaction_id"] ?? "")) ?? state;
  if (state === null || state.outcome === "pending") return kit.unknown("J.P. Morgan is still working on the payment");
  if (state.outcome !== "partial") return state;
  if (!(await refund({ ...subject, amountMinor: state.amountMinor }, io, state.id)))
    return kit.unknown("a partial approval that could not be sent back");
  return kit.declined("insufficient_funds", { reason: "only a part was approved; it was sent back" });
}

const isUncaptured = (state: PaymentState): state is Approved =>
  state.outcome === "approved" && state.processor["jpmorgan_state"] === "AUTHORIZED";

/** A hold that is captured meanwhile is refunded the next time. */
async function released(io: JpmorganIo, id: string): Promise<boolean> {
  const answer = await send(io, (by) => requests.release(by, id));
  return !kit.isOutcome(answer) && answer.kind === "answered" && responses.isReleased(answer);
}

/** One without a clear answer may be at work for as long as the vendor's time-out. */
function refund(subject: kit.Noted<Subject>, io: JpmorganIo, id: string): Promise<boolean> {
  const sending = () => send(io, (by) => requests.refund(subject, by, id));
  return kit.refundOnce(io, sending, responses.readRefund, subject.notes);
}

/** By the request-id that was noted; an attempt without one was never sent. */
async function lookUp(attempt: AttemptTrace, io: JpmorganIo): Promise<LookUpResult> {
  const lost = attempt.notes["request_id"];
  if (lost === undefined) return kit.absent;
  const resource = attempt.mode === "charge" ? "payments" : "verifications";
  let asking = "";
  const answer = await send(io, (by) => {
    asking = by.requestId;
    return requests.findByRequest(by, resource, lost);
  });
  if (kit.isOutcome(answer)) return kit.unknown("no access token for the look-up");
  // The vendor's papers disagree on the parameter's name: should it be passed over, the payment is somebody else's.
  const found = responses.readFound(answer, attempt, [lost, asking]);
  if (found === null) return kit.absent;
  if (found.outcome === "pending") return kit.pending;
  const state = await follow(attempt, io, found);
  // Should a second delivery be refused for the first one's sake, the vendor may show either.
  if (kit.isDuplicate(state)) return attempt.mode === "charge" ? kit.absent : kit.perhapsStored;
  return state;
}
