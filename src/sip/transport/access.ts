import { BlockList, isIP } from "node:net";
import type { Clock } from "#src/kernel/clock.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { SourceLimit } from "./source-limit.ts";
import type { Admission, Flow } from "./transport.ts";

/** Datagrams, connections and messages by these of one trunk in a second: some hundred calls set up in each. */
const KNOWN_PER_SECOND = 5_000;
/** Of one guest, and of all guests together, whose addresses may be forged. */
const GUEST_PER_SECOND = 100;
const GUESTS_PER_SECOND = 500;
/** A handshake costs this side a signature. */
const GUEST_HANDSHAKES_PER_SECOND = 5;
const GUESTS_HANDSHAKES_PER_SECOND = 25;

export interface AccessOptions {
  /** IP addresses and CIDRs. */
  trunks: readonly string[];
  /** Whether others may prove who they are by a password, and by a certificate. */
  byPassword: boolean;
  byCertificate: boolean;
}

/**
 * Who may talk to us (S-80, S-82): the trunks, for the length of a call those we have called ourselves, and where the operator has given
 * out passwords or certificates those who want to show one. Everybody else is an unknown peer and gets no answer to anything.
 */
export class Access {
  readonly #trunks = new BlockList();
  readonly #called = new Map<string, number>();
  readonly #options: AccessOptions;
  readonly #known: SourceLimit;
  readonly #guest: readonly [each: SourceLimit, all: SourceLimit];
  /** Of one guest by connections: his own, so that whoever forges datagrams takes nothing from him. */
  readonly #streamed: SourceLimit;
  readonly #handshake: readonly [each: SourceLimit, all: SourceLimit];

  /** Throws OperatorError naming the trunk that is no address. */
  constructor(options: AccessOptions, clock: Clock) {
    this.#options = options;
    this.#known = new SourceLimit(clock, KNOWN_PER_SECOND);
    this.#guest = [new SourceLimit(clock, GUEST_PER_SECOND), new SourceLimit(clock, GUESTS_PER_SECOND)];
    this.#streamed = new SourceLimit(clock, GUEST_PER_SECOND);
    this.#handshake = [new SourceLimit(clock, GUEST_HANDSHAKES_PER_SECOND), new SourceLimit(clock, GUESTS_HANDSHAKES_PER_SECOND)];
    for (const trunk of options.trunks) {
      const [address = "", prefix] = trunk.split("/");
      const family = isIP(address) === 6 ? "ipv6" : "ipv4";
      try {
        if (isIP(address) === 0 || prefix === "") throw new RangeError("not an address");
        if (prefix === undefined) this.#trunks.addAddress(address, family);
        else this.#trunks.addSubnet(address, Number(prefix), family);
      } catch (cause) {
        throw new OperatorError(`"${trunk}" is not an IP address or CIDR of a SIP trunk`, { cause });
      }
    }
  }

  /** Whether the address may place calls. */
  isTrunk(address: string): boolean {
    return this.#trunks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  }

  /** Whether the peer may place calls by its address or its certificate. */
  mayCall({ certified, address }: Pick<Flow, "certified" | "address">): boolean {
    return certified || this.isTrunk(address);
  }

  /** Whether the address may send anything without proof. */
  knows(address: string): boolean {
    return this.#called.has(address) || this.isTrunk(address);
  }

  /** Of one datagram or connection, which it counts. */
  admits(address: string): Admission {
    return this.#admission(address, this.#options.byPassword, this.#guest);
  }

  /** Whether one more message may come by a connection that was admitted; counts it. */
  admitsStreamed(address: string): boolean {
    return (this.knows(address) ? this.#known : this.#streamed).allows(address);
  }

  /** Of one TLS handshake, which it counts. */
  admitsHandshake(address: string): Admission {
    return this.#admission(address, this.#options.byPassword || this.#options.byCertificate, this.#handshake);
  }

  /** Admits an address we are sending to, until the returned function is called. */
  expect(address: string): () => void {
    this.#called.set(address, (this.#called.get(address) ?? 0) + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const left = (this.#called.get(address) ?? 1) - 1;
      if (left > 0) this.#called.set(address, left);
      else this.#called.delete(address);
    };
  }

  #admission(address: string, mayProve: boolean, [each, all]: readonly [SourceLimit, SourceLimit]): Admission {
    // Whom we have called keeps no trunk from connecting.
    if (this.knows(address)) return this.#known.allows(address) ? (this.isTrunk(address) ? "known" : "guest") : "refused";
    return mayProve && each.allows(address) && all.allows("") ? "guest" : "refused";
  }
}
