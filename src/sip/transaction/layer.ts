import type { Clock } from "#src/kernel/clock.ts";
import type { SipRequest, SipResponse } from "../grammar/message.ts";
import type { Flow } from "../transport/transport.ts";
import { ClientTransaction, type ClientUser } from "./client-transaction.ts";
import { clientTransactionKey, mergedRequestKey, serverTransactionKey } from "./transaction-key.ts";
import { ServerTransaction } from "./server-transaction.ts";

/** The core above the transactions (RFC 3261 section 5), and its way down to the transports. */
export interface TransactionUser {
  send(flow: Flow, request: SipRequest, response: SipResponse): Promise<void>;
  onRequest(transaction: ServerTransaction): void;
  /** An ACK to a 2xx. */
  onAck(ack: SipRequest): void;
  /** `invite` is what is to be cancelled, null when it is unknown. */
  onCancel(cancel: ServerTransaction, invite: ServerTransaction | null): void;
}

/** Matches messages to transactions and makes new ones (RFC 3261 section 17). */
export class TransactionLayer {
  readonly #user: TransactionUser;
  readonly #clock: Clock;
  readonly #servers = new Map<string, ServerTransaction>();
  readonly #merges = new Map<string, string>();
  readonly #clients = new Map<string, ClientTransaction>();

  constructor(user: TransactionUser, clock: Clock) {
    this.#user = user;
    this.#clock = clock;
  }

  get size(): number {
    return this.#servers.size + this.#clients.size;
  }

  /** Whether the request belongs to a transaction there is: a retransmission, an ACK to a non-2xx, or a CANCEL. */
  knows(request: SipRequest, { protocol }: Flow): boolean {
    if (this.#servers.has(serverTransactionKey(request, protocol))) return true;
    return request.method === "CANCEL" && this.#servers.has(serverTransactionKey(request, protocol, "INVITE"));
  }

  receiveRequest(request: SipRequest, flow: Flow): void {
    const key = serverTransactionKey(request, flow.protocol);
    const known = this.#servers.get(key);
    if (known) {
      known.receive(request, flow);
      // An acknowledged refusal is over: what is left of it absorbs further copies of the ACK.
      if (request.method === "ACK" && (known.finalStatus ?? 0) >= 300) this.#unmerge(known);
    } else if (request.method === "ACK") this.#user.onAck(request);
    else this.#create(request, flow, key);
  }

  /** A response without a transaction is dropped (section 18.1.2 leaves it to the core, which has no use for it). */
  receiveResponse(response: SipResponse): void {
    this.#clients.get(clientTransactionKey(response))?.receive(response);
  }

  /** Sends `request`, which carries our Via, by `flow`. */
  request(request: SipRequest, flow: Flow, user: ClientUser): ClientTransaction {
    const key = clientTransactionKey(request);
    const transaction = new ClientTransaction(request, flow, user, this.#clock, () => {
      if (this.#clients.get(key) === transaction) this.#clients.delete(key);
    });
    this.#clients.set(key, transaction);
    transaction.begin();
    return transaction;
  }

  /** Ends everything at once; for shutting down. */
  stop(): void {
    for (const transaction of this.#servers.values()) transaction.stop();
    for (const transaction of this.#clients.values()) transaction.abandon();
    this.#servers.clear();
    this.#merges.clear();
  }

  #create(request: SipRequest, flow: Flow, key: string): void {
    const merge = mergedRequestKey(request, flow.protocol);
    // Only requests outside of dialogs can be merged (section 8.2.2.2).
    const mergeable = request.toTag === null && request.method !== "CANCEL";
    const merged = mergeable && this.#merges.has(merge);
    const hooks = {
      send: (flow: Flow, request: SipRequest, response: SipResponse) => this.#user.send(flow, request, response),
      onRequest: (transaction: ServerTransaction) => this.#deliver(transaction),
      onAck: (ack: SipRequest) => this.#user.onAck(ack),
      terminated: (transaction: ServerTransaction) => {
        this.#servers.delete(key);
        this.#unmerge(transaction);
      },
    };
    const transaction = new ServerTransaction(request, flow, key, merged, hooks, this.#clock);
    this.#servers.set(key, transaction);
    if (mergeable && !merged) this.#merges.set(merge, key);
    transaction.begin();
  }

  #unmerge({ request, flow, key }: ServerTransaction): void {
    const merge = mergedRequestKey(request, flow.protocol);
    if (this.#merges.get(merge) === key) this.#merges.delete(merge);
  }

  #deliver(transaction: ServerTransaction): void {
    if (transaction.request.method !== "CANCEL") this.#user.onRequest(transaction);
    else
      this.#user.onCancel(
        transaction,
        this.#servers.get(serverTransactionKey(transaction.request, transaction.flow.protocol, "INVITE")) ?? null,
      );
  }
}
