import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../free-port.ts";

/** baresip as a caller, driven as a person would: dial, press, listen, hang up. */
export interface Baresip {
  /** Resolves when the call is on its way. */
  dial(uri: string): Promise<void>;
  /** Resolves when baresip reports an event of this type, such as CALL_ESTABLISHED. */
  event(type: string): Promise<void>;
  press(keys: string): Promise<void>;
  /** Its recording of the call, 16-bit samples at 8000 Hz, once the call is over. */
  recording(): Int16Array;
  close(): Promise<void>;
}

/** `mic`: a WAV file that the caller speaks, from the moment of the answer; `srtp`: it talks encrypted or not at all. */
export async function startBaresip(mic: Buffer, { srtp = false } = {}): Promise<Baresip> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-baresip-"));
  cpSync(fileURLToPath(new URL("./baresip/", import.meta.url)), folder, { recursive: true });
  const [control, sip] = [await freePort(), await freePort()];
  appendFileSync(join(folder, "config"), `ctrl_tcp_listen\t127.0.0.1:${control}\nsip_listen\t0.0.0.0:${sip}\n`);
  if (srtp) {
    appendFileSync(join(folder, "config"), "module\t\t\tsrtp.so\n");
    const account = join(folder, "accounts");
    writeFileSync(account, `${readFileSync(account, "utf8").trim()};mediaenc=srtp-mand\n`);
  }
  writeFileSync(join(folder, "mic.wav"), mic);
  const child = spawn("baresip", ["-4", "-f", "."], { cwd: folder, stdio: "ignore" });
  const socket = await reach(control, child);

  const seen: string[] = [];
  const waiting: { type: string; resolve: () => void }[] = [];
  let pending = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const colon = pending.indexOf(":");
      const length = Number(pending.subarray(0, colon).toString());
      if (colon < 0 || pending.length < colon + 2 + length) return;
      const message = JSON.parse(pending.subarray(colon + 1, colon + 1 + length).toString()) as { type?: string };
      pending = pending.subarray(colon + 2 + length);
      if (!message.type) continue;
      const at = waiting.findIndex(({ type }) => type === message.type);
      if (at >= 0) waiting.splice(at, 1)[0]?.resolve();
      else seen.push(message.type);
    }
  });
  const command = (name: string, params = "") => {
    const text = JSON.stringify({ command: name, params, token: "t" });
    socket.write(`${Buffer.byteLength(text)}:${text},`);
  };

  const event = (type: string): Promise<void> => {
    const at = seen.indexOf(type);
    if (at >= 0) {
      seen.splice(at, 1);
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push({ type, resolve }));
  };

  return {
    event,
    // The control port opens before the account is there; a call dialled then is lost without a word, so it is dialled again.
    async dial(uri) {
      const onItsWay = event("CALL_LOCAL_SDP").then(() => true);
      do command("dial", uri);
      while (!(await Promise.race([onItsWay, delay(1000, false)])));
    },
    // A key is down until EOT (0x04) releases it; its length is what RFC 4733 receivers count.
    async press(keys) {
      for (const key of keys) {
        command("sndcode", key);
        await delay(120);
        command("sndcode", "\u0004");
        await delay(100);
      }
    },
    recording() {
      const name = readdirSync(folder).find((file) => file.endsWith("-dec.wav")) ?? "recording.wav";
      const file = readFileSync(join(folder, name));
      return new Int16Array(file.buffer.slice(file.byteOffset + 44, file.byteOffset + 44 + Math.floor((file.length - 44) / 2) * 2));
    },
    async close() {
      command("quit");
      if (child.exitCode === null) await once(child, "exit");
      socket.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The control port opens a moment after the start: tried until it does. */
async function reach(port: number, child: ChildProcess): Promise<Socket> {
  for (;;) {
    assert.equal(child.exitCode, null, "baresip has ended");
    const socket = connect(port, "127.0.0.1");
    const opened = await Promise.race([once(socket, "connect").then(() => true), once(socket, "error").then(() => false)]).catch(
      () => false,
    );
    if (opened) return socket;
    await delay(50);
  }
}
