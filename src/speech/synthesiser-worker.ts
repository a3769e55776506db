import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { announce } from "./announcement.ts";
import { speak } from "./flite.ts";
import type { RenderAnswer, RendererOptions } from "./renderer.ts";
import { toTelephone } from "./telephone.ts";
import { readWav } from "./wav.ts";

/** The thread of the synthesiser: a text, or a WAV file that another voice made of one, comes in, mu-law at 8 kHz goes out. */
const main = parentPort as MessagePort;
const { voice, isAnnouncer } = workerData as RendererOptions;

function render(what: string | Uint8Array): RenderAnswer {
  try {
    const ulaw = typeof what === "string" ? spoken(what) : converted(what);
    return ulaw.length > 0 ? { ulaw } : { error: "the synthesiser said nothing" };
  } catch (error) {
    return { error: `the synthesiser failed: ${String(error)}` };
  }
}

const spoken = (text: string) => (isAnnouncer ? announce(text, voice) : toTelephone(speak(text, voice)));

function converted(wav: Uint8Array): Uint8Array<ArrayBuffer> {
  const { samples, rate } = readWav(wav);
  return toTelephone(samples, rate);
}

main.on("message", (what: string | Uint8Array) => {
  const answer = render(what);
  main.postMessage(answer, "ulaw" in answer ? [answer.ulaw.buffer] : []);
});
