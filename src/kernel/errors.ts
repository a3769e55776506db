/**
 * Every fault the service can answer with, in one table: the code, the HTTP status where it reaches HTTP, and the message.
 * Declines are not here: a decline is a value (`payments/`), an AppError is an internal fault or a refused request.
 */
export const ERRORS = {
  bad_request: { status: 400, detail: "Bad Request" },
  not_authenticated: { status: 401, detail: "Missing Authorization header" },
  invalid_key: { status: 401, detail: "Invalid or expired API key" },
  invalid_platform_secret: { status: 401, detail: "The voice platform's secret or signature is missing or wrong" },
  https_required: {
    status: 403,
    detail:
      "HTTPS is required. Where a proxy ends TLS before this service: set TRUSTED_PROXIES to its address, and let it send X-Forwarded-Proto: https",
  },
  not_the_frame: { status: 403, detail: "The charge must come from the widget's frame, with its nonce" },
  missing_scope: { status: 403, detail: "API key lacks the required scope" },
  not_found: { status: 404, detail: "Not Found" },
  project_not_found: { status: 404, detail: "Project not found" },
  session_not_found: { status: 404, detail: "Session not found" },
  method_not_allowed: { status: 405, detail: "Method Not Allowed" },
  timed_out: { status: 408, detail: "Request Timeout" },
  session_not_cancellable: { status: 409, detail: "Session cannot be cancelled" },
  payment_in_progress: { status: 409, detail: "Session cannot be cancelled (payment in progress)" },
  charge_in_progress: { status: 409, detail: "Payment already in progress" },
  session_over: { status: 410, detail: "Session is no longer available" },
  idempotency_key_in_use: { status: 409, detail: "A request with this Idempotency-Key is in progress" },
  body_too_large: { status: 413, detail: "Request body too large" },
  uri_too_long: { status: 414, detail: "URI Too Long" },
  unsupported_encoding: { status: 415, detail: "Content-Encoding is not supported" },
  headers_too_large: { status: 431, detail: "Request Header Fields Too Large" },
  rate_limited: { status: 429, detail: "Rate limit exceeded" },
  internal: { status: 500, detail: "Internal Server Error" },
  unavailable: { status: 503, detail: "Service unavailable" },
} as const satisfies Record<string, { status: number; detail: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** A fault with a place in the table. `detail` replaces the table's message where it needs a value. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;

  constructor(code: ErrorCode, detail: string = ERRORS[code].detail, options?: { cause?: unknown }) {
    super(detail, options);
    this.name = "AppError";
    this.code = code;
    this.status = ERRORS[code].status;
    this.detail = detail;
  }
}

/** The `code` that Node.js, a driver or a library gave a fault; empty where there is none. */
export function errorCode(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** A fault that the operator can mend (a bad setting, a taken port, a bad apply file): one sentence, no stack, exit status 1. */
export class OperatorError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "OperatorError";
  }
}

/** Another process has the data folder, a command perhaps, which ends soon. */
export class FolderInUse extends OperatorError {
  constructor(root: string, cause: unknown) {
    super(`DATA_DIR: the folder ${root} is in use by another voicetill process: the service that runs already, or a command.`, { cause });
  }
}
