import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SAMPLE_RATE_HZ, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { makeFolder } from "#src/platform/index.ts";
import { ENGINE, type FliteVoice } from "./flite.ts";
import { Renderers } from "./renderers.ts";

/** A synthesiser for the telephone. */
export interface Synthesiser {
  /**
   * `text` spoken: mu-law at 8000 Hz, without silence around it. The same text gives the same bytes. Rejects when the engine fails.
   * Without `keep` (the default is with) the rendering is not put on disk: for texts of which there is no end.
   */
  render(text: string, options?: { keep: boolean }): Promise<Uint8Array>;
  /** Ends the worker threads; renderings under way reject. */
  stop(): Promise<void>;
}

export interface SynthesiserOptions {
  /** Folder where renderings are kept, made when missing; null: nothing is kept. Only fixed prompts are kept, no secrets. */
  cacheDir: string | null;
  voice?: FliteVoice;
}

/** Part of every cache key: to be raised when `telephone.ts` treats the sound differently. */
const SOUND = 1;

const NOTHING_TO_SAY = new Uint8Array(SAMPLE_RATE_HZ / 10).fill(ULAW_SILENCE);

/** Speaks with flite in worker threads, started by the first text that is not on disk. */
export function createSynthesiser({ cacheDir, voice = "slt" }: SynthesiserOptions): Synthesiser {
  const renderers = new Renderers(voice);

  const render: Synthesiser["render"] = async (text, { keep: isKept } = { keep: true }) => {
    const spoken = plain(text);
    if (!/[a-z0-9]/i.test(spoken)) return NOTHING_TO_SAY;
    if (cacheDir === null || !isKept) return await renderers.render(spoken);
    const key = createHash("sha256")
      .update(JSON.stringify([ENGINE, SOUND, voice, spoken]))
      .digest("hex");
    const path = join(cacheDir, `${key.slice(0, 40)}.ulaw`);
    const kept = await readFile(path).catch(() => null);
    if (kept && kept.length > 0) return kept;
    const ulaw = await renderers.render(spoken);
    // Keeping is a convenience: a full or read-only disk costs start-up time, not the call.
    await keep(cacheDir, path, ulaw).catch(() => {});
    return ulaw;
  };

  return { render, stop: () => renderers.stop() };
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
