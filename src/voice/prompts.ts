/** Renders text and hands it to the media engine once; afterwards a prompt is a list of clip names. */
export interface Prompts {
  /** Renders and loads these texts in the background, most urgent first. */
  preload(texts: readonly string[]): Promise<void>;
  /** Clip names of the parts, at once when all are loaded, else when they are. */
  clips(parts: readonly string[]): string[] | Promise<string[]>;
}

export interface PromptDeps {
  voice: { render(text: string): Promise<Uint8Array> };
  media: { loadClip(name: string, ulaw: Uint8Array): void };
}

/** A text is its own clip name: what is variable (an amount, a digit) is a part of its own, so the set stays small. */
export function createPrompts({ voice, media }: PromptDeps): Prompts {
  const loaded = new Set<string>();
  const loading = new Map<string, Promise<void>>();

  const load = (text: string): Promise<void> => {
    const running = loading.get(text);
    if (running) return running;
    const work = voice
      .render(text)
      .then((ulaw) => {
        media.loadClip(text, ulaw);
        loaded.add(text);
      })
      .finally(() => loading.delete(text));
    loading.set(text, work);
    return work;
  };

  return {
    async preload(texts) {
      await Promise.all(texts.filter((text) => !loaded.has(text)).map(load));
    },
    clips(parts) {
      const missing = parts.filter((text) => !loaded.has(text));
      if (missing.length === 0) return [...parts];
      return Promise.all(missing.map(load)).then(() => [...parts]);
    },
  };
}
