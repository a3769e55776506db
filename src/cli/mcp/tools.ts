import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { MODES } from "#src/kernel/payment.ts";
import { type ApiClient, ApiFault } from "./api-client.ts";
import { waitForEnd } from "./wait.ts";

/** One call of a tool. */
export interface Call {
  api: ApiClient;
  /** Idempotency-Key of what this call makes, the same when the very request comes again. */
  requestKey: string;
  /** Whoever called has given up. */
  signal: AbortSignal;
  onStep: (what: string) => void;
}

export interface ToolResult {
  shown: Record<string, unknown>;
  /** What the agent does next, where the result alone does not say it. */
  note?: string;
}

/** A tool as an agent sees it, and the scope that its requests need (docs/interface.md, Authentication). */
interface Tool<Input extends z.ZodType> {
  name: string;
  scope: string;
  title: string;
  description: string;
  input: Input;
  /** Of MCP: hints for whoever asks a person before a tool is called. */
  hints: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
  run(input: z.output<Input>, call: Call): Promise<ToolResult>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the one place where tools of all types meet
export type AnyTool = Tool<any>;

const tool = <Input extends z.ZodType>(definition: Tool<Input>): Tool<Input> => definition;

/** A client that is not told otherwise gives up a request after 60 s. */
const WAIT_SECONDS = 45;
const LONGEST_WAIT_SECONDS = 600;

const sessionId = z.string().describe("session_id of create_payment_session.");
const pathOf = (id: string) => `/v1/sessions/${encodeURIComponent(id)}`;
const asObject = (body: unknown) => body as Record<string, unknown>;

const create = tool({
  name: "create_payment_session",
  scope: "sessions:create",
  title: "Create a payment session",
  description:
    "Makes a payment session for a caller on the line and tells where to transfer the live call: sip_uri, or phone_number. Transfer the call there next; " +
    "Voicetill asks the caller for the card, charges it and tells the outcome (wait_for_payment). Never ask for card details yourself. " +
    "The session waits five minutes for the call. Two calls make two sessions, unless both have the same idempotency_key.",
  input: z.strictObject({
    project: z.string().describe("Slug or id of the project, as list_projects shows it."),
    caller: z.string().describe("The caller's telephone number in E.164 format, such as +14155550100."),
    amount: z
      .union([z.string(), z.number()])
      .describe('In the main unit of the project\'s currency, as text: "49.95". More than 0 to charge; 0 is allowed to tokenize.'),
    mode: z.enum(MODES).describe("charge: take the money. tokenize: store the card for later."),
    gateway: z.string().describe("One of the gateways that list_projects shows for the project."),
    description: z
      .string()
      .optional()
      .describe("What is paid for, at most 500 characters. The gateway may get it: no personal data, never card details."),
    callback: z
      .string()
      .optional()
      .describe("Where the caller is taken back to afterwards: a telephone number or SIP URI that the project allows."),
    memory: z
      .string()
      .optional()
      .describe("Text of yours that comes back with the session and the transfer, at most 16 KiB; never card details."),
    stripe_account: z.string().optional().describe("Connected account, acct_..., where the gateway has such."),
    billing_address: z
      .strictObject({
        street: z.string(),
        city: z.string(),
        state: z.string(),
        zip: z.string(),
        country: z.string().optional().describe("ISO 3166-1 alpha-2; US when absent."),
        first_name: z.string().optional(),
        last_name: z.string().optional(),
      })
      .optional()
      .describe("The cardholder's, for address verification."),
    idempotency_key: z
      .string()
      .regex(/^[\x20-\x7e]{1,255}$/)
      .optional()
      .describe(
        "A name of this payment, such as the order's number: repeated within 24 hours with the same arguments it gives the same session.",
      ),
  }),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  async run({ idempotency_key: given, ...body }, { api, requestKey }) {
    const key = given ?? requestKey;
    try {
      // Not given up with the call: what was made would be known to nobody.
      const made = await api.send("POST", "/v1/sessions", { body, headers: { "idempotency-key": key } });
      return { shown: asObject(made.body) };
    } catch (error) {
      if (!(error instanceof ApiFault) || !isUncertain(error)) throw error;
      const again = `Whether the session was made is not known: call again with the same arguments and idempotency_key ${JSON.stringify(key)}, which makes no second one.`;
      throw new ApiFault(`${error.message} ${again}`, { status: error.status, cause: error });
    }
  },
});

/** The request may have been done, or is being done. */
const isUncertain = ({ status }: ApiFault) => status === null || status === 409 || status >= 500;

const get = tool({
  name: "get_payment_session",
  scope: "sessions:read",
  title: "Read a payment session",
  description:
    "A session's status, amount, result (processor, error), the step its caller is at, and how the transfer back went. By session_id, or by caller: the newest active " +
    "session of that telephone number, else the one that ended last. is_terminal says whether the status is final.",
  input: z
    .strictObject({
      session_id: sessionId.optional(),
      caller: z.string().optional().describe("The caller's telephone number in E.164 format, instead of session_id."),
      project: z.string().optional().describe("With caller: slug or id of the project."),
    })
    .refine(({ session_id, caller }) => (session_id === undefined) !== (caller === undefined), "give either session_id or caller")
    .refine(({ project, caller }) => project === undefined || caller !== undefined, "project goes with caller"),
  hints: { readOnlyHint: true },
  async run({ session_id, caller, project }, { api, signal }) {
    const query = new URLSearchParams({ ...(caller !== undefined && { caller }), ...(project !== undefined && { project }) });
    const path = session_id === undefined ? `/v1/sessions?${query.toString()}` : pathOf(session_id);
    return { shown: asObject((await api.send("GET", path, { signal })).body) };
  },
});

const wait = tool({
  name: "wait_for_payment",
  scope: "sessions:read",
  title: "Wait for a payment",
  description:
    `Waits until the session is final (paid, failed, cancelled, expired) or timeout_seconds are over, and gives the session as get_payment_session does. ` +
    "Tells progress while the caller is asked for the card. When is_terminal is false, the payment is not over: call it again.",
  input: z.strictObject({
    session_id: sessionId,
    timeout_seconds: z
      .number()
      .min(1)
      .max(LONGEST_WAIT_SECONDS)
      .default(WAIT_SECONDS)
      .describe("Stay below the time after which your client gives up a call, often 60 s."),
  }),
  hints: { readOnlyHint: true },
  async run({ session_id, timeout_seconds }, { api, signal, onStep }) {
    const session = asObject(
      await waitForEnd(api, session_id, {
        signal,
        onStep,
        timeIsOver: AbortSignal.timeout(timeout_seconds * 1000),
        pause: async (ms, over) => void (await delay(ms, null, { signal: over }).catch(() => null)),
      }),
    );
    if (session["is_terminal"] === true) return { shown: session };
    return { shown: session, note: "The payment is not over: call wait_for_payment again." };
  },
});

const cancel = tool({
  name: "cancel_payment_session",
  scope: "sessions:cancel",
  title: "Cancel a payment session",
  description:
    "Cancels a session that waits for its call or whose card is being collected; never one whose payment is under way or that is final.",
  input: z.strictObject({ session_id: sessionId }),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  async run({ session_id }, { api }) {
    await api.send("POST", `${pathOf(session_id)}/cancel`);
    return { shown: { session_id, status: "cancelled" } };
  },
});

const list = tool({
  name: "list_projects",
  scope: "projects:read",
  title: "List projects",
  description: "The organisation's projects: slug, name, currency, and the gateways set up for this key's mode (test or live).",
  input: z.strictObject({}),
  hints: { readOnlyHint: true },
  run: async (_, { api, signal }) => ({ shown: { projects: (await api.send("GET", "/v1/projects", { signal })).body } }),
});

export const TOOLS: readonly AnyTool[] = [create, get, wait, cancel, list];

/** Those that a key with these scopes may use; null: nobody knows them, and the service refuses what it must. */
export function toolsFor(scopes: readonly string[] | null): readonly AnyTool[] {
  return TOOLS.filter(({ scope }) => scopes?.includes(scope) ?? true);
}
