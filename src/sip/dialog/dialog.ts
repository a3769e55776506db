import { type Address, parseAddress } from "../grammar/address.ts";
import { HeaderFields } from "../grammar/header-fields.ts";
import { SipRequest, type SipResponse } from "../grammar/message.ts";
import { SipUri, type Uri } from "../grammar/uri.ts";

/** A dialog as one end sees it (RFC 3261 section 12). */
interface DialogId {
  callId: string;
  localTag: string;
  /** "" for RFC 2543 peers, who may have none. */
  remoteTag: string;
}

/** The key under which a dialog is kept. */
export function dialogKey({ callId, localTag, remoteTag }: DialogId): string {
  return [callId, localTag, remoteTag].join("\n");
}

/** The dialog a received request claims to belong to. */
export function dialogOf(request: SipRequest): DialogId {
  return { callId: request.callId, localTag: request.toTag ?? "", remoteTag: request.fromTag ?? "" };
}

interface DialogState {
  readonly id: DialogId;
  /** From and To of our requests, octets with their tags. */
  readonly local: string;
  readonly remote: string;
  /** Route values of our requests, first hop first. */
  readonly routes: readonly string[];
  target: SipUri;
  localCseq: number;
  remoteCseq: number | null;
}

/** The state of a dialog: identity, route set, remote target and sequence numbers. It makes our requests and judges theirs. */
export class Dialog {
  readonly #state: DialogState;

  constructor(state: DialogState) {
    this.#state = state;
  }

  get id(): DialogId {
    return this.#state.id;
  }

  /** The UAS side (section 12.1.1); `target` is the INVITE's Contact. */
  static uas(invite: SipRequest, localTag: string, target: SipUri): Dialog {
    return new Dialog({
      id: { callId: invite.callId, localTag, remoteTag: invite.fromTag ?? "" },
      local: `${invite.fields.first("to") ?? ""};tag=${localTag}`,
      remote: invite.fields.first("from") ?? "",
      routes: invite.fields.list("record-route"),
      target,
      localCseq: 0,
      remoteCseq: invite.cseq.number,
    });
  }

  /** The UAC side (section 12.1.2); `target` is the response's Contact, `routes` its Record-Route. */
  static uac(
    invite: SipRequest,
    response: SipResponse,
    target: SipUri,
    routes: readonly string[] = response.fields.list("record-route").toReversed(),
  ): Dialog {
    return new Dialog({
      id: { callId: invite.callId, localTag: invite.fromTag ?? "", remoteTag: response.toTag ?? "" },
      local: invite.fields.first("from") ?? "",
      remote: response.fields.first("to") ?? "",
      routes,
      target,
      localCseq: invite.cseq.number,
      remoteCseq: null,
    });
  }

  /** Where our requests go: the first route, else the remote target (section 12.2.1.1). */
  get nextHop(): Uri {
    return this.nextHopTo(this.#state.target);
  }

  /** The same, were this the remote target. */
  nextHopTo(target: SipUri): Uri {
    const [first] = this.#state.routes;
    return first === undefined ? target : (routeUri(first)?.uri ?? target);
  }

  /** A request inside the dialog, without Via. ACK takes the number of its INVITE, any other method the next one. */
  request(method: string, cseq: number | null = null): SipRequest {
    this.#state.localCseq = cseq === null ? this.#state.localCseq + 1 : Math.max(this.#state.localCseq, cseq);
    const [first, ...others] = this.#state.routes;
    const strict = first === undefined ? null : strictRouter(first);
    // A first hop without "lr" is an RFC 2543 strict router: it wants itself in the Request-URI and the target last.
    const routes = strict ? [...others, `<${this.#state.target.requestUri}>`] : this.#state.routes;
    const fields = new HeaderFields().add("Max-Forwards", "70");
    for (const route of routes) fields.add("Route", route);
    fields
      .add("From", this.#state.local)
      .add("To", this.#state.remote)
      .add("Call-ID", this.id.callId)
      .add("CSeq", `${cseq ?? this.#state.localCseq} ${method}`);
    return new SipRequest(method, strict ?? this.#state.target.requestUri, fields);
  }

  /** A request of ours has gone out with this number, which credentials may have raised (section 22.2). */
  sent(cseq: number): void {
    this.#state.localCseq = Math.max(this.#state.localCseq, cseq);
  }

  /** Whether a received request is in order (section 12.2.2); its number is remembered when it is. */
  accepts(request: SipRequest): boolean {
    if (this.#state.remoteCseq !== null && request.cseq.number < this.#state.remoteCseq) return false;
    this.#state.remoteCseq = request.cseq.number;
    return true;
  }

  /** A target refresh request or its 2xx brought a Contact (section 12.2). */
  refreshTarget(message: SipRequest | SipResponse): void {
    this.#state.target = contactOf(message) ?? this.#state.target;
  }
}

/** The URI of the first Contact, null when there is none or it is no SIP URI. */
export function contactOf(message: SipRequest | SipResponse): SipUri | null {
  const uri = message.addresses("contact")[0]?.uri;
  return uri instanceof SipUri ? uri : null;
}

/** Where an INVITE wants the requests of its dialog: its Contact, or its From when it has none, as RFC 2543 allowed. */
export function remoteTargetOf(invite: SipRequest): SipUri | null {
  if (invite.fields.first("contact") !== null) return contactOf(invite);
  return invite.from.uri instanceof SipUri ? invite.from.uri : null;
}

function strictRouter(route: string): string | null {
  const uri = routeUri(route)?.uri;
  return uri instanceof SipUri && uri.params.get("lr") === null ? uri.requestUri : null;
}

function routeUri(route: string): Address | null {
  try {
    return parseAddress(route);
  } catch {
    return null;
  }
}
