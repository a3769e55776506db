import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { PromptDetector, fingerprintOf } from "#softphone/prompt-detector.ts";
import { fixedPrompts } from "#src/conversation/index.ts";
import { encodeUlaw } from "#src/kernel/g711.ts";
import { createSynthesiser } from "#src/speech/index.ts";
import { startBaresip } from "../peers/baresip.ts";
import { freePort } from "../free-port.ts";
import { captureOf } from "../peers/pcap.ts";
import { ROOT } from "./installation.ts";
import { CARD, PROMPT_CACHE } from "./paying.ts";
import { chargesOf, shared, startService } from "./service.ts";

/** Other people's telephones: SIPp replaying a recorded caller, baresip dialled by hand. */

const SIPP = "/usr/bin/sipp";
const BARESIP = "/usr/bin/baresip";
const withoutSipp =
  existsSync(SIPP) && process.getuid?.() === 0 ? false : "needs SIPp (apt-get install sip-tester) and root for its media replay";
const withoutBaresip = existsSync(BARESIP) ? false : "needs baresip (apt-get install baresip-core)";

/** baresip ignores the loopback interface: it calls from another of this machine's addresses. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).filter(({ family }) => family === "IPv4").map(({ address }) => `${address}/32`),
  );
}

const service = await shared(
  startService({ env: { SIP_HOST: "0.0.0.0", SIP_PUBLIC_HOST: "127.0.0.1", SIP_TRUNKS: ownAddresses().join() } }),
);
const voice = createSynthesiser({ cacheDir: PROMPT_CACHE });
after(() => voice.stop());

async function sipp(sessionIds: string[], transport: "u1" | "t1"): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "voicetill-sipp-"));
  try {
    copyFileSync(join(ROOT, "test/peers/pay.xml"), join(folder, "pay.xml"));
    writeFileSync(
      join(folder, "keys.pcap"),
      captureOf({ leadMs: 600, keys: `${CARD}#1230#123#94105#1`, onMs: 80, gapMs: 60, tailMs: 12_000 }),
    );
    const results = await Promise.all(
      sessionIds.map(async (id, index) => {
        const args = [
          `127.0.0.1:${service.sip.port}`,
          "-s",
          id,
          "-sf",
          "pay.xml",
          "-i",
          "127.0.0.1",
          // Several that choose a port for themselves at once may choose the same: it shows when they listen, and ends them.
          "-p",
          String(await freePort()),
          "-mi",
          "127.0.0.1",
          "-mp",
          String(40_000 + index * 10),
          "-t",
          transport,
          "-m",
          "1",
          "-l",
          "1",
          "-nostdin",
          "-timeout",
          "60",
          "-timeout_error",
        ];
        const child = spawn(SIPP, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
        let output = "";
        let errors = "";
        child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
        child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
        const [status] = (await once(child, "close")) as [number];
        return status === 0 ? "" : `SIPp ended with ${status}\n${errors.slice(-2000)}\n${output.slice(-2000)}`;
      }),
    );
    return results.join("");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("SIPp with a recorded keypad call pays a session, over UDP and over TCP", { skip: withoutSipp }, async () => {
  for (const transport of ["u1", "t1"] as const) {
    const sessions = await Promise.all([1, 2, 3].map(() => service.create()));
    assert.equal(
      await sipp(
        sessions.map(({ session_id }) => session_id),
        transport,
      ),
      "",
    );
    for (const { session_id } of sessions) {
      assert.equal((await service.session(session_id))["status"], "payment-success");
      assert.equal((await chargesOf(service.simulatorsUrl, session_id)).length, 1);
    }
  }
});

/** A mono WAV file of 16-bit samples at 8000 Hz. */
function wavOf(samples: Int16Array): Buffer {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write("WAVEfmt ", 8, "latin1");
  for (const [at, value] of [
    [16, 16],
    [24, 8000],
    [28, 16_000],
    [40, samples.byteLength],
  ] as const)
    header.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    header.writeUInt16LE(value, at);
  header.write("data", 36, "latin1");
  return Buffer.concat([header, Buffer.from(samples.buffer)]);
}

/** The words of ours that baresip's recording holds. */
async function promptsIn(recording: Int16Array): Promise<string[]> {
  const fingerprints = await Promise.all(fixedPrompts().map(async (text) => fingerprintOf(text, true, await voice.render(text))));
  const prompts: string[] = [];
  new PromptDetector(fingerprints.flat(), ({ text }) => prompts.push(text)).push(encodeUlaw(recording));
  return prompts;
}

test("baresip hears the prompts, keys a card and pays a session", { skip: withoutBaresip }, async () => {
  const { session_id } = await service.create();
  // The call ends with its microphone file: two minutes of silence.
  const baresip = await startBaresip(wavOf(new Int16Array(120 * 8000)));
  try {
    await baresip.dial(`sip:${session_id}@127.0.0.1:${service.sip.port}`);
    await baresip.event("CALL_ESTABLISHED");
    const paid = service.until(session_id, "payment-success");
    // As behind a NAT, its media comes from another address than its description names: that is learned for a second, and
    // keys do not count before (S-85). A person listens to the first words at least.
    await delay(2500);
    for (const keys of [`${CARD}#`, "1230#", "123#", "94105#", "1"]) await baresip.press(keys);
    await paid;
    await baresip.event("CALL_CLOSED");
    const prompts = await promptsIn(baresip.recording());
    assert.ok(
      prompts.some((text) => text.includes("expiry date")),
      `prompts: ${prompts.join(" / ")}`,
    );
    assert.ok(prompts.includes("was approved."), `prompts: ${prompts.join(" / ")}`);
  } finally {
    await baresip.close();
  }
});
