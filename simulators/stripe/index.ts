import { createHash } from "node:crypto";
import { anyText, faultIn, matching, oneOf, parseForm, required, trueOrFalse, wholeNumber } from "../form.ts";
import type { Fields, Rule, Rules } from "../form.ts";
import { verdictOn } from "../simulator.ts";
import type { Simulator, SimulatorAnswer, SimulatorRequest, SimulatorTools } from "../simulator.ts";
import {
  Account,
  Lost,
  StripeError,
  cancel,
  capture,
  createCustomer,
  createPaymentIntent,
  createPaymentMethod,
  createSetupIntent,
  customerOf,
  deleteCustomer,
  isList,
  listOf,
  looked,
  methodOf,
  paymentOf,
  refund,
  refuse,
  setupOf,
} from "./objects.ts";
import type { Call, Item, List } from "./objects.ts";

/**
 * Stripe API v1 as the sheet describes it: keys, versions, connected accounts, parameters, idempotency. It refuses what
 * Stripe refuses; `objects.ts` holds what the endpoints do.
 */

const VERSION = "2022-11-15";

interface Endpoint {
  method: "GET" | "POST" | "DELETE";
  path: RegExp;
  rules: Rules;
  run(call: Call): Item | Lost | List | "reset";
}

const currency = matching(/^[a-z]{3}$/, "a lower-case three-letter ISO currency code");
const id = (prefix: string): Rule => matching(new RegExp(`^${prefix}_[A-Za-z0-9]+$`), `an id that begins with ${prefix}_`);
const metadata: Rules = { "metadata[*]": { check: (value) => (value.length > 500 ? "must be at most 500 characters" : null) } };
const expand = (...properties: string[]): Rules => ({ "expand[*]": oneOf(...properties) });
const list = (property: string): Rules => ({
  limit: matching(/^([1-9][0-9]?|100)$/, "between 1 and 100"),
  starting_after: anyText(255),
  customer: id("cus"),
  "created[*]": wholeNumber,
  ...expand(`data.${property}`),
});
const intentRules: Rules = {
  confirm: trueOrFalse,
  payment_method: id("pm"),
  "payment_method_types[*]": oneOf("card"),
  "payment_method_options[card][moto]": trueOrFalse,
  customer: id("cus"),
  description: anyText(1000),
  ...metadata,
};

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: "POST",
    path: /^\/v1\/payment_methods$/,
    rules: {
      type: required(oneOf("card")),
      "card[number]": required(anyText(64)),
      "card[exp_month]": required(wholeNumber),
      "card[exp_year]": required(wholeNumber),
      "card[cvc]": anyText(16),
      "billing_details[name]": anyText(255),
      "billing_details[email]": anyText(255),
      "billing_details[phone]": anyText(64),
      "billing_details[address][*]": anyText(255),
      ...metadata,
    },
    run: createPaymentMethod,
  },
  { method: "GET", path: /^\/v1\/payment_methods\/(\w+)$/, rules: {}, run: (call) => methodOf(call, call.id, 404).item },
  {
    method: "POST",
    path: /^\/v1\/payment_intents$/,
    rules: {
      ...intentRules,
      amount: required(wholeNumber),
      currency: required(currency),
      capture_method: oneOf("automatic", "automatic_async", "manual"),
      error_on_requires_action: trueOrFalse,
      off_session: trueOrFalse,
      statement_descriptor_suffix: anyText(22),
      ...expand("latest_charge"),
    },
    run: createPaymentIntent,
  },
  {
    method: "GET",
    path: /^\/v1\/payment_intents$/,
    rules: list("latest_charge"),
    run: (call) => listOf(call, call.account.payments, "/v1/payment_intents"),
  },
  {
    method: "GET",
    path: /^\/v1\/payment_intents\/(\w+)$/,
    rules: expand("latest_charge"),
    run: (call) => looked(call, paymentOf(call, call.id, 404)),
  },
  {
    method: "POST",
    path: /^\/v1\/payment_intents\/(\w+)\/cancel$/,
    rules: { cancellation_reason: anyText(64), ...expand("latest_charge") },
    run: cancel,
  },
  {
    method: "POST",
    path: /^\/v1\/payment_intents\/(\w+)\/capture$/,
    rules: { amount_to_capture: wholeNumber, ...expand("latest_charge") },
    run: capture,
  },
  {
    method: "POST",
    path: /^\/v1\/customers$/,
    rules: { name: anyText(256), description: anyText(1000), email: anyText(512), ...metadata },
    run: createCustomer,
  },
  { method: "GET", path: /^\/v1\/customers\/(\w+)$/, rules: {}, run: (call) => customerOf(call, call.id, 404) },
  { method: "DELETE", path: /^\/v1\/customers\/(\w+)$/, rules: {}, run: deleteCustomer },
  {
    method: "POST",
    path: /^\/v1\/setup_intents$/,
    rules: { ...intentRules, usage: oneOf("off_session", "on_session"), ...expand("latest_attempt") },
    run: createSetupIntent,
  },
  {
    method: "GET",
    path: /^\/v1\/setup_intents$/,
    rules: list("latest_attempt"),
    run: (call) => listOf(call, call.account.setups, "/v1/setup_intents"),
  },
  {
    method: "GET",
    path: /^\/v1\/setup_intents\/(\w+)$/,
    rules: expand("latest_attempt"),
    run: (call) => looked(call, setupOf(call, call.id)),
  },
  { method: "POST", path: /^\/v1\/setup_intents\/(\w+)\/cancel$/, rules: expand("latest_attempt"), run: cancel },
  {
    method: "POST",
    path: /^\/v1\/refunds$/,
    rules: { payment_intent: id("pi"), charge: id("ch"), amount: wholeNumber, reason: anyText(64), ...metadata },
    run: refund,
  },
];

export function stripe(tools: SimulatorTools): Simulator {
  const accounts = new Map<string, Account>();
  return {
    name: "stripe",
    handle: async (request) => {
      try {
        return await answer(request, tools, accounts);
      } catch (error) {
        if (!(error instanceof StripeError)) throw error;
        const { status, error: body } = error;
        tools.record({
          kind: "refused",
          id: null,
          reference: null,
          outcome: null,
          details: { status, code: String(body["code"] ?? body["type"]) },
        });
        return { status, headers: { "request-id": tools.id("req_", 14) }, body: { error: body } };
      }
    },
  };
}

async function answer(request: SimulatorRequest, tools: SimulatorTools, accounts: Map<string, Account>): Promise<SimulatorAnswer> {
  authenticate(request);
  const accountName = connectedAccount(request);
  const account = accounts.get(accountName) ?? new Account();
  accounts.set(accountName, account);
  const endpoint = ENDPOINTS.find(({ method, path }) => method === request.method && path.test(request.path));
  if (endpoint === undefined) {
    return refuse(`Unrecognized request URL (${request.method}: ${request.path}).`, undefined, undefined, 404);
  }
  const fields = request.method === "POST" ? formOf(request) : new Map(request.query);
  const call = { tools, account, accountName, fields, id: endpoint.path.exec(request.path)?.[1] ?? "" };
  const run = () => (checkFields(fields, endpoint.rules), perform(endpoint, call));
  if (request.method !== "POST") {
    await request.work();
    return run();
  }
  return once(request, account, run);
}

/** Bearer key or Basic user; the API version must be the one this simulator speaks. */
function authenticate({ headers }: SimulatorRequest): void {
  const [scheme = "", value = ""] = (headers.authorization ?? "").split(" ");
  const basic = /^basic$/i.test(scheme) ? Buffer.from(value, "base64").toString().split(":")[0] : undefined;
  const key = basic ?? (/^bearer$/i.test(scheme) ? value : "");
  if (key === "") refuse("You did not provide an API key.", undefined, undefined, 401);
  if (key.startsWith("pk_")) refuse("This API call cannot be made with a publishable API key.", "secret_key_required", undefined, 401);
  const verdict = verdictOn(key);
  if (verdict === "expired") refuse("Expired API Key provided.", "api_key_expired", undefined, 401);
  if (verdict === "wrong" || !/^[rs]k_test_\w+$/.test(key)) {
    refuse(`Invalid API Key provided: ${key.slice(0, 8)}${"*".repeat(8)}${key.slice(-4)}`, undefined, undefined, 401);
  }
  if (headers["stripe-version"] !== VERSION) refuse(`Invalid Stripe API version: ${String(headers["stripe-version"])}`);
}

function connectedAccount({ headers }: SimulatorRequest): string {
  const name = headers["stripe-account"];
  if (name === undefined) return "acct_own";
  if (typeof name !== "string" || !/^acct_[A-Za-z0-9]+$/.test(name) || verdictOn(name) !== "accepted") {
    refuse("The provided key does not have access to this account (or that account does not exist).", "account_invalid", undefined, 403);
  }
  return name;
}

function formOf({ headers, body }: SimulatorRequest): Fields {
  const type = headers["content-type"]?.split(";")[0]?.trim();
  const empty = body.length === 0;
  const fields = empty || type === "application/x-www-form-urlencoded" ? parseForm(body.toString()) : null;
  return fields ?? refuse("Invalid request (check that your POST content type is application/x-www-form-urlencoded).");
}

function checkFields(fields: Fields, rules: Rules): void {
  const fault = faultIn(fields, rules);
  if (fault !== null) refuse(fault.message, `parameter_${fault.kind === "invalid" ? "invalid" : fault.kind}`, fault.field);
}

/** Runs a POST at most once per idempotency key: the first answer is kept, refusals before the start are not. */
async function once(request: SimulatorRequest, account: Account, run: () => SimulatorAnswer): Promise<SimulatorAnswer> {
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") {
    await request.work();
    return run();
  }
  if (key === "" || key.length > 255) refuse("Idempotency keys have 1 to 255 characters.", "idempotency_key_invalid");
  const fingerprint = createHash("sha256").update(`${request.method} ${request.path}\n`).update(request.body).digest("hex");
  const saved = account.keys.get(key);
  if (saved !== undefined && saved.fingerprint !== fingerprint) {
    throw new StripeError(400, {
      type: "idempotency_error",
      message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
    });
  }
  if (saved?.answer === null)
    refuse("There is currently another in-progress request using this key.", "idempotency_key_in_use", undefined, 409);
  if (saved?.answer) return replayed(saved.answer);
  account.keys.set(key, { fingerprint, answer: null });
  try {
    await request.work();
    const result = run();
    if (result === "reset") account.keys.delete(key);
    else account.keys.set(key, { fingerprint, answer: { ...result, lost: false } });
    return result;
  } catch (error) {
    const kept = error instanceof StripeError && (error.status === 402 || error.status >= 500);
    if (kept) account.keys.set(key, { fingerprint, answer: { status: error.status, body: { error: error.error } } });
    else account.keys.delete(key);
    throw error;
  }
}

function replayed(saved: SimulatorAnswer): SimulatorAnswer {
  return typeof saved === "string" ? saved : { ...saved, headers: { ...saved.headers, "idempotent-replayed": "true" } };
}

function perform(endpoint: Endpoint, call: Call): SimulatorAnswer {
  const result = endpoint.run(call);
  if (result === "reset") return result;
  const lost = result instanceof Lost;
  const expanded = [...call.fields].some(([name, value]) => name.startsWith("expand[") && value.endsWith("latest_charge"));
  return {
    status: 200,
    headers: { "request-id": call.tools.id("req_", 14) },
    body: structuredClone(shown(call, lost ? result.item : result, expanded)),
    lost,
  };
}

/** Objects as they go out: the charge as its id unless it was asked for in full. */
function shown(call: Call, result: Item | List, expanded: boolean): object {
  if (isList(result)) return { ...result, data: result.data.map((item) => shown(call, item, expanded)) };
  const charge = call.account.charges.get(String(result["latest_charge"]));
  return charge && expanded ? { ...result, latest_charge: charge } : result;
}
