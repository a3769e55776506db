/** SIP user agent (RFC 3261): calls in and out over UDP, TCP and TLS. */
export type { SipRequest } from "./grammar/message.ts";
export type { CallDialog } from "./ua/call-dialog.ts";
export type { IncomingCall } from "./ua/incoming-call.ts";
export type { OutgoingCall } from "./ua/outgoing-call.ts";
export type { InviteFailed } from "./ua/errors.ts";
export { isOverTls } from "./ua/exchange.ts";
export { createUserAgent, type UserAgent } from "./ua/user-agent.ts";
export { addressesOf } from "./transport/locate.ts";
export type { TlsCertificate } from "./transport/tls.ts";
