/** Octets from outside that are not SIP. `status` is what a request carrying them is answered with (RFC 3261 section 21.4). */
export class SipSyntaxError extends Error {
  readonly status: number;

  constructor(reason: string, status = 400) {
    super(reason);
    this.name = "SipSyntaxError";
    this.status = status;
  }
}
