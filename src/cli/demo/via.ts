import { createHmac } from "node:crypto";
import type { App } from "../../app.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { INTEGRATION_SCOPE } from "#src/kernel/scopes.ts";

/** The ways in: a merchant's server by the API, or one of the two voice platforms by its tool. */
export const VIAS = ["api", "alpha", "beta"] as const;
export type Via = (typeof VIAS)[number];

type Json = Record<string, unknown>;

/** What the demo asks for, whichever way. */
export interface Order {
  gateway: string;
  mode: string;
  amount: string;
  caller: string;
  description: string;
  callback: string;
  memory: string;
}

/** Where the agent transfers the call. */
export interface Transfer {
  sessionId: string;
  target: string;
  headers: [string, string][];
}

/** The merchant's side of the demo. */
export interface Merchant {
  begin(order: Order): Promise<Transfer>;
  /** What the agent learns once the caller is back; null where it needs no more than the headers. */
  result(headers: Readonly<Record<string, string>>): Promise<Json | null>;
}

/** What the platforms show with each request; the project has the same (docs/operations.md, Apply file). */
const ALPHA_SECRET = "demo-alpha-secret";
const BETA_KEY = "key_demo_0000000000000000";
export const INTEGRATIONS = { alpha: { secret: ALPHA_SECRET }, beta: { api_key: BETA_KEY } };

type Post = (path: string, body: object, headers: Record<string, string>) => Promise<Json>;

/** `onStep` is told what goes to and fro between agent and service. */
export async function merchantBy(via: Via, app: App, onStep: (what: string) => void): Promise<Merchant> {
  const post: Post = (path, body, headers) => postJson(app.baseUrl + path, body, headers);
  if (via === "api") return serverOf(post, app.starter?.apiKey?.reveal() ?? "", onStep);
  const { key } = await app.projects.createKey({
    organization: "demo",
    name: `voice platform ${via}`,
    mode: "test",
    scopes: [INTEGRATION_SCOPE],
    expiresAt: null,
  });
  return via === "alpha" ? alphaAgent(post, key, onStep) : betaAgent(post, key, onStep);
}

function serverOf(post: Post, key: string, onStep: (what: string) => void): Merchant {
  return {
    async begin(order) {
      const created = await post("/v1/sessions", { project: "demo", ...order }, { authorization: `Bearer ${key}` });
      onStep("session created over HTTP");
      return { sessionId: String(created["session_id"]), target: String(created["sip_uri"]), headers: [] };
    },
    result: async () => null,
  };
}

/** The tool's address as a merchant writes it; where the caller goes afterwards is the merchant's choice, not the model's. */
function toolAddress(platform: string, key: string, { gateway, mode, callback }: Order): string {
  return `/integrations/${platform}/webhook?${new URLSearchParams({ api_key: key, project: "demo", mode, gateway, callback }).toString()}`;
}

/** The tool's arguments, as a model writes them: an amount is a number. */
const argumentsOf = ({ amount, description, memory }: Order) => ({ amount: Number(amount), description, memory });

function alphaAgent(post: Post, key: string, onStep: (what: string) => void): Merchant {
  let address = "";
  let caller = "";
  const call = (id: string) => ({ id, type: "inboundPhoneCall", customer: { number: caller } });
  const send = (callId: string, message: object) =>
    post(address, { message: { ...message, call: call(callId) } }, { "x-vapi-secret": ALPHA_SECRET });
  const callTool = async (callId: string, name: string, args: object): Promise<Json> => {
    const toolCall = { id: `call_${name}`, type: "function", function: { name, arguments: args } };
    const { results } = await send(callId, { type: "tool-calls", toolCalls: [toolCall], toolCallList: [toolCall] });
    const [{ result, error }] = results as [{ result?: string; error?: string }];
    if (result === undefined) throw new OperatorError(`The tool ${name} was answered with an error: ${error ?? "none"}`);
    return JSON.parse(result) as Json;
  };
  return {
    async begin(order) {
      address = toolAddress("alpha", key, order);
      ({ caller } = order);
      const ready = await callTool("demo call 1", "collect_payment", argumentsOf(order));
      onStep(`tool call collect_payment answered: ${String(ready["status"])}`);
      const { destination } = await send("demo call 1", { type: "transfer-destination-request" });
      const { sipUri, sipHeaders } = destination as { sipUri: string; sipHeaders: Record<string, string> };
      onStep("transfer destination answered");
      return { sessionId: String(ready["session_id"]), target: sipUri, headers: Object.entries(sipHeaders) };
    },
    // The caller comes back in a call of its own; the platform made variables of the headers.
    result: (headers) => callTool("demo call 2", "get_payment_result", { session_id: headers["X-payment_session_id"] }),
  };
}

function betaAgent(post: Post, key: string, onStep: (what: string) => void): Merchant {
  let address = "";
  let caller = "";
  const callTool = async (callId: string, name: string, args: object): Promise<Json> => {
    const body = {
      name,
      args,
      call: { call_type: "phone_call", call_id: callId, direction: "inbound", from_number: caller, metadata: {} },
    };
    const now = Date.now();
    const digest = createHmac("sha256", BETA_KEY)
      .update(`${JSON.stringify(body)}${now}`)
      .digest("hex");
    const answer = await post(address, body, { "x-retell-signature": `v=${now},d=${digest}` });
    if (answer["status"] === "error") throw new OperatorError(`The function ${name} was answered with an error: ${JSON.stringify(answer)}`);
    return answer;
  };
  return {
    async begin(order) {
      address = toolAddress("beta", key, order);
      ({ caller } = order);
      const ready = await callTool("demo call 1", "collect_payment", argumentsOf(order));
      onStep(`function collect_payment answered: ${String(ready["status"])}`);
      const [sessionId, target] = [String(ready["session_id"]), String(ready["transfer_to"])];
      return {
        sessionId,
        target,
        headers: [
          ["X-Session-Id", sessionId],
          ["X-Caller", caller],
        ],
      };
    },
    result: (headers) => callTool("demo call 2", "get_payment_result", { session_id: headers["X-payment_session_id"] }),
  };
}

async function postJson(url: string, body: object, headers: Record<string, string>): Promise<Json> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Json;
  // The address has the key in it.
  if (!response.ok)
    throw new OperatorError(`POST ${new URL(url).pathname} was answered with ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}
