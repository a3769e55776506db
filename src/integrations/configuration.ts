import { COLLECT_PAYMENT, GET_PAYMENT_RESULT } from "./tools.ts";

/** Finished settings for voice platforms, with the addresses of this installation (docs/platforms.md). No secret is in them: what stands in capitals is to be filled in. */

export interface Setting {
  /** Without a slash at its end. */
  baseUrl: string;
  /** Host and port of the SIP listener; null where calls are taken elsewhere. */
  sip: string | null;
  project: string;
  mode: string;
  gateway: string;
  environment: string;
  /** Where callers are transferred back to; null: nowhere. */
  callback: string | null;
  /** A number that is answered, for platforms that cannot transfer to a SIP address. */
  phoneNumber: string | null;
  /** The project has a secret for the first platform. */
  hasAlphaSecret: boolean;
  /** Whether this service has the first platform transfer the call, in place of a tool of the agent. */
  transfersByControl: boolean;
}

export interface Configuration {
  /** `assistant`: settings of the assistant itself that the tools go into. `callback`: a stand-in in capitals where none was given. */
  alpha: { tools: object[]; assistant: object; callback: string };
  beta: { general_tools: object[]; callback: string };
  /** For agents of one's own: what their code sends, and where it transfers the call. */
  api: {
    create: { method: "POST"; url: string; headers: object; body: object };
    transfer_to: string;
    headers: object;
    phone_number: string | null;
  };
  prompt: string;
}

const TRANSFER_TOOL = "go_to_payment";

const AMOUNT = { type: "number", description: "What is to be paid, such as 42.50, as agreed with the caller." };
const MEMORY = {
  type: "string",
  description: "What you need to know to go on with the conversation afterwards, at most 800 characters; never card details.",
};

/** The tool that begins a payment, or that has a card stored: then there is no amount to agree on. */
function collectTool(isStored: boolean, transfersByControl = false) {
  const description = {
    type: "string",
    description: `What the ${isStored ? "card is stored" : "payment is"} for, at most 500 characters; never card details.`,
  };
  const why = isStored
    ? "Prepares the storing of the caller's card, once they have agreed to it."
    : "Prepares a card payment for the caller, once the amount is agreed.";
  return {
    name: COLLECT_PAYMENT,
    description: `${why} Afterwards ${transfersByControl ? "the call is transferred" : "call the transfer tool"}. Never ask for card details.`,
    parameters: {
      type: "object",
      properties: { ...(!isStored && { amount: AMOUNT }), description, memory: MEMORY },
      required: isStored ? [] : ["amount"],
    },
  };
}

const RESULT = {
  name: GET_PAYMENT_RESULT,
  description:
    "Tells what became of the caller's payment. Call it when the caller is back from the payment line, before you speak of the payment.",
  parameters: {
    type: "object",
    properties: { session_id: { type: "string", description: "The payment's session, if you know it." } },
  },
};
const TRANSFER = {
  name: TRANSFER_TOOL,
  description: `Transfers the caller to the secure payment line. Only after ${COLLECT_PAYMENT} has answered ready.`,
};

/** What an agent's prompt should say, on any platform. */
const promptFor = ({ isStored, transfer }: { isStored: boolean; transfer: string }) => `Payments
- ${isStored ? `When the caller agrees to have a card stored, call ${COLLECT_PAYMENT}.` : `When the caller agrees to pay, confirm the amount, then call ${COLLECT_PAYMENT} with it.`}
- Never ask for a card number, expiry date or security code, and do not repeat one that the caller says: tell them that the secure payment line takes it.
- When ${COLLECT_PAYMENT} answers ready, say that you are connecting them to the secure payment line${transfer} Where the answer has a pay_url, send them that link instead, and do not transfer.
- When it answers with an error, do what "next" says.
- When the caller comes back from the payment line, call ${GET_PAYMENT_RESULT} before you speak of the payment. You may say "say"; never say what "do_not_say" forbids.
- While the result is unknown, say neither that the payment went through nor that it failed, and do not start another one.`;

export function configurationFor(setting: Setting): Configuration {
  const { project, mode, gateway, callback, baseUrl, environment, phoneNumber, sip } = setting;
  const isStored = mode === "tokenize";
  const query = new URLSearchParams({
    project,
    mode,
    gateway,
    ...(isStored && { amount: "0" }),
    ...(callback !== null && { callback }),
  }).toString();
  const url = (platform: string, more = "") => `${baseUrl}/integrations/${platform}/webhook?${query}${more}`;
  const authorization = { Authorization: `Bearer svc_${environment}_API_KEY` };
  const sipUri = `sip:SESSION_ID@${sip ?? "SIP_PUBLIC_HOST"}`;
  const body = {
    project,
    caller: "CALLER",
    amount: isStored ? "0" : "42.50",
    mode,
    gateway,
    ...(callback !== null && { callback }),
    memory: "MEMORY",
  };
  return {
    alpha: {
      ...alphaOf(collectTool(isStored, setting.transfersByControl), setting.transfersByControl, {
        url: url("alpha", setting.transfersByControl ? "&transfer=control" : ""),
        timeoutSeconds: 20,
        headers: { ...authorization, ...(setting.hasAlphaSecret && { "X-Vapi-Secret": "SECRET" }) },
      }),
      callback: callback ?? "sip:YOUR_AGENT@sip.vapi.ai",
    },
    beta: {
      general_tools: betaTools(collectTool(isStored), url("beta"), authorization),
      callback: callback ?? "sip:YOUR_AGENT@YOUR_TRUNK",
    },
    api: {
      create: { method: "POST", url: `${baseUrl}/v1/sessions`, headers: { ...authorization, "Content-Type": "application/json" }, body },
      transfer_to: sipUri,
      headers: { "X-Session-Id": "SESSION_ID", "X-Caller": "CALLER" },
      phone_number: phoneNumber,
    },
    prompt: promptFor({
      isStored,
      transfer: setting.transfersByControl ? ". Where there is a transfer tool, call it at once." : ` and call ${TRANSFER_TOOL} at once.`,
    }),
  };
}

/** A tool call with a long `memory`, and what is said in the same turn: the platform's own limit of 250 cuts its arguments off. */
const MODEL_TOKENS = 500;

function alphaOf(collect: object, transfersByControl: boolean, server: object): Omit<Configuration["alpha"], "callback"> {
  const tool = (definition: object) => ({ type: "function", async: false, function: definition, server });
  const model = { maxTokens: MODEL_TOKENS };
  if (transfersByControl) return { tools: [tool(collect), tool(RESULT)], assistant: { model } };
  return {
    // Without destinations the platform asks where the call goes, and it asks the assistant's server: such a tool has none of its own.
    tools: [tool(collect), tool(RESULT), { type: "transferCall", destinations: [], function: TRANSFER }],
    assistant: { server, serverMessages: ["transfer-destination-request"], model },
  };
}

function betaTools(collect: object, url: string, headers: object): object[] {
  const tool = (definition: object, more: object) => ({
    type: "custom",
    ...definition,
    url,
    method: "POST",
    headers,
    timeout_ms: 20_000,
    speak_after_execution: true,
    ...more,
  });
  return [
    tool(collect, {
      speak_during_execution: true,
      execution_message_description: "Say in a few words that you are preparing the payment.",
      response_variables: { payment_transfer_to: "transfer_to", payment_session_id: "session_id" },
    }),
    tool(RESULT, { speak_during_execution: false }),
    {
      type: "transfer_call",
      ...TRANSFER,
      transfer_destination: { type: "predefined", number: "{{payment_transfer_to}}" },
      transfer_option: { type: "cold_transfer", cold_transfer_mode: "sip_invite", show_transferee_as_caller: true },
      custom_sip_headers: { "X-Session-Id": "{{payment_session_id}}", "X-Caller": "{{user_number}}" },
    },
  ];
}
