import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openTelephone } from "#softphone/caller.ts";
import { PromptDetector, fingerprintOf } from "#softphone/prompt-detector.ts";
import { createIdentity } from "#simulators/tls.ts";
import { fixedPrompts } from "#src/conversation/index.ts";
import { encodeUlaw } from "#src/kernel/g711.ts";
import { createSynthesiser } from "#src/speech/index.ts";
import { startBaresip } from "../peers/baresip.ts";
import { freePort } from "../free-port.ts";
import { captureOf } from "../peers/pcap.ts";
import { PROMPT_CACHE, ROOT } from "./installation.ts";
import { CARD } from "./paying.ts";
import { chargesOf, shared, startService } from "./service.ts";

/** Other people's telephones: SIPp replaying a recorded caller, baresip dialled by hand. */

const SIPP = "/usr/bin/sipp";
const BARESIP = "/usr/bin/baresip";
const withoutSipp =
  existsSync(SIPP) && process.getuid?.() === 0 ? false : "needs SIPp (apt-get install sip-tester) and root for its media replay";
const withoutBaresip = existsSync(BARESIP) ? false : "needs baresip (apt-get install baresip-core)";

const withoutSrtp = existsSync("/usr/lib/baresip/modules/srtp.so")
  ? false
  : "needs baresip's module srtp.so (apt-get install baresip-core)";

/** baresip ignores the loopback interface: it calls from another of this machine's addresses. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).filter(({ family }) => family === "IPv4").map(({ address }) => `${address}/32`),
  );
}

const certificates = mkdtempSync(join(tmpdir(), "voicetill-certificates-"));
after(() => rmSync(certificates, { recursive: true, force: true }));
const [certFile, keyFile] = [join(certificates, "cert.pem"), join(certificates, "key.pem")];
const { cert, key } = createIdentity(["127.0.0.1"]);
writeFileSync(certFile, cert);
writeFileSync(keyFile, key, { mode: 0o600 });

const service = await shared(
  startService({
    env: {
      SIP_HOST: "0.0.0.0",
      SIP_PUBLIC_HOST: "127.0.0.1",
      SIP_TRUNKS: ownAddresses().join(),
      SIP_TLS_PORT: "0",
      SIP_TLS_CERT: certFile,
      SIP_TLS_KEY: keyFile,
    },
  }),
);
const telephone = await shared(openTelephone(PROMPT_CACHE));
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
  const fingerprints = await Promise.all(fixedPrompts("en-US").map(async (text) => fingerprintOf(text, true, await voice.render(text))));
  const prompts: string[] = [];
  new PromptDetector(fingerprints.flat(), ({ text }) => prompts.push(text)).push(encodeUlaw(recording));
  return prompts;
}

test(
  "baresip hears the prompts, keys a card and pays a session, over UDP and over TLS with SRTP, and reaches an agent without (R-227)",
  { skip: withoutBaresip, concurrency: true },
  async (t) => {
    const { host, port, tls_port: tlsPort } = service.sip;
    await Promise.all([
      t.test("UDP, RTP", () => paysByBaresip(`${host}:${port}`)),
      t.test("TLS, SRTP", { skip: withoutSrtp }, () => paysByBaresip(`${host}:${tlsPort};transport=tls`, { srtp: true })),
      t.test("TLS, SRTP, to an agent who has neither", { skip: withoutSrtp }, () =>
        talksToAgent(`${host}:${tlsPort};transport=tls`, { srtp: true }),
      ),
    ]);
  },
);

/** The words of ours that the agent speaks: nobody else does in this call. */
const AGENT = "Thank you. Your card is stored.";

/** A bridge between SRTP and RTP: speech crosses it one way, keys the other. */
async function talksToAgent(place: string, media: { srtp?: boolean }): Promise<void> {
  const { session_id } = await service.create({ callback: telephone.address });
  const answered = telephone.answerNext();
  const baresip = await startBaresip(wavOf(new Int16Array(120 * 8000)), media);
  try {
    await baresip.dial(`sip:${session_id}@${place}`);
    await baresip.event("CALL_ESTABLISHED");
    // Digits count once the source is known, and a person listens to the first words at least.
    await delay(2500);
    await baresip.press("**");
    const agent = await answered;
    const keys: number[] = [];
    const all = Promise.withResolvers<void>();
    agent.leg.on.dtmfDigit = (digit) => void (keys.push(digit) === 4 && all.resolve());
    const spoken = new Promise<void>((resolve) => (agent.leg.on.played = () => resolve()));
    while ((await service.session(session_id))["transfer_status"] === null);
    agent.leg.play("agent", [{ ulaw: await voice.render(AGENT) }, { silenceMs: 1000 }]);
    await baresip.press("5#07");
    await Promise.all([all.promise, spoken]);
    await agent.hangUp();
    await baresip.event("CALL_CLOSED");
    assert.deepEqual(keys, [5, 11, 0, 7]);
    assert.ok((await promptsIn(baresip.recording())).includes(AGENT));
  } finally {
    await baresip.close();
  }
}

/** `place`: what stands behind the session's id in the address that is dialled. */
async function paysByBaresip(place: string, media: { srtp?: boolean } = {}): Promise<void> {
  const { session_id } = await service.create();
  // The call ends with its microphone file: two minutes of silence.
  const baresip = await startBaresip(wavOf(new Int16Array(120 * 8000)), media);
  try {
    await baresip.dial(`sip:${session_id}@${place}`);
    await baresip.event("CALL_ESTABLISHED");
    const paid = service.until(session_id, "payment-success");
    // As behind a NAT, its media comes from another address than its description names: the one that it signals from, which counts at
    // once (S-85). A person listens to the first words at least.
    await delay(2500);
    for (const keys of [`${CARD}#`, "1230#", "123#", "94105#", "1"]) await baresip.press(keys);
    await paid;
    await baresip.event("CALL_CLOSED");
    // Of the questions it hears as much as its keys leave: on a busy machine, which is slow to take the next key, that may be nothing.
    const prompts = await promptsIn(baresip.recording());
    for (const prompt of ["One moment, please.", "Thank you. Your payment was approved."])
      assert.ok(prompts.includes(prompt), `prompts: ${prompts.join(" / ")}`);
  } finally {
    await baresip.close();
  }
}
