import { CLOSING, declinedWords } from "../src/dialog/sentences.ts";
import { FAULTS, type Fault } from "../src/api/schemas/faults.ts";
import { ERRORS, type ErrorCode } from "../src/kernel/errors.ts";
import { DECLINES, type DeclineCode } from "../src/kernel/payment.ts";

/** What an HTTP error means, and whether the same request can succeed later. */
const HTTP: Readonly<Record<ErrorCode, readonly [meaning: string, again: string]>> = {
  bad_request: ["The bytes are no HTTP request.", "no"],
  not_authenticated: ["There is no `Authorization: Bearer` header.", "no"],
  invalid_key: ["The key is unknown, expired or revoked, or not in its form.", "no"],
  https_required: [
    "The request came over plain HTTP although the service is public over HTTPS. Change the key: it was sent in clear.",
    "no",
  ],
  missing_scope: ["The key is valid, but was made without the scope that this endpoint asks for.", "no"],
  not_found: ["There is no such path.", "no"],
  project_not_found: ["No project of the key's organisation has this id or slug, or it is archived.", "no"],
  session_not_found: ["No session of the key's organisation and mode has this id or caller.", "no"],
  method_not_allowed: ["The path exists; `Allow` names its methods.", "no"],
  session_not_cancellable: ["Only PENDING and COLLECTING sessions can be cancelled. The answer names the status.", "no"],
  payment_in_progress: ["The card is at the gateway at this moment, so the session can no longer be cancelled.", "no: read the session"],
  idempotency_key_in_use: ["The first request with this key is not finished.", "yes, after a second"],
  body_too_large: ["The body is longer than 64 KiB.", "no"],
  uri_too_long: ["The request's address is longer than 8 KiB.", "no"],
  unsupported_encoding: ["The body is compressed.", "no"],
  headers_too_large: ["More than 16 KiB or 100 headers.", "no"],
  rate_limited: [
    "Too many requests from this address on this endpoint, or too many wrong keys, or too many open streams.",
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
  FAULTS.atMost("999999.99"),
  FAULTS.intParsing,
  FAULTS.uuid("invalid length: expected length 32 for simple format, found 3"),
  FAULTS.value("caller must be a phone number in E.164 format"),
  FAULTS.gatewayNotConfigured,
  FAULTS.callbackNotAllowed,
];

/** The types that the page explains, for the test that none is missing. */
export const ITEM_TYPES: ReadonlySet<string> = new Set(ITEMS.map(({ type }) => type));

/** Two of them end a call in their own way. */
const heard = (code: DeclineCode) =>
  (code === "outcome_unknown"
    ? CLOSING.unknown_outcome
    : code === "attempts_exhausted"
      ? CLOSING.too_many_tries
      : declinedWords("charge", code)
  ).join(" ");

const row = (...cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** docs/errors.md, from the tables that the service answers with. */
export function renderErrors(): string {
  const http = Object.entries(ERRORS).map(([code, { status, detail }]) => {
    const [meaning, again] = HTTP[code as ErrorCode];
    return row(String(status), detail, meaning, again);
  });
  const items = ITEMS.map(({ type, msg }) => row(`\`${type}\``, msg));
  const declines = Object.entries(DECLINES).map(([code, { message, callerMayRetry, fix }]) => {
    const retry = callerMayRetry ? `yes: ${fix === "number" ? "another card" : fix}` : "no";
    return row(`\`${code}\``, MEANING[code as DeclineCode], message, heard(code as DeclineCode), retry);
  });
  return `# Errors

Generated from \`src/kernel/errors.ts\`, \`src/kernel/payment.ts\` and the caller's sentences by \`npm run errors\`; a test keeps it current.

## A request was refused

The answer has \`detail\`: these words, or for a 422 the list of the next section. \`X-Request-Id\` is on every answer.

| status | detail | meaning | send it again? |
|---|---|---|---|
${http.join("\n")}

## A request does not fit (422)

\`detail\` is a list of all faults at once, each with \`loc\` (part of the request, then the path to the field), \`msg\` and \`type\`. Branch on \`type\`; the words may carry
a bound. The value that was sent is never repeated. Sending the same again never helps.

| type | msg, for some bound |
|---|---|
${items.join("\n")}

## A payment did not happen

The session is \`payment-failed\`, and \`error.code\` in session and status webhook is one of these. With card forwarding it can be a code of your own, \`error_code\` of
your answer, with your words. "Retry" is what happens inside the call: after the fault the caller may give the card again, three times in all, and only the last
decline ends the session. The sentence is what the caller hears when it ends it, in charge mode.

| code | meaning | error.message | the caller hears | retry in the call? |
|---|---|---|---|---|
${declines.join("\n")}
`;
}
