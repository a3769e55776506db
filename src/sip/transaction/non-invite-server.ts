import type { Machine } from "./machine.ts";

/** The non-INVITE server transaction (RFC 3261 section 17.2.2). */
export const NON_INVITE_SERVER: Machine = {
  begin: ["trying", "deliver"],
  states: {
    trying: {
      provisional: ["proceeding", "send"],
      success: ["completed", "send", "start J"],
      failure: ["completed", "send", "start J"],
      error: ["terminated", "transport failed"],
    },
    proceeding: {
      request: ["proceeding", "resend"],
      provisional: ["proceeding", "send"],
      success: ["completed", "send", "start J"],
      failure: ["completed", "send", "start J"],
      error: ["terminated", "transport failed"],
    },
    completed: {
      request: ["completed", "resend"],
      J: ["terminated"],
      error: ["terminated", "transport failed"],
    },
  },
};
