/** Reason phrases (RFC 3261 section 21 and the registry). */
const REASONS: Readonly<Record<number, string>> = {
  100: "Trying",
  180: "Ringing",
  183: "Session Progress",
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  410: "Gone",
  413: "Request Entity Too Large",
  414: "Request-URI Too Long",
  415: "Unsupported Media Type",
  416: "Unsupported URI Scheme",
  420: "Bad Extension",
  422: "Session Interval Too Small",
  469: "Bad Info Package",
  480: "Temporarily Unavailable",
  481: "Call/Transaction Does Not Exist",
  482: "Loop Detected",
  486: "Busy Here",
  487: "Request Terminated",
  488: "Not Acceptable Here",
  491: "Request Pending",
  500: "Server Internal Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  504: "Server Time-out",
  505: "Version Not Supported",
  513: "Message Too Large",
  600: "Busy Everywhere",
  603: "Decline",
};

const CLASSES = ["", "Trying", "OK", "Redirect", "Client Error", "Server Error", "Declined"];

/** The phrase for a status; for one that is not in the table, its class's. */
export function reasonPhrase(status: number): string {
  return REASONS[status] ?? CLASSES[Math.floor(status / 100)] ?? "";
}
