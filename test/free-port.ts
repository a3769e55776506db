import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

const FIRST = 11_000;
const PER_PROCESS = 60;
const PROCESSES = 150;
let given = 0;

/**
 * A port of loopback that is free for both UDP and TCP. Below the range the system takes ports of outgoing connections
 * from: one that a process gives up for a moment, to start again on it, is not taken meanwhile. Test processes that run
 * at once look in different places, so that two do not find the same port before either has bound it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + (process.pid % PROCESSES) * PER_PROCESS + (given++ % PER_PROCESS);
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
