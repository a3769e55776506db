/** What voice platforms send, in every spelling that their documents, schemas and recordings have. All of it is made up. */

export const CALLER = "+14155550123";
export const ALPHA_CALL_ID = "c0ffee00-0000-4000-8000-000000000001";
export const BETA_CALL_ID = "call_synthetic_01";

const alphaCall = {
  id: ALPHA_CALL_ID,
  orgId: "0a0a0a0a-0000-4000-8000-000000000002",
  type: "inboundPhoneCall",
  status: "in-progress",
  phoneCallProvider: "twilio",
  phoneCallTransport: "pstn",
  customer: { number: CALLER },
  monitor: { listenUrl: "wss://phone-call.vapi.ai/x/listen", controlUrl: "https://phone-call.vapi.ai/x/control" },
};

/** What stands around every message of the first platform. */
export function alphaMessage(type: string, members: object, call: object = alphaCall): object {
  const common = { timestamp: 1_795_000_000_000, type, call, phoneNumber: { number: "+15555550199" }, assistant: { name: "Front desk" } };
  return { message: { ...common, artifact: { messages: [] }, ...members } };
}

const SCHEMA = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };

export interface Asked {
  id?: string;
  name?: string;
  args?: unknown;
  call?: object;
}

/** One tool call of the first platform, in each of its spellings, by what is particular to it. */
export const ALPHA_SPELLINGS: Readonly<Record<string, (asked?: Asked) => object>> = {
  "recorded: all three lists, the arguments an object": (asked) => {
    const { id, name, args, call } = defaults(asked);
    const toolCall = { id, type: "function", function: { name, arguments: args } };
    const server = { url: "https://pay.example.test/integrations/alpha/webhook", timeoutSeconds: 20 };
    const tool = {
      type: "function",
      async: false,
      function: { name, description: "...", parameters: SCHEMA },
      server,
      messages: [],
      toolCall,
    };
    return alphaMessage("tool-calls", { toolCalls: [toolCall], toolCallList: [toolCall], toolWithToolCallList: [tool] }, call);
  },
  "schema: the arguments as text": (asked) =>
    list("toolCallList", ({ id, name, args }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } }), asked),
  "toolCalls alone": (asked) =>
    list("toolCalls", ({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } }), asked),
  "toolCalls behind an empty toolCallList": (asked) => {
    const { id, name, args, call } = defaults(asked);
    return alphaMessage("tool-calls", { toolCallList: [], toolCalls: [{ id, function: { name, arguments: args } }] }, call);
  },
  "guide: name and arguments beside the id": (asked) =>
    list("toolCallList", ({ id, name, args }) => ({ id, name, arguments: args }), asked),
  "events page: name and parameters beside the id": (asked) =>
    list("toolCallList", ({ id, name, args }) => ({ id, name, parameters: args }), asked),
  "parameters inside function": (asked) =>
    list("toolCallList", ({ id, name, args }) => ({ id, function: { name, parameters: args } }), asked),
  "tool with its call, named by the tool": (asked) =>
    list("toolWithToolCallList", ({ id, name, args }) => ({ type: "function", name, toolCall: { id, parameters: args } }), asked),
  "tool with its call, arguments beside the call's id": (asked) =>
    list("toolWithToolCallList", ({ id, name, args }) => ({ name, parameters: SCHEMA, toolCall: { id, name, arguments: args } }), asked),
  "tool with its call, which has the tool's id": (asked) =>
    list("toolWithToolCallList", ({ id, name, args }) => ({ id, toolCall: { function: { name, arguments: args } } }), asked),
  "tool with its call, behind two empty lists": (asked) => {
    const { id, name, args, call } = defaults(asked);
    const tool = { function: { name, parameters: SCHEMA }, toolCall: { id, function: { name, arguments: args } } };
    return alphaMessage("tool-calls", { toolCallList: [], toolCalls: [], toolWithToolCallList: [tool] }, call);
  },
  "older recording: the time as text, the caller beside the call": (asked) => {
    const { id, name, args, call } = defaults(asked);
    const { customer, ...bare } = call as typeof alphaCall;
    const item = { id, type: "function", function: { name, arguments: args } };
    return alphaMessage("tool-calls", { timestamp: "2026-11-18T12:00:00.000Z", toolCalls: [item], customer }, bare);
  },
  "tool with its call, parameters in the call's function": (asked) =>
    list(
      "toolWithToolCallList",
      ({ id, name, args }) => ({
        function: { name, parameters: SCHEMA },
        toolCall: { id, type: "function", function: { name, parameters: args } },
      }),
      asked,
    ),
  "tool with its call, arguments in the call's function": (asked) =>
    list(
      "toolWithToolCallList",
      ({ id, name, args }) => ({ function: { name, parameters: SCHEMA }, toolCall: { id, function: { arguments: JSON.stringify(args) } } }),
      asked,
    ),
};

/** The event that came before tools, its parameters as text and as an object. */
export const ALPHA_LEGACY: Readonly<Record<string, (asked?: Asked) => object>> = {
  "parameters as text": (asked) => {
    const { name, args, call } = defaults(asked);
    return alphaMessage("function-call", { functionCall: { name, parameters: JSON.stringify(args) } }, call);
  },
  "parameters as an object": (asked) => {
    const { name, args, call } = defaults(asked);
    return alphaMessage("function-call", { functionCall: { name, parameters: args } }, call);
  },
};

/** Events that need no answer, and what is no event at all. */
export const ALPHA_OTHERS: readonly object[] = [
  ...["status-update", "end-of-call-report", "transcript", 'transcript[transcriptType="final"]', "hang", "never heard of"].map((type) =>
    alphaMessage(type, {}),
  ),
  {},
  { message: null },
  { message: "tool-calls" },
  { message: { type: 7 } },
];

function defaults({
  id = "call_syn_A1",
  name = "collect_payment",
  args = { amount: 42.5, description: "Deposit order 118" },
  call = alphaCall,
}: Asked = {}) {
  return { id, name, args, call };
}

function list(member: string, item: (asked: ReturnType<typeof defaults>) => object, asked?: Asked): object {
  const all = defaults(asked);
  return alphaMessage("tool-calls", { [member]: [item(all)] }, all.call);
}

const betaCall = {
  call_type: "phone_call",
  call_id: BETA_CALL_ID,
  agent_id: "agent_syn_1",
  agent_version: 3,
  agent_name: "Front desk",
  call_status: "ongoing",
  direction: "inbound",
  from_number: CALLER,
  to_number: "+15555550199",
  metadata: { project: "demo" },
  retell_llm_dynamic_variables: { customer_name: "Ada Example" },
  custom_sip_headers: { order: "118" },
  start_timestamp: 1_795_000_000_000,
  transcript: "Agent: Hello.",
  transcript_object: [],
  transcript_with_tool_calls: [],
};

/** One function call of the second platform, by what is particular to it. */
export const BETA_SPELLINGS: Readonly<Record<string, (asked?: Omit<Asked, "id">) => object>> = {
  "the whole call": (asked) => beta(asked, (args) => ({ args })),
  "words spoken meanwhile among the arguments": (asked) =>
    beta(asked, (args) => ({ args: { ...(args as object), execution_message: `One moment, ${Math.random()}` } })),
  "the arguments as text": (asked) => beta(asked, (args) => ({ args: JSON.stringify(args) })),
  "the arguments at the root, beside name and call": (asked) => beta(asked, (args) => args as object),
  "the arguments at the root, beside the call alone": (asked) => withoutName(beta(asked, (args) => args as object)),
  "an outgoing call, where the customer is at the other end": ({ call = betaCall, ...asked } = {}) =>
    beta({ ...asked, call: { ...call, direction: "outbound", from_number: "+15555550199", to_number: CALLER } }, (args) => ({ args })),
};

const withoutName = (body: object): object => ({ ...body, name: undefined });

function beta(
  { name = "collect_payment", args = { amount: 42.5, description: "Deposit order 118" }, call = betaCall }: Omit<Asked, "id"> = {},
  withArgs: (args: unknown) => object,
): object {
  return { name, ...withArgs(args), call };
}
export { betaCall as BETA_CALL, alphaCall as ALPHA_CALL };
