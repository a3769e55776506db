import { DESCRIBED_GATEWAYS } from "../schemas/gateway.ts";
import { processorFieldsOf } from "../schemas/processor.ts";

/**
 * What each schema and each of its fields means, for a reader who has nothing but the description. One table, so that a
 * test can see that nothing is left unsaid. `_` is the schema itself.
 */
const SESSION_FIELDS = {
  session_id: "The session's id. It is also the user part of `sip_uri`.",
  amount: "What is charged, in units of `currency`, as decimal text: `49.95`.",
  currency: "The project's currency, ISO 4217: `USD`.",
  mode: "`charge` takes the money at the end of the call; `tokenize` stores the card and takes nothing.",
  description: "The text given when the session was made.",
  memory: "The text given when the session was made, unchanged.",
  gateway: "The payment gateway that the session goes through.",
  created_at: "When the session was made, UTC.",
  completed_at: "When the final status was reached, UTC; null before.",
} as const;

const AVS =
  "Address check: `Y` address and ZIP match, `A` address only, `Z` ZIP only, `N` neither, `U` unavailable, `P` not applicable to the card.";
const CVV =
  "Security code: `M` match, `N` no match, `P` not processed, `S` should be on the card but was not submitted, `U` issuer does not support it.";
const CAVV = "Cardholder authentication: blank or `0` not validated, `1` failed, `2` passed, `3` or `4` could not be performed.";

/** Processor fields whose name does not say it. */
const PROCESSOR: Readonly<Record<string, string>> = {
  card_brand:
    "Brand by the card's number: `visa`, `mastercard`, `amex`, `discover`, `diners`, `jcb`, `unionpay`, `maestro`, `elo` or `unknown`.",
  card_last4: "The card's last four digits.",
  test_skip: "True when the caller said the test word: no card and no gateway was used. Test keys only.",
  transaction_id: "Test word only, in webhooks: `test_skip_` and a number.",
  auth_code: "Test word only, in webhooks: `TESTOK`.",
  receipt_url: "stripe: the customer's receipt.",
  payment_method_id: "stripe, tokenize: the stored card. Charge it together with `stripe_customer_id`.",
  stripe_customer_id: "stripe, tokenize: the customer that the card is attached to.",
  authnet_response_code: "authorizenet: `1` approved, `2` declined, `3` error, `4` held for review.",
  authnet_avs_result_code: `authorizenet. ${AVS}`,
  authnet_cvv_result_code: `authorizenet. ${CVV}`,
  authnet_cavv_result_code: `authorizenet. ${CAVV}`,
  authnet_capture_status: "authorizenet: `captured`, or `authorized` when the money is only held.",
  authnet_transaction_id: "authorizenet: the transaction. A later capture of a hold names it.",
  authnet_customer_profile_id: "authorizenet, tokenize: the customer profile.",
  authnet_payment_profile_id: "authorizenet, tokenize: the stored card within the customer profile.",
  fiserv_state: "fiserv: `CAPTURED` or `AUTHORIZED`.",
  jpmorgan_state: "jpmorgan: `CLOSED` means captured.",
  payflow_pnref: "payflow: the transaction; in tokenize mode it is the stored card too.",
  opayo_security_key: "opayo: needed for a refund or void.",
  webhook_transaction_id: "Card forwarding: `transaction_id` of your endpoint's answer.",
  webhook_token: "Card forwarding, tokenize: `token` of your endpoint's answer.",
};

const processorWords = Object.fromEntries(
  DESCRIBED_GATEWAYS.flatMap((gateway) =>
    processorFieldsOf(gateway).map((name) => [name, PROCESSOR[name] ?? `${gateway}: as the vendor gave it.`]),
  ),
);

const CHECK = "`ok`, `failed`, or `off` where this process does not do that work.";

export const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  SessionCreate: {
    _: "A payment to collect by voice. Fields that are not listed are ignored.",
    project: "The project's id or slug.",
    caller: "The caller's phone number, E.164: `+14155550100`. Finds the session again, and matches the call when nothing else does.",
    amount:
      'In units of the project\'s currency, not in cents: `49.95` or `"49.95"`. More than 0 to charge; may be 0 to store a card. A fraction of a cent is refused, or rounded where the operator chose so.',
    mode: SESSION_FIELDS.mode,
    gateway: "Must be configured on the project for the key's mode. `webhook` forwards the card to your own endpoint.",
    description: "For the gateway's records and yours. Not spoken. No card data: it is kept as sent.",
    callback: "Where the caller goes after the payment: an E.164 number or a SIP URI that the project allows.",
    memory:
      "Context for whoever takes the caller back, handed over with the call; at most 16 KiB of UTF-8. No card data: it is kept as sent.",
    stripe_account: "Gateway `stripe` in platform mode: the connected account to charge or store on.",
    billing_address: "For the gateway's address check. Used by gateway `authorizenet`, ignored by the others.",
  },
  BillingAddress: {
    _: "The cardholder's address. In tokenize mode it is stored with the card, and later charges inherit it.",
    street: "Street and house number.",
    city: "City.",
    state: "State or province; the two-letter code in the US.",
    zip: "Postal code; 5 or 9 digits in the US.",
    country: "ISO 3166-1 alpha-2. `US` when left out.",
    first_name: "Falls back to the name collected with the card.",
    last_name: "Falls back to the name collected with the card.",
  },
  SessionCreateResponse: {
    _: "Where to transfer the call.",
    session_id: SESSION_FIELDS.session_id,
    status: "Always `created`; from the first read on it is `PENDING`.",
    phone_number: "Transfer the call to this number when you cannot transfer to a SIP address; null when none is set up.",
    sip_uri: "Transfer the call here. The session's id is the user part, so it survives carriers that drop headers.",
    pay_url:
      "A link by which the caller may pay this session in a browser instead, for him alone. Absent unless the project's `voice.pay_url` is true.",
    short_code:
      "Eight digits that name this session while it waits, to be dialled behind the project's number (`+15550001111*12345678`) or keyed by a caller who is asked for it, where nothing but digits can be. Absent unless the project's `voice.short_code` is true.",
    created_at: SESSION_FIELDS.created_at,
  },
  SessionGetResponse: {
    _: "A session as it stands. Webhook, stream and this answer tell the same.",
    ...SESSION_FIELDS,
    status:
      "`PENDING` waits for the call; `COLLECTING` has it. Final: `payment-success`, `payment-authorized` (held, not taken), `payment-failed`, `expired`, `cancelled`, `abandoned` (the caller hung up).",
    is_terminal: "True when the status is final: it will not change again.",
    processor: "What the gateway answered; null until it did.",
    error: "Why the payment did not happen; null unless the status is `payment-failed`.",
    caller: "E.164; null for a widget session.",
    project_slug: "The project.",
    callback: "As given when the session was made.",
    transfer_status: "What became of handing the caller back; null when there was no `callback` or it has not come to that.",
    updated_at: "When anything last changed, UTC.",
    expires_at: "When the session expires if nobody uses it, UTC.",
    step: "What the caller is being asked, or `charging` while the gateway is; null outside of `COLLECTING` and before the first question. Not in the stream, which has events of its own for it.",
    pay_url:
      "A link by which the caller may pay this session in a browser instead. Absent unless the project's `voice.pay_url` is true, and once the session is final.",
  },
  Processor: {
    _: "What the gateway answered: its own ids, and the card's brand and last four digits. Which fields are there depends on gateway and mode.",
    ...processorWords,
  },
  ErrorDetail: {
    _: "Why a payment did not happen.",
    code: "Made for programs: `card_declined`, `insufficient_funds` and so on; docs/errors.md lists all. With card forwarding it can be your own.",
    message: "Made for people: the words of docs/errors.md for the code, or your own with card forwarding.",
  },
  CreateWidgetSession: {
    _: "A payment to collect in a web page. Fields that are not listed are ignored.",
    project: "The project's id or slug.",
    amount_cents: "In whole minor units of the project's currency: 4995 is $49.95. May be 0 to store a card.",
    gateway: "Must be configured on the project for the key's mode.",
    mode: SESSION_FIELDS.mode,
    description: "For the gateway's records and yours. No card data: it is kept as sent.",
    stripe_account: "Gateway `stripe` in platform mode: the connected account to charge or store on.",
  },
  WidgetSessionCreateResponse: {
    _: "Where the shopper pays.",
    session_id: "The session's id. Whoever has it can see the amount and try to pay: give it to the shopper's page only.",
    status: "Always `created`; from the first read on it is `PENDING`.",
    expires_at: "When the session expires if nobody pays, UTC: 30 minutes from now.",
    widget_url: "The page that takes the card: open it, or put it into a frame on one of the project's `widget.origins`.",
    created_at: SESSION_FIELDS.created_at,
  },
  WidgetSession: {
    _: "An open widget session, as its frame sees it.",
    session_id: "The session's id.",
    status: "`PENDING`; `COLLECTING` from the first try on.",
    amount_cents: "In whole minor units of the currency.",
    currency: SESSION_FIELDS.currency,
    mode: SESSION_FIELDS.mode,
    description: SESSION_FIELDS.description,
    project_name: "The merchant, for people.",
    appearance: "How the project's frames look: the `appearance` of the apply file.",
    required_fields: "The fields that the form asks for, in this order.",
    processing: "True while a payment is under way or its outcome is not known yet: wait, and do not pay again.",
    attempts_left: "Tries left before the session fails.",
    expires_at: "When the session ends unpaid, UTC.",
  },
  WidgetCharge: { _: "A card as the frame sends it, at most 32 KiB.", card: "The card, in clear. Read from the bytes, never kept." },
  WidgetChargeResponse: {
    _: "The session is paid, or its card stored.",
    status: "`payment-success`, or `payment-authorized` when the money is held and not taken.",
    card_brand: "As in Processor.",
    card_last4: "The card's last four digits.",
  },
  WidgetDecline: {
    _: "The card was refused.",
    detail: "Made for people.",
    error: "The same, with the code of docs/errors.md.",
    retryable: "Whether another try can be made; false: the session has failed.",
    attempts_left: "Tries left.",
  },
  AuthCheckResponse: {
    _: "Whose key it is.",
    authenticated: "Always true: a wrong key is a 401.",
    org_id: "The key's organisation.",
    mode: "`test` or `live`. Test keys move no money.",
    message: "The same in words.",
  },
  Project: {
    _: "A project of the key's organisation.",
    id: "The project's id, for `project` of a new session.",
    slug: "Its short name, for the same use.",
    name: "Its name for people.",
    currency: "The currency of its sessions, ISO 4217.",
    gateways: "Gateways configured for the key's mode.",
    created_at: "When the project was made, UTC.",
  },
  Health: {
    _: "Whether the service can do its work.",
    status: "`ok`, or `unavailable` when a check failed.",
    version: "The version that runs.",
    checks: `Each part: ${CHECK}`,
  },
  Alive: { _: "The process runs.", status: "Always `ok`." },
  HTTPValidationError: { _: "Everything that is wrong with the request.", detail: "One item for each fault, in the order of the fields." },
  ValidationError: {
    _: "One fault of a request.",
    loc: "Where: `body`, `query`, `path` or `header`, then the way to the field.",
    msg: "What is wrong. The value that was sent is never repeated.",
    type: "Made for programs: `missing`, `string_type`, `greater_than` and so on; docs/errors.md lists all.",
  },
  Error: { _: "Every error that is no 422.", detail: "Made for people. Branch on the status." },
  StatusWebhook: {
    _: "A session has ended. The bytes and the `id` are the same on every try, the timestamp and signatures are new.",
    ...SESSION_FIELDS,
    id: "The event's id, the same on every try: handle each once. Also in the header `webhook-id`.",
    event: "`payment.` and the last word of the status.",
    status: "The final status.",
    amount:
      "In units of the currency, 49.95; in cents where the project asked for it (`amount_unit`). `amount_cents` does not depend on that.",
    amount_cents: "In whole minor units of the currency.",
    environment: "By the API key that made the session: in `test` no money was moved.",
    project: "The project's slug.",
    caller: "E.164; null for a widget session.",
    card_brand: "As in Processor; null when no card was charged or stored.",
    card_last4: "As in Processor; null when no card was charged or stored.",
    processor: "What the gateway answered, in webhook form: see docs/webhooks.md. Null before any gateway answered.",
    error: "Why the payment did not happen; null unless the event is `payment.failed`.",
    completed_at: "When the final status was reached, UTC.",
  },
  CardForwarding: {
    _: "A card, complete, for your own endpoint to charge or store.",
    type: "Always this.",
    session_id: "Use it as your idempotency key: one session forwards one card, once.",
    environment: "By the API key that made the session.",
    mode: "`charge`: take the money. `tokenize`: store the card and answer a `token`.",
    amount: "In whole minor units (cents). Status webhooks differ.",
    currency: "ISO 4217.",
    description: "As given when the session was made.",
    caller: "E.164; null for a widget session.",
    card: "The card, in clear. Never log it. What was not collected is null.",
  },
  AlphaMessage: {
    _: "What the first voice platform sends, as far as it is read: unknown members are ignored, and every spelling of a tool call is understood.",
    message:
      "`type` says what it is; `tool-calls` brings its calls in `toolCallList`, `toolCalls` or `toolWithToolCallList`, and `call` with its id and customer.",
  },
  BetaCall: {
    _: "What the second voice platform sends, as far as it is read. Without `args` the body itself is the arguments.",
    name: "The function: `collect_payment` or `get_payment_result`.",
    args: "Its arguments: `amount`, `description`, `caller`, `callback`, `memory`, `billing_address`; or `session_id`.",
    call: "The telephone call: `call_id`, `direction`, `from_number`, `to_number`.",
  },
  CardForwardingAnswer: {
    _: "What became of the card: HTTP 2xx and this, within 30 seconds.",
    success: "True: charged or stored. False: declined. Anything else fails the session with `webhook_gateway_error`.",
    transaction_id: "Your id of the payment; shown as `webhook_transaction_id`.",
    token: "Your id of the stored card; kept in tokenize mode only, as `webhook_token`.",
    error_code: "Why it was declined; becomes `error.code`. One of ours (docs/errors.md) also chooses what the caller hears.",
    error_message: "The same for people; becomes `error.message`.",
  },
};

/** Parameters, by name as HTTP spells it. */
export const PARAMETERS: Readonly<Record<string, string>> = {
  session_id: "The session's id.",
  caller: "The caller's phone number, E.164, with the plus escaped: `%2B14155550100`.",
  project: "Only sessions of this project, by id or slug.",
  file: "As the page names it.",
  "X-Widget-Nonce": "The nonce of the frame's page, or the one that the last answer brought.",
  response_status: "The status to answer instead of 201, for platforms that accept only 200: 200 to 299, but not 204 or 205.",
  "Idempotency-Key":
    "Any text of your own that is new for each payment. A repeat within 24 hours gets the first answer, with `Idempotent-Replayed: true`; with another body it is a 422. Each API key has its own: sent with another API key it makes another session.",
  "Last-Event-ID": "The id of the last event that was seen: sent by browsers' EventSource when it reconnects.",
};
