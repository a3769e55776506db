import { CLOSING, declined } from "../src/conversation/sentences.ts";
import { EN_US } from "../src/conversation/languages/en-US.ts";
import { FAULTS, type Fault } from "../src/api/schemas/faults.ts";
import { ERRORS, type ErrorCode } from "../src/kernel/errors.ts";
import { DECLINES, type DeclineCode } from "../src/kernel/payment.ts";
import { row } from "./markdown.ts";

/** What an HTTP error means, and whether the same request can succeed later. */
const HTTP: Readonly<Record<ErrorCode, readonly [meaning: string, again: string]>> = {
  bad_request: ["The bytes are no HTTP request.", "no: mend the HTTP client or the proxy in between"],
  not_authenticated: ["There is no `Authorization: Bearer` header.", "no: send `Authorization: Bearer svc_...`"],
  invalid_key: [
    "The key is unknown, expired or revoked, or not in its form.",
    "no: check the key and its expiry; revoke and replace a lost one",
  ],
  invalid_platform_secret: [
    "The project has a secret for this voice platform (`integrations` in the apply file), and the request does not show it.",
    "Set the same secret on both sides: `X-Vapi-Secret` on the first platform; on the second the account's API key with which it signs.",
  ],
  https_required: [
    "The request came over plain HTTP although the service is public over HTTPS. Change the key: it was sent in clear.",
    "no: use the https address. When that is what you did: the operator sets `TRUSTED_PROXIES` to the proxy before the service, and has it send `X-Forwarded-Proto: https`",
  ],
  not_the_frame: [
    "A card came without a fresh nonce of the frame's page, or from another origin. Only the frame can charge; its script asks for a new nonce by itself.",
    "no: load the frame anew",
  ],
  missing_scope: [
    "The key is valid, but was made without the scope that this endpoint asks for. The answer names it.",
    "no: use or make a key that has the scope",
  ],
  not_found: ["There is no such path.", "no: check the path; /docs lists them"],
  project_not_found: [
    "No project of the key's organisation has this id or slug, or it is archived.",
    "no: check the slug, and whose key it is",
  ],
  session_not_found: [
    "No session of the key's organisation and mode has this id or caller.",
    "no: check the id, and the mode of the key: test keys see test sessions only",
  ],
  method_not_allowed: ["The path exists; `Allow` names its methods.", "no: use a method of `Allow`"],
  timed_out: ["The request's head did not come within 10 s, or all of it within 15 s; the connection is closed.", "yes, all of it at once"],
  session_not_cancellable: ["Only PENDING and COLLECTING sessions can be cancelled. The answer names the status.", "no: read the session"],
  payment_in_progress: ["The card is at the gateway at this moment, so the session can no longer be cancelled.", "no: read the session"],
  charge_in_progress: [
    "A card of this widget session is at the gateway, or the gateway's answer was lost and is being searched for. It is never charged a second time.",
    "no: wait until the session is final",
  ],
  session_over: ["The widget session is final: paid, failed, expired, cancelled or abandoned.", "no: make a new session"],
  idempotency_key_in_use: ["The first request with this key is not finished.", "yes, after a second"],
  body_too_large: [
    "The body is longer than 64 KiB, or 32 KiB for a widget's charge, or 8 MiB for a voice platform's request.",
    "no: shorten `memory` or `description`",
  ],
  uri_too_long: ["The request's address is longer than 8 KiB.", "no: shorten the query"],
  unsupported_encoding: ["The body is compressed.", "no: send it uncompressed"],
  headers_too_large: ["More than 16 KiB or 100 headers.", "no: send fewer headers; look at what a proxy adds"],
  rate_limited: [
    "Too many requests from this address on this endpoint, or too many wrong keys; for too many open streams the answer says so.",
    "yes, after `Retry-After`",
  ],
  internal: ["A fault of the service. `X-Request-Id` finds it in the log.", "yes, with an `Idempotency-Key`"],
  unavailable: ["The database cannot be reached.", "yes, after `Retry-After`"],
};

/** What a code in a session's `error` means for the merchant. The caller's sentence and the message come from the tables. */
const MEANING: Readonly<Record<DeclineCode, string>> = {
  card_declined: "The issuer refused and gave no reason.",
  insufficient_funds: "The account does not cover the amount.",
  expired_card: "The issuer says that the card has expired.",
  incorrect_number: "There is no such card.",
  incorrect_cvc: "The security code does not fit the card.",
  incorrect_zip: "The ZIP does not fit the card, and the gateway is set to refuse that.",
  invalid_expiry: "The expiry date does not fit the card.",
  card_not_supported: "The merchant's account does not take this brand, or the card does not take this kind of payment.",
  do_not_honor: "The issuer refused; the cardholder can ask the issuer why.",
  lost_or_stolen: "The card is reported. The caller is not told.",
  fraud_suspected: "Gateway or issuer suspect fraud. The caller is not told.",
  held_for_review:
    "The gateway holds the payment for a person to decide. The transaction's id is in `processor`; decide there, never charge again before.",
  limit_exceeded: "A limit of the card or of the merchant's account.",
  authentication_required: "The issuer asks for 3-D Secure, which a phone call cannot give.",
  duplicate_transaction: "The gateway saw the same payment a short time ago. Look there before asking for another.",
  processing_error: "The gateway failed and says that nothing was charged.",
  gateway_unavailable: "The gateway could not be reached; nothing was sent.",
  gateway_credentials_invalid: "The project's credentials are missing or were refused: see the apply file.",
  gateway_misconfigured: "The merchant's account cannot do this payment: currency, mode or a missing feature.",
  outcome_unknown: "The answer was lost and the gateway's records did not settle it within ten minutes. Look there before charging again.",
  webhook_gateway_error: "Card forwarding: no valid answer within 30 seconds. Your endpoint may have acted: look up the session id there.",
  attempts_exhausted: "The caller's entries never made a valid card.",
};

/** What the merchant does about it. */
const ACTION: Readonly<Record<DeclineCode, string>> = {
  card_declined: "Ask for another card in a new session.",
  insufficient_funds: "Ask for another card, or another amount, in a new session.",
  expired_card: "Ask for another card in a new session.",
  incorrect_number: "Ask again in a new session.",
  incorrect_cvc: "Ask again in a new session.",
  incorrect_zip: "Ask again in a new session, with the ZIP of the card's statements.",
  invalid_expiry: "Ask again in a new session.",
  card_not_supported: "Ask for another card; enable the brand at the gateway.",
  do_not_honor: "Ask for another card, or have the cardholder call the issuer.",
  lost_or_stolen: "Ask for another card in a new session; do not say why.",
  fraud_suspected: "Look at the gateway's fraud rules; do not say why.",
  held_for_review: "Decide at the gateway.",
  limit_exceeded: "Ask for another card, or raise the account's limit.",
  authentication_required: "Take another card, or the payment over the web.",
  duplicate_transaction: "Find the first payment at the gateway.",
  processing_error: "Try again in a new session; if it stays, ask the gateway.",
  gateway_unavailable: "Try again in a new session.",
  gateway_credentials_invalid: "Correct the credentials and apply.",
  gateway_misconfigured: "The log's `reason` names what is missing; set it up at the gateway.",
  outcome_unknown: "Find the payment at the gateway by its reference before charging again.",
  webhook_gateway_error: "Look up the session id on your side before charging again; docs/card-forwarding.md has each cause.",
  attempts_exhausted: "Start again in a new session.",
};

/** One of each kind of fault, with its words as they are for some bound. */
const ITEMS: readonly Fault[] = [
  FAULTS.missing,
  FAULTS.jsonInvalid,
  FAULTS.notAnObject,
  FAULTS.stringType,
  FAULTS.stringUnicode,
  FAULTS.tooLong(500),
  FAULTS.tooShort(1),
  FAULTS.pattern(/^acct_[A-Za-z0-9]+$/),
  FAULTS.choice(["charge", "tokenize"]),
  FAULTS.decimalType,
  FAULTS.decimalParsing,
  FAULTS.finite,
  FAULTS.decimalPlaces(2),
  FAULTS.atLeast(0),
  FAULTS.moreThan(0),
  FAULTS.atMostOfAny("999999.99"),
  FAULTS.intType,
  FAULTS.intFromFloat,
  FAULTS.intParsing,
  FAULTS.uuid("invalid length: expected length 32 for simple format, found 3"),
  FAULTS.value("caller must be a phone number in E.164 format, such as +14155550100"),
  FAULTS.gatewayNotConfigured,
  FAULTS.callbackNotAllowed,
];

/** What to do about each type. */
const ITEM_ACTION: Readonly<Record<string, string>> = {
  missing: "Send the field.",
  json_invalid: "Send well-formed JSON with `Content-Type: application/json`; `loc` has the place of the fault.",
  model_attributes_type: "Send a JSON object; the body's with `Content-Type: application/json`.",
  string_type: "Send text in quotes, not a number or null.",
  string_unicode: "Send UTF-8 without NUL and lone surrogates.",
  string_too_long: "Shorten it; the bound counts characters, or bytes where it says so.",
  string_too_short: "Send at least that many characters.",
  string_pattern_mismatch: "Match the pattern.",
  enum: "Send one of the named values.",
  decimal_type: "Send a number, or a number as text.",
  decimal_parsing: "Send plain decimals: `49.95`, no currency sign, no thousands separator.",
  finite_number: "Send a finite number.",
  decimal_max_places: "Round it yourself: the service does so only where its operator chose it (`AMOUNT_SUBCENT`).",
  greater_than_equal: "Send no less than the bound.",
  greater_than: "Send more than the bound; 0 is for mode `tokenize`.",
  less_than_equal: "Send no more than the bound.",
  int_type: "Send a JSON number.",
  int_from_float: "Send a whole number of minor units.",
  int_parsing: "Send a whole number.",
  uuid_parsing: "Send the id as the service gave it.",
  value_error: "Do as the words say.",
  gateway_not_configured: "Configure the gateway in the apply file, for the mode of the key; docs/gateways.md has the fields.",
  callback_not_allowed: "Add the destination to the project's `voice.transfer.allow`.",
};

/** The types that the page explains, for the test that none is missing. */
export const ITEM_TYPES: ReadonlySet<string> = new Set(ITEMS.map(({ type }) => type));

/** Two of them end a call in their own way. */
const heard = (code: DeclineCode) =>
  (code === "outcome_unknown" ? CLOSING.unknown_outcome : code === "attempts_exhausted" ? CLOSING.too_many_tries : declined("charge", code))
    .map((id) => EN_US.sentences[id])
    .join(" ");

/** docs/errors.md, from the tables that the service answers with. */
export function renderErrors(): string {
  const http = Object.entries(ERRORS).map(([code, { status, detail }]) => {
    const [meaning, again] = HTTP[code as ErrorCode];
    return row(String(status), detail, meaning, again);
  });
  const items = ITEMS.map(({ type, msg }) => row(`\`${type}\``, msg, ITEM_ACTION[type] ?? ""));
  const declines = Object.entries(DECLINES).map(([code, { message, callerMayRetry, fix }]) => {
    const retry = callerMayRetry ? `yes: ${fix === "number" ? "another card" : fix}` : "no";
    return row(`\`${code}\``, MEANING[code as DeclineCode], ACTION[code as DeclineCode], message, heard(code as DeclineCode), retry);
  });
  return `# Errors

Generated from \`src/kernel/errors.ts\`, \`src/kernel/payment.ts\` and the caller's sentences by \`npm run pages\`; a test keeps it current.

## A request was refused

The answer has \`detail\`: these words, or for a 422 the list of the next section. \`X-Request-Id\` is on every answer.

| status | detail | meaning | send it again? else what to do |
|---|---|---|---|
${http.join("\n")}

## A request does not fit (422)

\`detail\` is a list of all faults at once, each with \`loc\` (part of the request, then the path to the field), \`msg\` and \`type\`. Branch on \`type\`; the words may carry
a bound. The value that was sent is never repeated. Sending the same again never helps.

| type | msg, for some bound | what to do |
|---|---|---|
${items.join("\n")}

## A payment did not happen

The session is \`payment-failed\`, and \`error.code\` in session and status webhook is one of these. With card forwarding it can be a code of your own, \`error_code\` of
your answer, with your words; else \`error.message\` are the words below, whatever the gateway said: those stand with the attempt (\`voicetill sessions show ID\`). "Retry" is what happens inside the call: after the fault the caller may give the card again, three times in all, and only the last
decline ends the session. The sentence is what the caller hears when it ends it, in charge mode.

| code | meaning | what to do | error.message | the caller hears | retry in the call? |
|---|---|---|---|---|---|
${declines.join("\n")}
`;
}
