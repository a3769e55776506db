export { ACKNOWLEDGED, legacyResult, noDestination, toolResults, transferDestination } from "./alpha/answer.ts";
export { createCallControl } from "./alpha/control.ts";
export { readAlphaEvent } from "./alpha/event.ts";
export { isAlphaSecret } from "./alpha/secret.ts";
export { betaAnswer } from "./beta/answer.ts";
export { readBetaRequest } from "./beta/request.ts";
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
export { type Configuration, configurationFor } from "./configuration.ts";
export type { Delivery, Platform, ToolAnswer, ToolCall } from "./types.ts";
