import type { JsonValue } from "#src/kernel/json.ts";
import { parseUuid } from "#src/kernel/ids.ts";
import type { RequestName, Session } from "#src/sessions/index.ts";
import type { Requester } from "#src/checkout/index.ts";
import { readCaller } from "./caller.ts";
import { memberOf, textIn } from "./json.ts";
import { endedUnpaid, paymentAnswer } from "./payment-words.ts";
import { callName, nextName, toolCallName } from "./repeat.ts";
import type { Delivery, Json, ToolAnswer, ToolCall } from "./types.ts";

export const COLLECT_PAYMENT = "collect_payment";
export const GET_PAYMENT_RESULT = "get_payment_result";

/** A session that was made, now or by an earlier delivery of the same request. */
export interface CreatedSession {
  kind: "created";
  sessionId: string;
  phoneNumber: string | null;
  /** Names the session where nothing but digits can be dialled; null: the project has none. */
  code: string | null;
  /** Where it may be paid in a browser; null: the project does not offer it. */
  payUrl: string | null;
  /** When it expires unless the caller comes. */
  expiresAt: string;
  /** An earlier delivery made it. */
  isRepeat: boolean;
}

/** What is wrong with a request for a session. `field`: of SessionCreate. */
export interface RefusedSession {
  kind: "refused";
  field: string;
  /** The words of the 422 that the API would answer, or of the error. */
  words: string;
}

/** What the tools ask of the service. Creation has the rules of POST /v1/sessions, for it is the same. */
export interface ToolSessions {
  /**
   * Makes the session that `body` asks for, once for a name: a SessionCreate, or one whose `caller` is null, which is refused for its `link` where the project
   * offers none. Throws AppError when the service cannot.
   */
  create(body: Readonly<Record<string, JsonValue | undefined>>, name: RequestName): Promise<CreatedSession | RefusedSession>;
  find(requester: Requester, id: string): Promise<Session | null>;
  /** The sessions that were made in this call, the newest first; 100 at most. */
  madeIn(call: Pick<RequestName, "apiKeyId" | "path">): Promise<Session[]>;
  /** Cancels a session whose payment has not begun; false: it has, or the session is over. */
  withdraw(id: string): Promise<boolean>;
  /** The caller's newest session that is open, else the one that ended last. */
  findByCaller(requester: Requester, caller: string, projectId: string): Promise<Session | null>;
  /** The caller's sessions whose payment has begun, and those that ended since then, the last first. */
  findTriedByCaller(requester: Requester, caller: string, projectId: string, since: Date): Promise<Session[]>;
  sipUriFor(sessionId: string): string;
  /** Where this session may be paid in a browser; null: nowhere. */
  linkFor(session: Session): string | null;
  nowMs(): number;
}

/** How often in one call the same may be asked for again after it came to nothing. */
const MOST_TRIES = 20;

/** Does what a tool call asks for. What the agent can speak of is an answer; it throws only for faults of the service. */
export async function callTool(tool: ToolCall, delivery: Delivery, toolSessions: ToolSessions): Promise<ToolAnswer> {
  if (tool.name === COLLECT_PAYMENT) return await collectPayment(tool, delivery, toolSessions);
  if (tool.name === GET_PAYMENT_RESULT) return await paymentResult(tool, delivery, toolSessions);
  return delivery.wrongParameter === "tool" ? wrongAddress(delivery.wrongParameter) : UNKNOWN_TOOL;
}

const CANNOT = "I am sorry, I cannot take the payment at the moment.";
const UNKNOWN_TOOL: ToolAnswer = {
  kind: "error",
  code: "tool_unknown",
  message: `there is no such tool here; the tools are ${COLLECT_PAYMENT} and ${GET_PAYMENT_RESULT}`,
  say: CANNOT,
  next: "Go on without it.",
};

async function collectPayment(tool: ToolCall, delivery: Delivery, toolSessions: ToolSessions): Promise<ToolAnswer> {
  if (delivery.wrongParameter !== null) return wrongAddress(delivery.wrongParameter);
  if (tool.args === null) return refusal({ kind: "refused", field: "arguments", words: "arguments must be a JSON object" });
  const body = sessionBody(tool.args, delivery);
  for (const field of ["description", "memory"] as const)
    if (body[field] !== undefined && typeof body[field] !== "string") return notText(field);
  const begun = isOneAtATime(delivery) ? (await openOf(delivery, toolSessions)).find(hasBegun) : undefined;
  if (begun) return told(begun, delivery, toolSessions);
  // A call from a browser may be given links for one payment only, whatever the platform calls its tool calls.
  const id = delivery.call.isWeb ? null : tool.id;
  let name = toolCallName({ ...tool, id }, body, delivery);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const created = await toolSessions.create(body, name);
    if (created.kind === "refused") {
      if (created.field === "link") return NO_LINK;
      const isFixed = created.field in delivery.terms && created.field !== "caller";
      return isFixed && NEXT[created.field] !== undefined ? misconfigured(created.words) : refusal(created);
    }
    const session = created.isRepeat ? await toolSessions.find(delivery.requester, created.sessionId) : null;
    if (!created.isRepeat || session?.status === "PENDING") {
      // A repeat looks too: whoever made the session may have come no further.
      const other = isOneAtATime(delivery) ? await onlyOneLeft(created.sessionId, delivery, toolSessions) : null;
      return other ? told(other, delivery, toolSessions) : readyAnswer(created, delivery, toolSessions);
    }
    // A platform that names its tool calls asks again under another name.
    const isOver = session === null || endedUnpaid(session) || (delivery.call.id === null && session.completedAt !== null);
    if (session && (id !== null || !isOver)) return told(await inPlaceOf(session, delivery, toolSessions), delivery, toolSessions);
    name = nextName(name, created.sessionId);
  }
  return refusal({ kind: "refused", field: "attempts", words: "this payment was tried too often in this call" });
}

/**
 * In one call one session at a time can be paid: links stay with whoever got them, and an agent that has corrected an amount may still transfer
 * for the old one.
 */
const isOneAtATime = ({ call }: Delivery): boolean => call.id !== null;
const hasBegun = ({ status }: Session): boolean => status !== "PENDING";
const openOf = async (delivery: Delivery, toolSessions: ToolSessions): Promise<Session[]> =>
  (await toolSessions.madeIn(callName(delivery))).filter(({ completedAt }) => completedAt === null);

/**
 * Withdraws all sessions of this call but one: one whose payment has begun, else the newest. Null where that is `made`; two that are made at
 * the same moment come to the same one, because each looks once it is made.
 */
async function onlyOneLeft(made: string, delivery: Delivery, toolSessions: ToolSessions): Promise<Session | null> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const open = await openOf(delivery, toolSessions);
    const kept = open.find(hasBegun) ?? open[0];
    const withdrawn = await Promise.all(
      open.filter((session) => session !== kept && !hasBegun(session)).map(async ({ id }) => toolSessions.withdraw(id)),
    );
    // One that could not be withdrawn was begun, or withdrawn by another: look again.
    if (!withdrawn.includes(false)) return kept === undefined || kept.id === made ? null : kept;
  }
  return null;
}

const told = (session: Session, { call }: Delivery, toolSessions: ToolSessions) =>
  paymentAnswer(session, toolSessions.sipUriFor(session.id), call.isWeb ? toolSessions.linkFor(session) : null);

/** The SessionCreate that a tool call means: what the merchant fixed, else what the model says. */
function sessionBody(args: Json, { terms, call, country }: Delivery): Record<string, JsonValue | undefined> {
  const given = (name: string) => {
    const value = memberOf(args, name);
    return value === null || value === "" ? undefined : value;
  };
  const words = (name: string) => textIn(args, name) ?? given(name);
  const said = textIn(args, "caller");
  const numberIn = (text: string | null | undefined) => (text ? readCaller(text, country) : null);
  const known = numberIn(said) ?? call.caller ?? numberIn(terms.caller);
  return {
    // Never the model's: it decides whose secret the request was checked against.
    project: terms.project,
    mode: terms.mode ?? given("mode"),
    gateway: terms.gateway ?? given("gateway"),
    amount: terms.amount ?? given("amount"),
    // R-385; what is no number at all is told to the model only where nobody else knows one.
    caller: known ?? (call.isWeb ? null : (terms.caller ?? said ?? undefined)),
    description: terms.description ?? words("description"),
    callback: terms.callback ?? words("callback"),
    memory: words("memory"),
    billing_address: given("billing_address"),
    stripe_account: terms.stripe_account,
  };
}

const SEND_LINK =
  "Send the caller the link pay_url as a message or show it; do not read it out. It is for this caller alone. Do not ask for a telephone number or card details, and do not transfer the call.";

/** The caller has no number that he could be known by, and no link. */
const NO_LINK: ToolAnswer = {
  kind: "error",
  code: "web_call_without_link",
  message: "this is a call from a browser, which cannot be transferred, and the project offers no payment link (voice.pay_url)",
  say: "I am sorry, I cannot take a payment in a call from the browser.",
  next: "Tell the caller that the payment cannot be taken in this call. Do not ask for a telephone number or card details.",
};

/** The most important first: a platform may cut the rest off. */
function readyAnswer(
  { sessionId, phoneNumber, code, payUrl, expiresAt }: CreatedSession,
  { terms, call }: Delivery,
  toolSessions: ToolSessions,
): ToolAnswer {
  const expires = { expires_in_seconds: Math.max(0, Math.round((Date.parse(expiresAt) - toolSessions.nowMs()) / 1000)) };
  if (call.isWeb && payUrl !== null) {
    const say = "I am sending you a link to our secure payment page.";
    return { kind: "answer", fields: { status: "ready", next: SEND_LINK, pay_url: payUrl, session_id: sessionId, ...expires, say } };
  }
  const sipUri = toolSessions.sipUriFor(sessionId);
  const isTransferred = terms.transfer === "control" && call.controlUrl !== null;
  const [next, say] = call.isWeb && phoneNumber !== null ? DIAL : [isTransferred ? IS_TRANSFERRED : TRANSFER, CONNECTING];
  return {
    kind: "answer",
    fields: {
      status: "ready",
      next,
      transfer_to: sipUri,
      session_id: sessionId,
      ...(phoneNumber !== null && { phone_number: phoneNumber }),
      ...(code !== null && { code }),
      ...expires,
      say,
      sip_uri: sipUri,
    },
  };
}

const CONNECTING = "I will now connect you to our secure payment line.";
const TRANSFER = "Call the transfer tool now. Do not ask for card details.";
const IS_TRANSFERRED =
  "Say that the caller is being connected to the payment line; the call is transferred in a moment. Do not ask for card details.";
/** Of a call from a browser whose caller has told a number. */
const DIAL = [
  "This call cannot be transferred. Ask the caller to call phone_number from the telephone number that was given as caller. Do not ask for card details.",
  "Please call our secure payment line.",
] as const;

const ASK_AGAIN = `and call ${COLLECT_PAYMENT} again`;
/** What the agent can do about a fault, by its field. Any other is for whoever set the tool up. */
const NEXT: Readonly<Record<string, string>> = {
  amount: `Confirm the amount with the caller ${ASK_AGAIN}, with a number such as 42.50 as amount.`,
  caller: `Ask the caller for the telephone number they are calling from ${ASK_AGAIN}, with caller in the form +14155550100.`,
  description: `Shorten the description ${ASK_AGAIN}.`,
  memory: `Shorten memory ${ASK_AGAIN}.`,
  callback: `Leave callback out ${ASK_AGAIN}.`,
  billing_address: `Leave billing_address out, or complete it, ${ASK_AGAIN}.`,
  arguments: `Write the arguments as a JSON object ${ASK_AGAIN}.`,
  busy: `Wait a few seconds ${ASK_AGAIN}, with the same arguments.`,
};
const FOR_THE_OPERATOR =
  "Tell the caller that the payment cannot be taken at the moment. Do not ask for card details. The tool's settings must be mended.";

function refusal({ field, words }: RefusedSession): ToolAnswer {
  const next = NEXT[field];
  const say = next === undefined ? CANNOT : field === "caller" ? "Which number are you calling from?" : "One moment, please.";
  return { kind: "error", code: `${field}_invalid`, message: words, say, next: next ?? FOR_THE_OPERATOR };
}

const notText = (field: "description" | "memory"): ToolAnswer => ({
  kind: "error",
  code: `${field}_invalid`,
  message: `${field} must be text`,
  say: "One moment, please.",
  next: `Write ${field} as text ${ASK_AGAIN}.`,
});

/** A fault of the merchant's: neither the model nor the caller can mend it, and asking them for anything leads nowhere. */
const misconfigured = (what: string): ToolAnswer => ({
  kind: "error",
  code: "tool_misconfigured",
  message: `the payment tool is misconfigured: ${what}`,
  say: CANNOT,
  next: `Apologise. Do not ask the caller for anything and do not call ${COLLECT_PAYMENT} again. The tool's settings must be mended.`,
});

const wrongAddress = (parameter: string) => misconfigured(`the parameter ${parameter} of its address is wrong`);

/**
 * What became of the payment: of the session that is named, else the one made in this call, else the caller's newest. What the model says of the
 * caller counts only where the platform knows nobody: nobody shall hear of another caller's payment for the asking.
 */
async function paymentResult({ args }: ToolCall, delivery: Delivery, toolSessions: ToolSessions): Promise<ToolAnswer> {
  if (delivery.projectId === null) return refusal({ kind: "refused", field: "project", words: "project is not known" });
  const session = await sessionMeant(args ?? {}, delivery, toolSessions);
  if (session) return told(await inPlaceOf(session, delivery, toolSessions), delivery, toolSessions);
  return {
    kind: "error",
    code: "payment_not_found",
    message: "no payment of this caller is known",
    say: "I do not see a payment.",
    next: `Do not say that a payment was made. Call ${COLLECT_PAYMENT} to begin one.`,
  };
}

async function sessionMeant(args: Json, delivery: Delivery, toolSessions: ToolSessions): Promise<Session | null> {
  const { call, terms } = delivery;
  const named = textIn(args, "session_id");
  const id = named === null ? null : parseUuid(named);
  // A template that nobody filled, such as {{payment_session_id}}, names no session: this call's may be paid.
  if (id !== null) return await sessionOfProject(id, delivery, toolSessions);
  return (
    (await newestOfCall(delivery, toolSessions)) ??
    (await newestOfCaller(call.caller ?? terms.caller ?? textIn(args, "caller"), delivery, toolSessions))
  );
}

async function sessionOfProject(
  id: string | null,
  { requester, projectId }: Delivery,
  toolSessions: ToolSessions,
): Promise<Session | null> {
  const session = id === null ? null : await toolSessions.find(requester, id);
  return session?.projectId === projectId ? session : null;
}

/**
 * The session that counts: of one that was withdrawn, the later one of the same call or caller, else the one that was open beside it, or nothing
 * would be known of what was paid there.
 */
async function inPlaceOf(session: Session, delivery: Delivery, toolSessions: ToolSessions): Promise<Session> {
  if (session.status !== "cancelled") return session;
  const ofCall = await ofThisCall(delivery, toolSessions);
  const later = ofCall[0] ?? (await newestOfCaller(session.caller, delivery, toolSessions));
  if (later && later.createdAt > session.createdAt) return later;
  const wasOpenBeside = ({ createdAt, completedAt }: Session) =>
    createdAt < session.createdAt && (completedAt === null || completedAt > session.createdAt);
  // Its payment began in the moment in which this one was made: it was kept, and this one withdrawn.
  return ofCall.find(wasOpenBeside) ?? session;
}

const ofThisCall = async (delivery: Delivery, toolSessions: ToolSessions): Promise<Session[]> =>
  delivery.call.id === null
    ? []
    : (await toolSessions.madeIn(callName(delivery))).filter(({ projectId }) => projectId === delivery.projectId);

async function newestOfCall(delivery: Delivery, toolSessions: ToolSessions): Promise<Session | null> {
  const [newest = null] = await ofThisCall(delivery, toolSessions);
  return newest;
}

/** One that waits counts only while nothing was paid since it was made: whoever was told of it would pay a second time. */
async function newestOfCaller(
  caller: string | null,
  { requester, projectId, country }: Delivery,
  toolSessions: ToolSessions,
): Promise<Session | null> {
  const number = caller === null ? null : readCaller(caller, country);
  if (number === null || projectId === null) return null;
  const newest = await toolSessions.findByCaller(requester, number, projectId);
  if (newest?.status !== "PENDING") return newest;
  const tried = await toolSessions.findTriedByCaller(requester, number, projectId, newest.createdAt);
  return tried.find((session) => !endedUnpaid(session)) ?? newest;
}

/** The voice session made in this call, else the caller's newest, while it waits. */
export async function waitingSession(delivery: Delivery, toolSessions: ToolSessions): Promise<Session | null> {
  const newest = await newestOfCallOrCaller(delivery, toolSessions);
  return newest?.status === "PENDING" && newest.channel === "voice" ? newest : null;
}

const newestOfCallOrCaller = async (delivery: Delivery, toolSessions: ToolSessions) =>
  (await newestOfCall(delivery, toolSessions)) ?? (await newestOfCaller(delivery.call.caller, delivery, toolSessions));

/** The session that this call is to be transferred for: the one that waits, else the one that `args` ask for, if they or the tool's address name an amount. */
export async function sessionToTransfer(
  args: Json | null,
  delivery: Delivery,
  toolSessions: ToolSessions,
): Promise<{ session: Pick<Session, "id" | "caller"> } | { error: ToolAnswer }> {
  const { requester, terms, call } = delivery;
  const waiting = call.isWeb ? null : await waitingSession(delivery, toolSessions);
  if (waiting) return { session: waiting };
  if (!call.isWeb && (terms.amount !== undefined || (args && memberOf(args, "amount") !== undefined))) {
    const answer = await collectPayment({ id: null, name: COLLECT_PAYMENT, args }, delivery, toolSessions);
    const id = answer.kind === "answer" && answer.fields["status"] === "ready" ? String(answer.fields["session_id"]) : null;
    const session = id === null ? null : await toolSessions.find(requester, id);
    return session ? { session } : { error: answer };
  }
  const newest = await newestOfCallOrCaller(delivery, toolSessions);
  return { error: newest ? told(newest, delivery, toolSessions) : NOTHING_TO_TRANSFER };
}

const NOTHING_TO_TRANSFER: ToolAnswer = {
  kind: "error",
  code: "payment_not_found",
  message: "no payment is waiting for this caller",
  say: CANNOT,
  next: `Call ${COLLECT_PAYMENT} first.`,
};
