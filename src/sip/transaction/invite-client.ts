import type { Machine } from "./machine.ts";

/** The INVITE client transaction (RFC 3261 section 17.1.1) with the Accepted state of RFC 6026 section 7.2. */
export const INVITE_CLIENT: Machine = {
  begin: ["calling", "send", "start A", "start B"],
  states: {
    calling: {
      A: ["calling", "resend", "start A"],
      B: ["terminated", "timeout"],
      provisional: ["proceeding", "deliver"],
      success: ["accepted", "start M", "deliver"],
      failure: ["completed", "acknowledge", "start D", "deliver"],
      // Whoever has read it may ring still and answer by a connection of his own: nobody waits for that, but it is acknowledged and ended.
      error: ["proceeding", "start C", "transport failed"],
    },
    proceeding: {
      // After a failure alone.
      C: ["terminated"],
      provisional: ["proceeding", "deliver"],
      success: ["accepted", "start M", "deliver"],
      failure: ["completed", "acknowledge", "start D", "deliver"],
    },
    completed: {
      failure: ["completed", "acknowledge"],
      D: ["terminated"],
      // The user has its answer already; a lost ACK is nothing it could act on.
      error: ["terminated"],
    },
    accepted: {
      success: ["accepted", "deliver"],
      M: ["terminated"],
    },
  },
};
