import { inEnglish, type Sentence, sentence as plainSentence } from "#src/conversation/index.ts";
import { SAMPLE_RATE_HZ, ULAW_SILENCE } from "#src/kernel/g711.ts";
import { EMBEDDED_LANGUAGE } from "#src/kernel/language.ts";
import type { EndpointVoice, Synthesiser } from "#src/speech/index.ts";

/** Renders sentences and hands them to the media engine once; afterwards a prompt is a list of clip names. */
export interface Prompts {
  /**
   * Renders and loads what of these never varies, in the background, one by one, most urgent first. It is kept for good. What the endpoint could not
   * render stays away: called again, the rest of it is tried again.
   */
  preload(sentences: readonly Sentence[]): Promise<void>;
  /** Renders what of these never varies and leaves it on disk: what single projects say. */
  prepare(sentences: readonly Sentence[]): Promise<void>;
  /** Clip names of the sentences with the pauses between them, to be played at once; in hand when all are loaded, else when they are. */
  clips(sentences: readonly Sentence[]): string[] | Promise<string[]>;
}

export interface PromptDeps {
  /** Knows English alone. `keep`: the rendering may stay on disk. `isAhead`: no call waits for it. */
  voice: Pick<Synthesiser, "render">;
  /** The operator's own; null: none. What it cannot say at once is said in English by the other. */
  endpoint: EndpointVoice | null;
  /** The sound of a project's recording; rejects when there is none. */
  recording: (digest: string) => Promise<Uint8Array>;
  media: { loadClip(name: string, ulaw: Uint8Array): void; unloadClip(name: string): void };
}

/**
 * Clips that were not preloaded and stay loaded: amounts, and what projects say in their own words. Three seconds are 24 KB. There are as
 * many amounts as there are payments.
 */
const MAX_VARIABLE = 200;

/** An endpoint that failed for so many texts in a row is left alone until the next time. */
const MAX_FAILURES = 3;

/** Between two sentences it is quiet for 250 ms, of which the rendered sentences bring 40 ms each. */
const PAUSE_MS = 170;
const PAUSE = "pause";

interface Clip {
  name: string;
  isFixed: boolean;
  render(isAhead: boolean): Promise<Uint8Array>;
}

export function createPrompts({ voice, endpoint, recording, media }: PromptDeps): Prompts {
  /** What was preloaded. */
  const fixed = new Set<string>();
  /** What the endpoint did not say when it was last asked. */
  const failed = new Set<string>();
  /** What is on disk. */
  const prepared = new Set<string>();
  /** Least recently spoken first. */
  const loaded = new Set<string>();
  const loading = new Map<string, Promise<void>>();
  media.loadClip(PAUSE, new Uint8Array((PAUSE_MS * SAMPLE_RATE_HZ) / 1000).fill(ULAW_SILENCE));

  /** A text is its own clip name in its language: the same letters sound otherwise in another one. */
  const embedded = (sentence: Sentence): Clip[] =>
    inEnglish(sentence).pieces.map(({ text, isFixed }) => ({
      name: `${EMBEDDED_LANGUAGE} ${text}`,
      isFixed,
      render: (isAhead) => voice.render(text, { keep: isFixed, isAhead }),
    }));
  const recorded = (digest: string): Clip[] => [{ name: `recording ${digest}`, isFixed: false, render: () => recording(digest) }];
  const atEndpoint = (by: EndpointVoice, { language, pieces }: Sentence): Clip[] =>
    pieces.map(({ text, isFixed }) => ({
      name: `endpoint ${language} ${text}`,
      isFixed,
      render: (isAhead) => by.render(text, { language, keep: isFixed, isAhead }),
    }));

  /** The ways to say it, the best first. */
  const waysOf = (sentence: Sentence): Clip[][] => [
    ...(sentence.recording === undefined ? [] : [recorded(sentence.recording)]),
    ...(endpoint ? [atEndpoint(endpoint, withoutDate(sentence))] : []),
    embedded(sentence),
  ];

  const load = (clip: Clip, isAhead: boolean): Promise<void> => {
    const { name } = clip;
    // A call does not wait for what is rendered at leisure.
    const key = `${name}${isAhead ? " ahead" : ""}`;
    const running = loading.get(key);
    if (running) return running;
    const work = clip
      .render(isAhead)
      .then((ulaw) => {
        media.loadClip(name, ulaw);
        loaded.add(name);
        unloadOldest();
      })
      .finally(() => loading.delete(key));
    loading.set(key, work);
    return work;
  };

  const unloadOldest = () => {
    const variable = [...loaded].filter((name) => !fixed.has(name));
    for (const name of variable.slice(0, -MAX_VARIABLE)) {
      loaded.delete(name);
      media.unloadClip(name);
    }
  };

  const touch = (name: string) => {
    loaded.delete(name);
    loaded.add(name);
  };

  /** The clips of the first way of which all are loaded or can be. */
  const say = async ([way = [], ...others]: Clip[][]): Promise<string[]> => {
    try {
      await Promise.all(way.filter(({ name }) => !loaded.has(name)).map((clip) => load(clip, false)));
      return way.map(({ name }) => name);
    } catch (error) {
      if (others.length === 0) throw error;
      return await say(others);
    }
  };

  const joined = (said: readonly string[][]) => said.flatMap((names, index) => (index > 0 ? [PAUSE, ...names] : names));

  const clips: Prompts["clips"] = (sentences) => {
    const ways = sentences.map(waysOf);
    const best = ways.map(([way = []]) => way.map(({ name }) => name));
    for (const name of best.flat()) if (loaded.has(name)) touch(name);
    if (best.flat().every((name) => loaded.has(name))) return joined(best);
    // Once more: what was loaded may have been forgotten while the rest was rendered.
    return Promise.all(ways.map(say)).then((said) => (said.flat().every((name) => loaded.has(name)) ? joined(said) : clips(sentences)));
  };

  /** The `task` for all that never varies and is not `done`. One by one: what a call wants meanwhile does not wait behind the rest. */
  const ahead = async (sentences: readonly Sentence[], done: ReadonlySet<string>, task: (clip: Clip) => Promise<unknown>) => {
    const here = async () => {
      for (const clip of sentences.flatMap(embedded)) if (clip.isFixed && !done.has(clip.name)) await task(clip);
    };
    const there = async () => {
      const clips = endpoint ? sentences.flatMap((sentence) => atEndpoint(endpoint, sentence)) : [];
      let failures = 0;
      // Words that it could not say stand in nobody's way.
      for (const clip of clips.toSorted((a, b) => Number(failed.has(a.name)) - Number(failed.has(b.name)))) {
        if (!clip.isFixed || done.has(clip.name) || failures >= MAX_FAILURES) continue;
        const isDone = await task(clip).then(
          () => true,
          () => false,
        );
        failures = isDone ? 0 : failures + 1;
        if (isDone) failed.delete(clip.name);
        else failed.add(clip.name);
      }
    };
    await Promise.all([here(), there()]);
  };

  return {
    clips,
    preload: (sentences) =>
      ahead(sentences, loaded, (clip) => {
        fixed.add(clip.name);
        return load(clip, true);
      }),
    prepare: (sentences) => ahead(sentences, prepared, (clip) => clip.render(true).then(() => prepared.add(clip.name))),
  };
}

/** No endpoint is told when a caller's card expires: that it cannot be right is said without the date. */
const withoutDate = (sentence: Sentence): Sentence =>
  sentence.values.date && sentence.pieces.some(({ isFixed }) => !isFixed) ? plainSentence(sentence.language, "expiry_invalid") : sentence;
