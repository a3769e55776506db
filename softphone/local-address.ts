import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";

/** This machine's address by which a host is reached: the loopback address for one of its own. Rejects where no way leads there. */
export async function localAddressTowards(host: string): Promise<string> {
  const { address, family } = await lookup(host);
  const socket = createSocket(family === 6 ? "udp6" : "udp4");
  try {
    // Sends nothing: the route is looked up (the port is of no account).
    socket.connect(9, address);
    await once(socket, "connect");
    return socket.address().address;
  } finally {
    socket.close();
  }
}
