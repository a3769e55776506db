/** Renders text and hands it to the media engine once; afterwards a prompt is a list of clip names. */
export interface Prompts {
  /** Renders and loads the texts that every call says, in the background, most urgent first. They are kept for good. */
  preload(texts: readonly string[]): Promise<void>;
  /** Clip names of the parts, to be played at once; in hand when all are loaded, else when they are. */
  clips(parts: readonly string[]): string[] | Promise<string[]>;
}

export interface PromptDeps {
  /** `keep`: the rendering may stay on disk. */
  voice: { render(text: string, options: { keep: boolean }): Promise<Uint8Array> };
  media: { loadClip(name: string, ulaw: Uint8Array): void; unloadClip(name: string): void };
}

/** Clips of texts that vary, amounts above all, that stay loaded: three seconds are 24 KB. There are as many amounts as there are payments. */
const MAX_VARIABLE = 200;

/** A text is its own clip name: what is variable (an amount, a digit) is a part of its own, so that the rest is rendered once. */
export function createPrompts({ voice, media }: PromptDeps): Prompts {
  const fixed = new Set<string>();
  /** Least recently spoken first. */
  const loaded = new Set<string>();
  const loading = new Map<string, Promise<void>>();

  const load = (text: string): Promise<void> => {
    const running = loading.get(text);
    if (running) return running;
    const work = voice
      .render(text, { keep: fixed.has(text) })
      .then((ulaw) => {
        media.loadClip(text, ulaw);
        loaded.add(text);
        unloadOldest();
      })
      .finally(() => loading.delete(text));
    loading.set(text, work);
    return work;
  };

  const unloadOldest = () => {
    const variable = [...loaded].filter((text) => !fixed.has(text));
    for (const text of variable.slice(0, -MAX_VARIABLE)) {
      loaded.delete(text);
      media.unloadClip(text);
    }
  };

  const touch = (text: string) => {
    loaded.delete(text);
    loaded.add(text);
  };

  const clips: Prompts["clips"] = (parts) => {
    const missing = parts.filter((text) => !loaded.has(text));
    for (const text of parts) if (loaded.has(text)) touch(text);
    if (missing.length === 0) return [...parts];
    // Once more: what was loaded may have been forgotten while the rest was rendered.
    return Promise.all(missing.map(load)).then(() => clips(parts));
  };

  return {
    clips,
    async preload(texts) {
      for (const text of texts) fixed.add(text);
      await Promise.all(texts.filter((text) => !loaded.has(text)).map(load));
    },
  };
}
