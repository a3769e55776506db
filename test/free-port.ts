import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port of loopback that is free for both UDP and TCP. Below the range the system takes ports of outgoing connections
 * from: one that a process gives up for a moment, to start again on it, is not taken meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(11_000, 20_000);
    if (await isFreePort(port)) return port;
  }
}

/** True when nobody listens on this port of loopback, by UDP or TCP. */
export async function isFreePort(port: number): Promise<boolean> {
  const tcp = createServer().listen(port, "127.0.0.1");
  const udp = createSocket("udp4").bind(port, "127.0.0.1");
  try {
    await Promise.all([once(tcp, "listening"), once(udp, "listening")]);
    return true;
  } catch {
    return false;
  } finally {
    tcp.close();
    udp.close();
  }
}
