import { fromOctets } from "../grammar/octets.ts";

/** An INVITE of ours that came to nothing: the peer's final status, or 408 / 487 / 503 of our own. */
export class InviteFailed extends Error {
  readonly status: number;
  readonly reason: string;
  /** Of a 300, 301 or 302: the URIs of its Contacts, the best first. Whether to call one of them is for the caller to say. */
  readonly contacts: readonly string[];

  /** `reason`: octet string of the peer's reason phrase, or our own words. */
  constructor(status: number, reason: string, contacts: readonly string[] = []) {
    const words = fromOctets(reason);
    super(`INVITE failed: ${status}`);
    this.name = "InviteFailed";
    this.status = status;
    this.reason = words;
    this.contacts = contacts;
  }
}

/** No ACK for the 2xx, or no PRACK, came within 64*T1; a call that was answered has been ended with BYE (RFC 3261 section 13.3.1.4). */
export class NoAck extends Error {
  constructor() {
    super("nothing acknowledged the response");
    this.name = "NoAck";
  }
}

/** The caller gave up, or the call was refused, before it was answered. */
export class CallOver extends Error {
  constructor() {
    super("the call is over");
    this.name = "CallOver";
  }
}
