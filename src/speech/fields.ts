import { Cell, isCompleteNumber, passesLuhn } from "#src/kernel/card.ts";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { type Acceptor, digitAcceptor, startsCard } from "./acceptor.ts";
import { isConfirmed, isSame } from "./agreement.ts";
import { ANYTHING, LEAST_MARGIN, certainMeaning } from "./certainty.ts";
import { ANSWERS, understandAnswer } from "./answers.ts";
import type { Decoder, Decoders, Grammar } from "./decoder.ts";
import type { ListenFor, ListenTask, RecognitionResult } from "./recognition-result.ts";
import { DIGITS, EXPIRY } from "./phrases.ts";
import { digitsOf, expiryOf, isSingleDigit } from "./spoken-numbers.ts";

/** An utterance and what a second, independent decoder made of it while it was spoken. */
export interface UtteranceAudio {
  samples: Float32Array;
  /** Digits by the free grammar; null when it had none. */
  free: number[] | null;
  /** The line is quiet enough to trust a decoding. */
  clear: boolean;
}

type Understand = (decoders: Decoders, heard: UtteranceAudio, options: Pick<ListenTask, "have" | "lengths">) => RecognitionResult;

const NOTHING: RecognitionResult = { kind: "nothing" };

/** Lengths of a whole answer. */
const LENGTHS: Readonly<Record<"number" | "cvv" | "zip", readonly number[]>> = { number: [15, 16], cvv: [3, 4], zip: [5, 9] };
/** Card lengths heard by the free grammar: Diners, and the long ones of Visa, UnionPay and others. Those not here are for the keypad. */
const OTHER_LENGTHS: readonly number[] = [14, 19];
const LONGEST_CARD = 19;
/** Digits by which the free grammar may miscount a number that is whole. */
const MISCOUNT = 2;

const acceptors = new Map<string, Acceptor>();

function acceptor(lengths: readonly number[], card: boolean, groups: boolean): Acceptor {
  const key = `${lengths.join(" ")} ${card} ${groups}`;
  const known = acceptors.get(key) ?? digitAcceptor({ lengths, card, groups });
  acceptors.set(key, known);
  return known;
}

function decodeDigits(decoder: Decoder, samples: Float32Array, grammar: Grammar): { digits: number[]; grouped: boolean } | null {
  decoder.use(grammar);
  const words = decoder.decode(samples);
  const digits = digitsOf(words);
  return digits && digits.length > 0 ? { digits, grouped: words.some((word) => !isSingleDigit(word)) } : null;
}

const digitsResult = (digits: readonly number[], final: boolean, certain: boolean): RecognitionResult => ({
  kind: "digits",
  digits: Uint8Array.from(digits),
  final,
  certain,
});

/** A whole answer of one of `usual` lengths or those that the conversation knows, or a part of one: certain when this decoding and the one made while it was spoken agree. */
function understandDigits(usual: readonly number[]): Understand {
  return ({ batch }, { samples, free, clear }, { have, lengths }) => {
    const missing = (lengths ?? usual).map((length) => length - have).filter((length) => length > 0);
    if (!free || missing.length === 0) return NOTHING;
    const part = free.length < Math.min(...missing) - 1;
    const plain = decodeDigits(batch, samples, part ? DIGITS : acceptor(missing, false, true));
    if (!plain) return NOTHING;
    return digitsResult(plain.digits, !part, clear && isSame(plain.digits, free));
  };
}

/** One that the Luhn-constrained acceptor takes: then the plain acceptor's best is its best too, and it need not be asked. */
const isCard = (digits: readonly number[]): boolean => startsCard(digits.length, digits[0] ?? 0) && passesLuhn(Cell.from(digits));

/**
 * A whole card number: the Luhn-constrained decoding counts when the plain one confirms it. The constraint alone would find a valid
 * number in anything, so whether it was whole at all is the free decoding's word.
 */
const understandNumber: Understand = (decoders, heard, options) => {
  const { batch } = decoders;
  const { samples, free, clear } = heard;
  const [shortest = 0] = LENGTHS.number;
  const count = free?.length ?? 0;
  if (options.have > 0 || !free || count < shortest - MISCOUNT || count > LONGEST_CARD + MISCOUNT)
    return understandDigits(LENGTHS.number)(decoders, heard, options);

  const plain = decodeDigits(batch, samples, acceptor(LENGTHS.number, false, true));
  const card =
    plain && isCard(plain.digits) ? plain : decodeDigits(batch, samples, acceptor(LENGTHS.number, true, plain?.grouped ?? false));
  if (OTHER_LENGTHS.includes(count) && isCompleteNumber(Cell.from(free))) {
    const again = decodeDigits(batch, samples, acceptor([count], false, true));
    if (isSame(again?.digits ?? null, free))
      return digitsResult(free, true, clear && !(card && isConfirmed(card.digits, plain?.digits ?? null, free)));
  }
  const best = card ?? plain;
  if (!best) return NOTHING;
  return digitsResult(best.digits, true, clear && isCard(best.digits) && isConfirmed(best.digits, plain?.digits ?? null, free));
};

const DATE = { grammar: EXPIRY, meaningOf: expiryOf, leastMargin: () => LEAST_MARGIN };

const understandExpiry: Understand = ({ streaming }, { samples, clear }) => {
  const date = certainMeaning(streaming, samples, DATE);
  return date ? { kind: "expiry", ...date, certain: clear } : NOTHING;
};

/** How each question's answer is understood. */
export const UNDERSTAND: Readonly<Record<ListenFor, Understand>> = {
  number: understandNumber,
  expiry: understandExpiry,
  cvv: understandDigits(LENGTHS.cvv),
  zip: understandDigits(LENGTHS.zip),
  yes_no: ({ streaming }, { samples }) => understandAnswer(streaming, samples),
};

/** Builds the large grammars and runs the decoder once, which no caller should wait for. */
export function prepare({ streaming, batch }: Decoders): void {
  const silence = new Float32Array(SAMPLE_RATE_HZ / 2);
  for (const grammar of [acceptor(LENGTHS.number, true, false), acceptor(LENGTHS.number, false, true)]) {
    batch.use(grammar);
    batch.decode(silence);
  }
  // The one that follows speech has heard no silence: it would take the first words for louder than they are.
  for (const grammar of [EXPIRY, ANSWERS, ANYTHING, DIGITS]) streaming.use(grammar);
}

/** Questions whose answer is a string of digits. */
export const hasDigits = (what: ListenFor): boolean => what === "number" || what === "cvv" || what === "zip";
