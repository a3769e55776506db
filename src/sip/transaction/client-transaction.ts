import type { Clock } from "#src/kernel/clock.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { SipRequest, type SipResponse } from "../grammar/message.ts";
import type { Flow } from "../transport/transport.ts";
import { INVITE_CLIENT } from "./invite-client.ts";
import { MachineRun } from "./machine.ts";
import { NON_INVITE_CLIENT } from "./non-invite-client.ts";

/** Whoever sent the request. */
export interface ClientUser {
  /** Every response that is news: provisionals, the final one, and each further 2xx to an INVITE. */
  onResponse(response: SipResponse): void;
  /** No answer came, or the request could not be sent. */
  onFailed(why: "timeout" | "transport"): void;
}

/** A request sent and the responses it gets. The request carries our Via already. */
export class ClientTransaction {
  readonly request: SipRequest;
  readonly flow: Flow;
  readonly #user: ClientUser;
  readonly #terminated: () => void;
  readonly #run: MachineRun<SipRequest | SipResponse>;

  constructor(request: SipRequest, flow: Flow, user: ClientUser, clock: Clock, terminated: () => void) {
    this.request = request;
    this.flow = flow;
    this.#user = user;
    const forget = flow.onClose(() => this.#run.handle("error"));
    this.#terminated = () => {
      forget();
      terminated();
    };
    const failed = () => this.#run.handle("error");
    const actions = {
      send: (message: SipRequest | SipResponse) => void flow.send(message.toBytes()).catch(failed),
      deliver: (message: SipRequest | SipResponse) => user.onResponse(message as SipResponse),
      // The response may have come by another connection than the request left by.
      acknowledge: (message: SipRequest | SipResponse) =>
        void flow
          .renewed()
          .then((way) => way.send(acknowledgement(request, message as SipResponse).toBytes()))
          .catch(failed),
      trying: () => {},
      failed: (why: "timeout" | "transport") => user.onFailed(why),
      terminated: this.#terminated,
    };
    const machine = request.method === "INVITE" ? INVITE_CLIENT : NON_INVITE_CLIENT;
    this.#run = new MachineRun(machine, actions, clock, flow.reliable);
  }

  begin(): void {
    this.#run.begin(this.request);
  }

  receive(response: SipResponse): void {
    this.#run.handle(response.status < 200 ? "provisional" : response.status < 300 ? "success" : "failure", response);
  }

  /** Gives up waiting (section 9.1, and when the user agent stops): to its user the request has failed. */
  abandon(): void {
    this.#run.stop();
    this.#terminated();
    this.#user.onFailed("timeout");
  }
}

/** The ACK to a non-2xx response: part of the INVITE's transaction (RFC 3261 section 17.1.1.3). */
function acknowledgement(invite: SipRequest, response: SipResponse): SipRequest {
  return hopByHop("ACK", invite, response.fields.first("to") ?? "");
}

/** The CANCEL of an INVITE still unanswered (section 9.1). */
export function cancellation(invite: SipRequest): SipRequest {
  return hopByHop("CANCEL", invite, invite.fields.first("to") ?? "");
}

/** A request that follows an INVITE hop by hop: same Via, route, Call-ID and CSeq number. */
function hopByHop(method: "ACK" | "CANCEL", invite: SipRequest, to: string): SipRequest {
  const fields = new HeaderFields()
    .add("Via", invite.fields.first("via") ?? "")
    .add("Max-Forwards", "70")
    .copy("Route", invite.fields)
    .copy("From", invite.fields)
    .add("To", to)
    .copy("Call-ID", invite.fields)
    .add("CSeq", `${invite.cseq.number} ${method}`);
  return new SipRequest(method, invite.requestUri, fields);
}
