import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { ROOT } from "./installation.ts";

const KAMAILIO = "/usr/sbin/kamailio";
export const withoutKamailio = existsSync(KAMAILIO) ? false : "needs Kamailio (apt-get install kamailio)";

export interface Balancer {
  port: number;
  close(): Promise<void>;
}

/** Kamailio with the configuration of deploy/kamailio before the voice processes on these ports of loopback; resolves when it lets calls in. */
export async function startKamailio(nodePorts: readonly number[]): Promise<Balancer> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-kamailio-"));
  const port = await freePort();
  const [nodes, trunks] = [join(folder, "dispatcher.list"), join(folder, "trunks.list")];
  writeFileSync(nodes, nodePorts.map((node) => `1 sip:127.0.0.1:${node}\n`).join(""));
  writeFileSync(trunks, "1 127.0.0.0 8\n");
  const definitions = [
    `LISTEN_UDP=udp:127.0.0.1:${port}`,
    `LISTEN_TCP=tcp:127.0.0.1:${port}`,
    `NODES_FILE="${nodes}"`,
    `TRUNKS_FILE="${trunks}"`,
    "PING_S=1",
  ];
  const args = ["-DD", "-E", "-m", "64", "-Y", folder, "-w", folder, "-f", join(ROOT, "deploy/kamailio/kamailio.cfg")];
  const child = spawn(KAMAILIO, [...args, ...definitions.flatMap((definition) => ["-A", definition])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, "exit");
  await Promise.race([
    answers(port),
    exited.then(() => {
      throw new Error(`Kamailio ended: ${output}`);
    }),
  ]);
  return {
    port,
    async close() {
      child.kill();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const ASK_AGAIN_MS = 100;

/** Asks for its OPTIONS until it says that a process would take a call. */
async function answers(port: number): Promise<void> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const own = `127.0.0.1:${socket.address().port}`;
  let asked = 0;
  const asking = setInterval(() => {
    const id = `ready-${++asked}`;
    const lines = [
      `OPTIONS sip:127.0.0.1:${port} SIP/2.0`,
      `Via: SIP/2.0/UDP ${own};branch=z9hG4bK${id}`,
      `From: <sip:ready@${own}>;tag=${id}`,
      `To: <sip:127.0.0.1:${port}>`,
      `Call-ID: ${id}`,
      "CSeq: 1 OPTIONS",
      "Max-Forwards: 70",
      "Content-Length: 0",
    ];
    socket.send(`${lines.join("\r\n")}\r\n\r\n`, port, "127.0.0.1");
  }, ASK_AGAIN_MS);
  try {
    let answer = "";
    while (!answer.startsWith("SIP/2.0 200")) answer = String(((await once(socket, "message")) as [Buffer])[0]);
  } finally {
    clearInterval(asking);
    socket.close();
  }
}
