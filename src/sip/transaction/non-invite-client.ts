import type { Machine } from "./machine.ts";

/** The non-INVITE client transaction (RFC 3261 section 17.1.2). */
export const NON_INVITE_CLIENT: Machine = {
  begin: ["trying", "send", "start E", "start F"],
  states: {
    trying: {
      E: ["trying", "resend", "start E"],
      F: ["terminated", "timeout"],
      provisional: ["proceeding", "deliver"],
      success: ["completed", "start K", "deliver"],
      failure: ["completed", "start K", "deliver"],
      error: ["terminated", "transport failed"],
    },
    proceeding: {
      E: ["proceeding", "resend", "slow E"],
      F: ["terminated", "timeout"],
      provisional: ["proceeding", "deliver"],
      success: ["completed", "start K", "deliver"],
      failure: ["completed", "start K", "deliver"],
      error: ["terminated", "transport failed"],
    },
    completed: {
      K: ["terminated"],
    },
  },
};
