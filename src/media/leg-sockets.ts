import { type RemoteInfo, type Socket, createSocket } from "node:dgram";
import { isIP } from "node:net";

interface SocketHandlers {
  onRtp: (datagram: Uint8Array, source: RemoteInfo) => void;
  onRtcp: (datagram: Uint8Array, source: RemoteInfo) => void;
}

/** The pair of sockets of one leg: RTP on an even port, RTCP on the next (RFC 3550 section 11). */
export interface LegSockets {
  /** True when the datagram could not be sent at once: it is needed until it is. */
  send(datagram: Uint8Array, port: number, host: string): boolean;
  /** From the port of RTCP. */
  sendRtcp(datagram: Uint8Array, port: number, host: string): void;
  close(): void;
}

/** Binds both sockets; throws when a port is taken. */
export function bindLegSockets(host: string, port: number, handlers: SocketHandlers): LegSockets {
  const rtp = bind(host, port, handlers.onRtp);
  let rtcp: Socket;
  try {
    rtcp = bind(host, port + 1, handlers.onRtcp);
  } catch (error) {
    rtp.close();
    throw error;
  }
  return {
    send(datagram, port, host) {
      rtp.send(datagram, port, host);
      return rtp.getSendQueueCount() > 0;
    },
    sendRtcp: (datagram, port, host) => rtcp.send(datagram, port, host),
    close() {
      rtp.close();
      rtcp.close();
    },
  };
}

function bind(host: string, port: number, onDatagram: (datagram: Uint8Array, source: RemoteInfo) => void): Socket {
  const family = isIP(host) === 6 ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? "udp6" : "udp4",
    ipv6Only: family === 6,
    // Hosts are always literals here. Answering at once sends the packet in this turn of the event loop, not in the next.
    lookup: (hostname, _options, callback) => callback(null, hostname, family),
  });
  socket.on("message", onDatagram);
  // An unreachable peer is a silent peer: `mediaLost` tells of both.
  socket.on("error", () => {});
  try {
    socket.bindSync({ address: host, port });
  } catch (error) {
    socket.close();
    throw error;
  }
  return socket;
}
