import { fileURLToPath } from "node:url";
import createModule from "soundswallower";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import type { Acceptor } from "./acceptor.ts";
import type { Verifying } from "./verifier-thread.ts";

/** One recogniser: synchronous and busy for some hundredths of a second for each second of speech, so it belongs in a worker. */
export interface Decoder {
  /** Switches to `grammar`: 1 ms for a phrase, up to 30 ms for the largest acceptor. Nothing is done when it is the one in use. */
  use(grammar: Acceptor): void;
  /** Words of a whole utterance; empty when the grammar has no place for it. Normalised over the utterance, the better mode for short answers. */
  decode(samples: Float32Array): string[];
  /** The same with what the words are worth; null when the grammar has no place for the utterance. */
  score(samples: Float32Array): Scored | null;
  /** Begins an utterance whose audio comes bit by bit. */
  begin(): void;
  feed(samples: Float32Array): void;
  /** Words of the utterance up to here. */
  peek(): string[];
  /** Ends the utterance begun; its words. */
  end(): string[];
}

/** The best words of an utterance. */
export interface Scored {
  words: string[];
  /** Log probability of the whole utterance, in the engine's unit of 1024 times the logarithm to the base 1.0001. */
  score: number;
  /** Frames of 10 ms in which the words were spoken, without pauses. */
  frames: number;
}

/** The decoders of one call. */
export interface Decoders {
  /** Follows digits while they are spoken. */
  streaming: Decoder;
  /** Decodes finished utterances. */
  batch: Decoder;
  /**
   * Rates every sound of the model in each frame, not only those that the grammar waits for: twice as slow, but what one grammar scores
   * can be compared with what another does.
   */
  scoring: Decoder;
  /** The second recogniser; null: there is none. */
  verifier: Verifying | null;
}

/** An utterance and what the decoder that followed it made of it. */
export interface UtteranceAudio {
  samples: Float32Array;
  /** Digits by the free grammar; null when it had none. */
  free: number[] | null;
  /** Its words. */
  followed?: readonly string[];
  /** On a bad one no decoding is trusted. */
  line: "quiet" | "noisy" | "bad";
}

/** The calls of the native engine that its own interface leaves out, by the names of its C sources. */
interface Native extends Awaited<ReturnType<typeof createModule>> {
  HEAP8: Int8Array;
  HEAP32: Int32Array;
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  _decoder_logmath(decoder: number): number;
  _decoder_hyp(decoder: number, score: number): number;
  _decoder_seg_iter(decoder: number): number;
  _seg_iter_next(segment: number): number;
  _seg_iter_word(segment: number): number;
  _seg_iter_frames(segment: number, first: number, last: number): void;
  _decoder_set_fsg(decoder: number, fsg: number): number;
  _fsg_model_init(name: number, logmath: number, languageWeight: number, states: number): number;
  _fsg_set_states(fsg: number, start: number, final: number): void;
  _fsg_model_word_add(fsg: number, word: number): number;
  _fsg_model_trans_add(fsg: number, from: number, to: number, logProbability: number, word: number): void;
  _fsg_model_null_trans_add(fsg: number, from: number, to: number, logProbability: number): number;
}

/** The engine's default, which its JSGF compiler uses too. */
const LANGUAGE_WEIGHT = 6.5;
/** The engine's own: a path this much less likely than the best is given up. */
const BEAMS = { beam: 1e-48, pbeam: 1e-48, wbeam: 7e-29 };
/** Natural logarithm of the base of the engine's logarithms, 1.0001. */
const LOG_BASE = Math.log(1.0001);
const DICTIONARY = fileURLToPath(new URL("telephone.dict", import.meta.url));
const MODEL_BASE = fileURLToPath(new URL("model/", import.meta.resolve("soundswallower")));

/** Loads the 8 kHz model for one call, with the words of `telephone.dict` alone: half the memory of the engine's own dictionary. */
export async function loadDecoders(verifier: Verifying | null = null): Promise<Decoders> {
  const quiet = () => {};
  const native = (await createModule({ modelBase: MODEL_BASE, print: quiet, printErr: quiet } as object)) as Native;
  const [streaming, batch, scoring] = [await loadDecoder(native, false), await loadDecoder(native, false), await loadDecoder(native, true)];
  return { streaming, batch, scoring, verifier };
}

async function loadDecoder(native: Native, scores: boolean): Promise<Decoder> {
  const engine = new native.Decoder({ samprate: SAMPLE_RATE_HZ, loglevel: "FATAL", dict: DICTIONARY, compallsen: scores });
  await engine.initialize();
  // The model's own settings ask for it: it learns each utterance's noise anew, from its first words. The line's is taken out before (`NoiseSuppression`).
  engine.set_config("remove_noise", 0);
  await engine.reinitialize_audio();
  const { cdecoder } = engine as unknown as { cdecoder: number };
  let inUse: Acceptor | null = null;

  const withText = <T>(text: string, use: (pointer: number) => T): T => {
    const bytes = Buffer.from(`${text}\0`);
    const pointer = native._malloc(bytes.length);
    native.HEAP8.set(bytes, pointer);
    try {
      return use(pointer);
    } finally {
      native._free(pointer);
    }
  };

  const useAcceptor = ({ states, start, final, arcs }: Acceptor) => {
    const fsg = withText("digits", (name) => native._fsg_model_init(name, native._decoder_logmath(cdecoder), LANGUAGE_WEIGHT, states));
    native._fsg_set_states(fsg, start, final);
    const ids = new Map<string, number>();
    for (const { from, to, word, weight } of arcs) {
      if (word === null) {
        native._fsg_model_null_trans_add(fsg, from, to, 0);
        continue;
      }
      const id = ids.get(word) ?? withText(word, (pointer) => native._fsg_model_word_add(fsg, pointer));
      ids.set(word, id);
      native._fsg_model_trans_add(fsg, from, to, Math.round((LANGUAGE_WEIGHT * Math.log(weight)) / LOG_BASE), id);
    }
    // The decoder owns the grammar from here on and frees it with the next one.
    if (native._decoder_set_fsg(cdecoder, fsg) < 0) throw new Error("the recogniser refused a digit grammar");
  };

  /** Frames of the words, without the silences and noises between them, which the engine writes in brackets. */
  const frames = (): number => {
    const places = native._malloc(8);
    let count = 0;
    for (let segment = native._decoder_seg_iter(cdecoder); segment !== 0; segment = native._seg_iter_next(segment)) {
      native._seg_iter_frames(segment, places, places + 4);
      const [first = 0, last = 0] = native.HEAP32.subarray(places >> 2, (places >> 2) + 2);
      const initial = String.fromCharCode(native.HEAP8[native._seg_iter_word(segment)] ?? 0);
      if (!"<[".includes(initial)) count += last - first + 1;
    }
    native._free(places);
    return count;
  };

  const decode = (samples: Float32Array) => {
    engine.start();
    engine.process_audio(samples, false, true);
    engine.stop();
  };

  const words = () => {
    // The engine's get_text reads address 0 when there is no hypothesis.
    if (native._decoder_hyp(cdecoder, 0) === 0) return [];
    // "Oh" and the digit behind it are one word of the grammar (`AFTER_OH`).
    return engine.get_text().split(/[ _]/).filter(Boolean);
  };

  return {
    use(grammar) {
      if (grammar === inUse) return;
      inUse = null;
      engine.set_config("wip", grammar.wordInsertion);
      for (const [name, usual] of Object.entries(BEAMS)) engine.set_config(name, grammar.beam ?? usual);
      useAcceptor(grammar);
      inUse = grammar;
    },
    decode(samples) {
      decode(samples);
      return words();
    },
    score(samples) {
      decode(samples);
      const place = native._malloc(4);
      const isThere = native._decoder_hyp(cdecoder, place) !== 0;
      const score = native.HEAP32[place >> 2] ?? 0;
      native._free(place);
      return isThere ? { words: words(), score, frames: frames() } : null;
    },
    begin: () => engine.start(),
    feed: (samples) => void engine.process_audio(samples),
    peek: words,
    end() {
      engine.stop();
      return words();
    },
  };
}
