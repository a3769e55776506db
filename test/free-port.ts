import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** A port of loopback that is free for both UDP and TCP at this moment. */
export async function freePort(): Promise<number> {
  const tcp = createServer().listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4").bind(port, "127.0.0.1");
  await once(udp, "listening");
  await Promise.all([new Promise((done) => tcp.close(done)), new Promise<void>((done) => udp.close(done))]);
  return port;
}
