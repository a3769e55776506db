import { basic, bearer, checkCredential, currency, defineSimulator, header, refused, rules, wholeText } from "../kit/index.ts";
import type { Incoming, Rules } from "../kit/index.ts";
import {
  cancel,
  capture,
  createCustomer,
  createPaymentIntent,
  createPaymentMethod,
  createSetupIntent,
  deleteCustomer,
  emptyAccount,
  invalid,
  listOf,
  lookedAt,
  refund,
  refuse,
} from "./objects.ts";
import type { Account } from "./objects.ts";

/** Stripe API v1 at the version of the vendor's sheet: what its endpoints take. `objects.ts` holds what they do. */

const VERSION = "2022-11-15";

const AMOUNT = wholeText(-1e12, 1e12);
const METADATA = rules`metadata[*] 0-500`;
const ADDRESS = rules`line1/line2 200, city/state 100, postal_code 20, country country2`;
const CUSTOMER = rules`
  name 256, description 1000, phone 20, email email 512, ${METADATA}
  address[]: ${ADDRESS}
`;
const METHOD = rules`
  type! is card, ${METADATA}
  card[]: number! 64, exp_month/exp_year! wholeText, cvc 16
  billing_details[]: name 255, phone 20, email email 512
  billing_details[address][]: ${ADDRESS}
`;
const list = (property: string): Rules => rules`
  limit countText 1-100, starting_after/ending_before 255, customer /cus_[A-Za-z0-9]+/, created wholeText, expand[*] is data.${property}
  created[]: gt/gte/lt/lte wholeText
`;
const INTENT = rules`
  confirm/payment_method_options[card][moto] is true|false, payment_method /pm_[A-Za-z0-9]+/, payment_method_types[*] is card
  customer /cus_[A-Za-z0-9]+/, description 1000, return_url 2048, ${METADATA}
`;
const PAYMENT = rules`
  ${INTENT}, amount! ${AMOUNT}, currency! ${currency("lower")}, capture_method is automatic|automatic_async|manual
  error_on_requires_action/off_session is true|false, receipt_email email 512, statement_descriptor_suffix 22
  expand[*] is latest_charge
`;
const SETUP = rules`${INTENT}, usage is off_session|on_session, expand[*] is latest_attempt`;
const CANCELLATION = rules`cancellation_reason is duplicate|fraudulent|requested_by_customer|abandoned, expand[*] is latest_charge`;
const SETUP_CANCELLATION = rules`cancellation_reason is abandoned|requested_by_customer|duplicate, expand[*] is latest_attempt`;
const REFUND = rules`
  payment_intent /pi_[A-Za-z0-9]+/, charge /ch_[A-Za-z0-9]+/, amount wholeText, reason is duplicate|fraudulent|requested_by_customer, ${METADATA}
`;
const [CHARGE, ATTEMPT] = [rules`expand[*] is latest_charge`, rules`expand[*] is latest_attempt`];

export const simulator = defineSimulator<Account>({
  body: "form",
  authenticate,
  state: emptyAccount,
  refuse: {
    malformed: () => invalid("Invalid request (check that your POST content type is application/x-www-form-urlencoded)."),
    path: ({ method, path }) => invalid(`Unrecognized request URL (${method}: ${path}).`, undefined, undefined, 404),
    field: ({ kind, field, words }) => {
      const code =
        kind === "unknown" || kind === "missing"
          ? `parameter_${kind}`
          : kind === "type"
            ? "parameter_invalid_integer"
            : words === "must not be empty"
              ? "parameter_invalid_empty"
              : "parameter_invalid";
      return invalid(kind === "unknown" ? `Received unknown parameter: ${field}` : `Invalid ${field}: ${words}.`, code, field);
    },
  },
  idempotency: {
    keyOf(request) {
      const key = request.method === "POST" ? header(request, "idempotency-key") : "";
      return key.length > 255 ? refuse("Idempotency keys have 1 to 255 characters.", "idempotency_key_invalid") : key;
    },
    mismatch: () => {
      const message = "Keys for idempotent requests can only be used with the same parameters they were first used with.";
      return refused("idempotency_error", 400, { error: { type: "idempotency_error", message } });
    },
    running: () => invalid("There is currently another in-progress request using this key.", "idempotency_key_in_use", undefined, 409),
    replay: (first) => ({ ...first, headers: { ...first.headers, "idempotent-replayed": "true" } }),
  },
  responseHeaders: ({ tools }) => ({ "request-id": tools.id("req_", 14) }),
  endpoints: {
    "POST /v1/payment_methods": { rules: METHOD, run: createPaymentMethod },
    "GET /v1/payment_methods/:id": { run: lookedAt("methods") },
    "POST /v1/payment_intents": { rules: PAYMENT, run: createPaymentIntent },
    "GET /v1/payment_intents": { rules: list("latest_charge"), run: listOf("payments") },
    "GET /v1/payment_intents/:id": { rules: CHARGE, run: lookedAt("payments") },
    "POST /v1/payment_intents/:id/cancel": { rules: CANCELLATION, run: cancel("payments") },
    "POST /v1/payment_intents/:id/capture": { rules: rules`amount_to_capture wholeText, ${CHARGE}`, run: capture },
    "POST /v1/customers": { rules: CUSTOMER, run: createCustomer },
    "GET /v1/customers/:id": { run: lookedAt("customers") },
    "DELETE /v1/customers/:id": { run: deleteCustomer },
    "POST /v1/setup_intents": { rules: SETUP, run: createSetupIntent },
    "GET /v1/setup_intents": { rules: list("latest_attempt"), run: listOf("setups") },
    "GET /v1/setup_intents/:id": { rules: ATTEMPT, run: lookedAt("setups") },
    "POST /v1/setup_intents/:id/cancel": { rules: SETUP_CANCELLATION, run: cancel("setups") },
    "POST /v1/refunds": { rules: REFUND, run: refund },
  },
});

/** Bearer key or Basic user, the version that this simulator speaks, and an account that the key may act for. */
function authenticate(request: Incoming): string {
  const key = basic(request)?.user ?? bearer(request);
  const denied = (message: string, code?: string, status = 401) => invalid(message, code, undefined, status);
  if (key === "") throw denied("You did not provide an API key.");
  if (key.startsWith("pk_")) throw denied("This API call cannot be made with a publishable API key.", "secret_key_required");
  const standing = checkCredential(key, /^[rs]k_test_\w+$/);
  if (standing === "expired") throw denied("Expired API Key provided.", "api_key_expired");
  if (standing === "wrong") throw denied(`Invalid API Key provided: ${key.slice(0, 8)}${"*".repeat(8)}${key.slice(-4)}`);
  if (header(request, "stripe-version") !== VERSION) throw invalid(`Invalid Stripe API version: ${header(request, "stripe-version")}`);
  const account = request.headers["stripe-account"] === undefined ? "acct_own" : header(request, "stripe-account");
  if (checkCredential(account, /^acct_[A-Za-z0-9_]+$/) === "accepted") return account;
  throw denied("The provided key does not have access to this account (or that account does not exist).", "account_invalid", 403);
}
