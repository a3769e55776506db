import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SAMPLE_RATE_HZ, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { makeFolder } from "#src/platform/index.ts";
import { ENGINE, type FliteVoice } from "./flite.ts";
import { Renderer } from "./renderer.ts";

/** A synthesiser for the telephone. */
export interface Synthesiser {
  /**
   * `text` spoken: mu-law at 8000 Hz, without silence around it. The same text gives the same bytes. Rejects when the engine fails.
   */
  render(text: string, options?: RenderOptions): Promise<Uint8Array>;
  /** A WAV file of speech at the telephone's rate and the level of the others. Rejects for what is no such file (`wav.ts`). */
  convert(wav: Uint8Array, options?: Pick<RenderOptions, "isAhead">): Promise<Uint8Array>;
  /** Ends the thread and the process; renderings under way reject. */
  stop(): Promise<void>;
}

export interface RenderOptions {
  /** The rendering may stay on disk (the default); false for texts of which there is no end. */
  keep?: boolean;
  /** Nobody waits for it: rendered in a process of its own, one text after the other, that gives way to all others. */
  isAhead?: boolean;
}

export interface SynthesiserOptions {
  /** Folder where renderings are kept, made when missing; null: nothing is kept. Only fixed prompts are kept, no secrets. */
  cacheDir: string | null;
  voice?: FliteVoice;
  /** Speaks at an even pace with pauses between sentences (the default), or as the voice does by itself, as a caller would. */
  isAnnouncer?: boolean;
  /** A text that might have been on disk is not, and is about to be rendered. */
  onMissing?: () => void;
}

/** Part of every cache key: to be raised when `telephone.ts` or `announcement.ts` treats the sound differently. */
export const SOUND = 2;

const NOTHING_TO_SAY = new Uint8Array(SAMPLE_RATE_HZ / 10).fill(ULAW_SILENCE);

/** Speaks with flite in a worker thread, started by the first text that is not on disk. */
export function createSynthesiser({ cacheDir, voice = "slt", isAnnouncer = true, onMissing }: SynthesiserOptions): Synthesiser {
  const atOnce = new Renderer({ voice, isAnnouncer });
  const ahead = new Renderer({ voice, isAnnouncer, isLow: true });

  const render: Synthesiser["render"] = async (text, { keep: isKept = true, isAhead = false } = {}) => {
    const renderer = isAhead ? ahead : atOnce;
    const spoken = plain(text);
    if (!/[a-z0-9]/i.test(spoken)) return NOTHING_TO_SAY;
    if (cacheDir === null || !isKept) return await renderer.render(spoken);
    return await cached(cacheDir, [ENGINE, SOUND, voice, isAnnouncer, spoken], () => {
      onMissing?.();
      return renderer.render(spoken);
    });
  };

  return {
    render,
    convert: (wav, { isAhead = false } = {}) => (isAhead ? ahead : atOnce).render(wav),
    async stop() {
      await Promise.all([atOnce.stop(), ahead.stop()]);
    },
  };
}

/** What is kept under `key` in the folder, else what `make` makes, kept from then on. */
export async function cached(folder: string, key: readonly unknown[], make: () => Promise<Uint8Array>): Promise<Uint8Array> {
  const name = createHash("sha256").update(JSON.stringify(key)).digest("hex");
  const path = join(folder, `${name.slice(0, 40)}.ulaw`);
  const kept = await readFile(path).catch(() => null);
  if (kept && kept.length > 0) return kept;
  const ulaw = await make();
  // Keeping is a convenience: a full or read-only disk costs start-up time, not the call.
  await keep(folder, path, ulaw).catch(() => {});
  return ulaw;
}

/** Written aside and renamed, so that a crash or a second process leaves no half file. */
async function keep(folder: string, path: string, ulaw: Uint8Array): Promise<void> {
  makeFolder(folder);
  const aside = `${path}.${process.pid}.part`;
  await writeFile(aside, ulaw);
  await rename(aside, path);
}

/** What flite can read: printable ASCII. Accents are dropped, other signs are pauses. */
function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .trim();
}
