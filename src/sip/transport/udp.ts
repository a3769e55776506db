import { createSocket, type Socket } from "node:dgram";
import { isIPv4, isIPv6 } from "node:net";
import { mappedAddress, plainAddress } from "#src/kernel/host-port.ts";
import { parseDatagram } from "../grammar/parse.ts";
import type { Flow, Receiver, Transport } from "./transport.ts";

/** Room for a burst of calls while the thread is busy; the host may grant less. */
const RECEIVE_BUFFER_BYTES = 1 << 20;

/** SIP over UDP: one socket, one message per datagram (RFC 3261 section 18). */
export class UdpTransport implements Transport {
  readonly protocol = "udp";
  readonly #receiver: Receiver;
  #socket: Socket | null = null;
  #isIpv6 = false;
  #probe: { token: Uint8Array; resolve: (arrived: boolean) => void } | null = null;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  listen(host: string, port: number): Promise<number> {
    this.#isIpv6 = isIPv6(host);
    const socket = createSocket({
      type: this.#isIpv6 ? "udp6" : "udp4",
      recvBufferSize: RECEIVE_BUFFER_BYTES,
      // Only addresses are ever sent to: names are resolved by locate.ts.
      lookup: (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4),
    });
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.bind(port, host, () => {
        socket.off("error", reject);
        // Errors of single datagrams are told to their sender; the socket itself goes on.
        socket.on("error", () => {});
        socket.on("message", (bytes, { address, port }) => {
          if (this.#probe && bytes.equals(this.#probe.token)) return this.#probe.resolve(true);
          const peer = plainAddress(address);
          if (port > 0 && this.#receiver.admits(peer) !== "refused") this.#receiver.receive(parseDatagram(bytes), this.#flow(peer, port));
        });
        this.#socket = socket;
        resolve(socket.address().port);
      });
    });
  }

  flowTo(address: string, port: number): Promise<Flow> {
    return Promise.resolve(this.#flow(address, port));
  }

  /** Sends a datagram to its own address and waits for it. */
  isAlive(token: Uint8Array): Promise<boolean> {
    if (!this.#socket) return Promise.resolve(false);
    const { address, port } = this.#socket.address();
    const target = address === "0.0.0.0" ? "127.0.0.1" : address === "::" ? "::1" : address;
    return new Promise((resolve) => {
      this.#probe?.resolve(false);
      this.#probe = { token, resolve };
      this.#send(token, target, port).catch(() => resolve(false));
    });
  }

  close(): Promise<void> {
    const socket = this.#socket;
    this.#socket = null;
    return new Promise((resolve) => (socket ? socket.close(() => resolve()) : resolve()));
  }

  #flow(address: string, port: number): Flow {
    const never = () => () => {};
    const flow: Flow = {
      protocol: "udp",
      reliable: false,
      address,
      port,
      open: true,
      listening: true,
      certified: false,
      onClose: never,
      renewed: () => Promise.resolve(flow),
      keep: never,
      settled: () => {},
      send: (bytes) => {
        this.#receiver.sends(bytes, flow);
        return this.#send(bytes, address, port);
      },
    };
    return flow;
  }

  #send(bytes: Uint8Array, address: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#socket) return reject(new Error("UDP transport is closed"));
      const target = this.#isIpv6 && isIPv4(address) ? mappedAddress(address) : address;
      this.#socket.send(bytes, port, target, (error) => (error ? reject(error) : resolve()));
    });
  }
}
