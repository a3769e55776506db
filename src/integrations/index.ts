export { ACKNOWLEDGED, legacyResult, noDestination, toolResults, transferDestination } from "./alpha/answer.ts";
export { type CallControl, createCallControl } from "./alpha/control.ts";
export { type AlphaEvent, readAlphaEvent } from "./alpha/event.ts";
export { isAlphaSecret } from "./alpha/secret.ts";
export { betaAnswer } from "./beta/answer.ts";
export { type BetaRequest, readBetaRequest } from "./beta/request.ts";
export { isSignedByBeta } from "./beta/signature.ts";
export {
  callTool,
  COLLECT_PAYMENT,
  GET_PAYMENT_RESULT,
  type CreatedSession,
  type RefusedSession,
  sessionToTransfer,
  type ToolSessions,
  waitingSession,
} from "./tools.ts";
export { type Configuration, configurationFor, type Setting } from "./configuration.ts";
export type { Delivery, Json, Platform, PlatformCall, Terms, ToolAnswer, ToolCall } from "./types.ts";
