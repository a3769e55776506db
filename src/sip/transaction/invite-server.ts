import type { Machine } from "./machine.ts";

/**
 * The INVITE server transaction (RFC 3261 section 17.2.1) with the Accepted state of RFC 6026 section 7.1:
 * after a 2xx it stays to absorb retransmissions of the INVITE, and lets the user retransmit the 2xx.
 */
export const INVITE_SERVER: Machine = {
  begin: ["trying", "start 100", "deliver"],
  states: {
    trying: {
      "100": ["proceeding", "trying"],
      provisional: ["proceeding", "send"],
      success: ["accepted", "send", "start L"],
      failure: ["completed", "send", "start G", "start H"],
      error: ["terminated", "transport failed"],
    },
    proceeding: {
      request: ["proceeding", "resend"],
      provisional: ["proceeding", "send"],
      success: ["accepted", "send", "start L"],
      failure: ["completed", "send", "start G", "start H"],
      error: ["terminated", "transport failed"],
    },
    completed: {
      request: ["completed", "resend"],
      G: ["completed", "resend", "start G"],
      H: ["terminated", "timeout"],
      ack: ["confirmed", "start I"],
      error: ["terminated", "transport failed"],
    },
    confirmed: {
      I: ["terminated"],
    },
    accepted: {
      success: ["accepted", "send"],
      ack: ["accepted", "deliver"],
      error: ["accepted", "transport failed"],
      L: ["terminated"],
    },
  },
};
