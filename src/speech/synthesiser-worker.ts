import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type FliteVoice, speak } from "./flite.ts";
import type { RenderAnswer } from "./renderers.ts";
import { toTelephone } from "./telephone.ts";

/** The thread of the synthesiser: a text comes in, mu-law at 8 kHz goes out. */
const main = parentPort as MessagePort;
const { voice } = workerData as { voice: FliteVoice };

function render(text: string): RenderAnswer {
  try {
    const ulaw = toTelephone(speak(text, voice));
    return ulaw.length > 0 ? { ulaw } : { error: "the synthesiser said nothing" };
  } catch (error) {
    return { error: `the synthesiser failed: ${String(error)}` };
  }
}

main.on("message", (text: string) => {
  const answer = render(text);
  main.postMessage(answer, "ulaw" in answer ? [answer.ulaw.buffer] : []);
});
