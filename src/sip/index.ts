/** SIP user agent (RFC 3261): calls in and out over UDP and TCP. */
export type { SipRequest } from "./grammar/message.ts";
export type { CallDialog } from "./ua/call-dialog.ts";
export type { IncomingCall } from "./ua/incoming-call.ts";
export type { OutgoingCall } from "./ua/outgoing-call.ts";
export { createUserAgent, type UserAgent } from "./ua/user-agent.ts";
