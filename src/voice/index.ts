/** Calls: matching, collection, payment and transfer-back of whoever calls, from the INVITE to the hang-up. */
export { AdmissionControl } from "./admission-control.ts";
export { type CallService, createCallService } from "./call-service.ts";
export { deleteOldUnmatched, listUnmatched } from "./unmatched.ts";
