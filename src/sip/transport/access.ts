import { BlockList, isIP } from "node:net";
import { OperatorError } from "#src/kernel/errors.ts";

/**
 * Who may talk to us (S-80, S-82): the trunks, and for the length of a call those we have called ourselves.
 * Everybody else is an unknown peer and gets no answer to anything.
 */
export class Access {
  readonly #trunks = new BlockList();
  readonly #called = new Map<string, number>();

  /** `trunks`: IP addresses and CIDRs. Throws OperatorError naming the entry that is neither. */
  constructor(trunks: readonly string[]) {
    for (const trunk of trunks) {
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

  /** Whether the address may send anything at all. */
  admits(address: string): boolean {
    return this.#called.has(address) || this.isTrunk(address);
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
}
