import { isUnspecified, type RemoteMedia } from "./sdp.ts";
import type { Address } from "./source-lock.ts";

/** Where our reports go: where the peer's RTCP came from last, because behind NAT that is not where its description says; before that where it says. */
export class RtcpTarget {
  #source: Address | null = null;
  /** Where they went before the peer moved: RTCP that is still on its way from there leads nothing back. */
  #former: Address | null = null;

  /** With the RTP it goes to `rtpTarget`; null: nowhere. */
  of(remote: RemoteMedia, rtpTarget: Address): Address | null {
    if (isUnspecified(remote.host)) return null;
    if (remote.rtcp === "muxed") return rtpTarget;
    const target = this.#source ?? remote.rtcp ?? { host: remote.host, port: remote.port + 1 };
    return target.port > 65_535 ? null : target;
  }

  /** A new description; `former`: where the reports went, if the peer has moved. */
  renegotiate(former: Address | null): void {
    this.#source = null;
    this.#former = former ?? this.#former;
  }

  /** RTCP of the peer's came from there. */
  learn(source: Address): void {
    if (this.#former?.host !== source.host || this.#former.port !== source.port) this.#source = source;
  }
}
