/** SIP user agent (RFC 3261): calls in and out over UDP and TCP. */
export type { Address } from "./grammar/address.ts";
export type { SipRequest } from "./grammar/message.ts";
export { SipSyntaxError } from "./grammar/syntax-error.ts";
export type { Uri } from "./grammar/uri.ts";
export type { SipLog, SipLogFields } from "./ua/agent.ts";
export type { CallDialog, EndReason } from "./ua/call-dialog.ts";
export type { Credentials } from "./ua/digest.ts";
export { CallOver, InviteFailed, NoAck } from "./ua/errors.ts";
export type { IncomingCall } from "./ua/incoming-call.ts";
export type { InviteOptions, OutgoingCall } from "./ua/outgoing-call.ts";
export { createUserAgent, type UserAgent, type UserAgentOptions } from "./ua/user-agent.ts";
