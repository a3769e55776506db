import { SAMPLE_RATE_HZ, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { type FliteVoice, speak } from "./flite.ts";
import { MARGIN_MS, toTelephone } from "./telephone.ts";

/** A voice by itself says from 140 to 310 words a minute; all can follow 150 to 170, digits and amounts too. */
const WORDS_PER_MINUTE = 166;
/** Slower or faster than that sounds wrong, and one or two words have no pace. */
const STRETCH = { least: 0.92, most: 1.7, ofShort: 1.1 } as const;
const FEWEST_WORDS = 3;
/** Nearer to the wanted pace than this is near enough. */
const TOLERANCE = 0.02;
/** Between two sentences, without the quiet that each brings at its ends. */
const PAUSE_MS = 250 - 2 * MARGIN_MS;

const PAUSE = new Uint8Array((PAUSE_MS * SAMPLE_RATE_HZ) / 1000).fill(ULAW_SILENCE);

/** `text` as an announcement: each sentence in one piece, at one pace and level, with a pause between them. Mu-law at 8 kHz. */
export function announce(text: string, voice: FliteVoice): Uint8Array<ArrayBuffer> {
  const sentences = text.split(/(?<=[.?!])\s+/).map((sentence) => paced(sentence, voice));
  const parts = sentences.flatMap((ulaw, index) => (index > 0 ? [PAUSE, ulaw] : [ulaw]));
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** How long a text takes depends on its words, so it is spoken once to be timed and, where its pace is wrong, again. */
function paced(sentence: string, voice: FliteVoice): Uint8Array<ArrayBuffer> {
  const words = sentence.split(" ").length;
  if (words < FEWEST_WORDS) return toTelephone(speak(sentence, voice, { stretch: STRETCH.ofShort }));
  const timed = toTelephone(speak(sentence, voice));
  const seconds = timed.length / SAMPLE_RATE_HZ - (2 * MARGIN_MS) / 1000;
  const stretch = Math.min(STRETCH.most, Math.max(STRETCH.least, (words / seconds) * (60 / WORDS_PER_MINUTE)));
  return Math.abs(stretch - 1) < TOLERANCE ? timed : toTelephone(speak(sentence, voice, { stretch }));
}
