import { SrtpReceiver, SrtpSender } from "./srtp.ts";
import type { SrtpSuite } from "./srtp-keys.ts";

/** How a stream is protected, as SDES has agreed (RFC 4568). Each key: 30 octets, master key and master salt. Never log it. */
export interface SrtpAgreement {
  suite: SrtpSuite;
  /** Ours, for what we send. */
  sendKey: Uint8Array;
  /** The peer's, for what it sends; of several one behind the other. */
  receiveKey: Uint8Array;
  /** Octets of its identifier in each of the peer's packets. Absent: none. */
  mkiBytes?: number;
}

/** Both directions of one leg, through all keys that its descriptions agree on. */
export class SrtpSession {
  #agreement: SrtpAgreement;
  #sender: SrtpSender;
  #receiver: SrtpReceiver;
  /** What left the peer before it knew of its new key's acceptance comes under the old one. */
  #former: SrtpReceiver | null = null;

  constructor(agreement: SrtpAgreement) {
    this.#agreement = agreement;
    this.#sender = new SrtpSender(agreement.suite, agreement.sendKey);
    this.#receiver = new SrtpReceiver(agreement.suite, agreement.receiveKey, agreement.mkiBytes);
  }

  /** A new description: a key that is in it as before goes on as before. */
  renew(agreement: SrtpAgreement): void {
    const { suite, sendKey, receiveKey, mkiBytes } = agreement;
    const before = this.#agreement;
    this.#agreement = agreement;
    if (suite !== before.suite || !same(sendKey, before.sendKey)) {
      const sender = new SrtpSender(suite, sendKey, this.#sender);
      this.#sender.wipe();
      this.#sender = sender;
    }
    if (suite !== before.suite || mkiBytes !== before.mkiBytes || !same(receiveKey, before.receiveKey)) {
      this.#former?.wipe();
      this.#former = this.#receiver;
      this.#receiver = new SrtpReceiver(suite, receiveKey, mkiBytes, this.#former);
    }
    wipe(before);
  }

  /** Null: it must not be sent. */
  protect(datagram: Uint8Array): Uint8Array | null {
    return this.#sender.protect(datagram);
  }

  protectRtcp(datagram: Uint8Array): Uint8Array {
    return this.#sender.protectRtcp(datagram);
  }

  /** The packet within `datagram`, decrypted in place; null when it is forged, replayed or none. */
  unprotect(datagram: Uint8Array): Uint8Array | null {
    const packet = this.#receiver.unprotect(datagram);
    if (!packet) return this.#former?.unprotect(datagram) ?? null;
    this.#former?.wipe();
    this.#former = null;
    return packet;
  }

  /** As `unprotect`, for RTCP. */
  unprotectRtcp(datagram: Uint8Array): Uint8Array | null {
    return this.#receiver.unprotectRtcp(datagram) ?? this.#former?.unprotectRtcp(datagram) ?? null;
  }

  /** Overwrites all keys. */
  wipe(): void {
    this.#sender.wipe();
    this.#receiver.wipe();
    this.#former?.wipe();
    wipe(this.#agreement);
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function wipe({ sendKey, receiveKey }: SrtpAgreement): void {
  sendKey.fill(0);
  receiveKey.fill(0);
}
