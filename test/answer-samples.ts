import { type Speaking, busyTone, melody, onLine, ringbackTone, speechOf, tones } from "#src/speech/testing.ts";

/** What callers say and what lines sound like when a card is read back: for tests and measurements. All are reproducible. */

const list = (text: string) => text.trim().split(/[,\n]\s*/);

/** Spoken answers, the ones that the prompt asks for first. */
export const ANSWERS_SPOKEN = {
  yes: ["yes that's right", "yes that's correct", "yes please", "yes it is", "yes i agree", "yeah that's right", "yes"],
  no: ["no that's wrong", "no that's not right", "no thank you", "no it isn't", "no"],
} as const;

/** Speech that neither confirms nor refuses, by kind. */
export const NO_ANSWERS: Readonly<Record<string, readonly string[]>> = {
  digits: list(`
    one, two, four, five, six, eight, nine, zero, nine nine, eight eight, six six six six, two two, nine one one, zero zero
    oh oh seven, thirteen, forty four, fifty, sixty nine, one hundred, seven four one, four four four four, five thousand
    oh three thirty, four two four two four two four two, march twenty thirty
  `),
  "other words": list(`
    hmm, ahem, er, oops, ouch, wow, aha, hey, agent, mobile, radio, video, home, phone, light, youth, onions, genius, jealous
    nonsense, perfect, exactly, absolutely, certainly, of course, excellent, maybe, perhaps, possibly, sounds good, fair enough
    all right then, good lord, thank goodness, la la la, bonjour, gracias
  `),
  sentences: list(`
    say that once more, what was the amount again, who am i talking to, is anybody there, i can't understand a word
    just give me a second, hang on please, let me find my card, where did i put it, what is happening, why do you ask
    what is your name, talk to a human, can i pay later, can i use another card, i already paid, is there a fee
    it should be forty dollars, my wife will call you, he is in the kitchen, the train leaves at nine, please hold the line
    please be quiet, pleased to meet you, thanks a lot, thank you so much, the baby is crying, turn that down, what time is it
    it is raining again, look at this, pass me the salt, this is a recording, please leave a message, happy birthday to you
  `),
  likenesses: list(`
    guess, chest, jest, yet again, yep dog, lesson, messy, bless you, stress, texas, just us, yes man, yes or no, she said yes
    the answer is yes, i guess that's right, is that right, that's right, that's it, what's that right there, i guess it is
    this is it, yesterday evening, yellow pages, jessica, yankee, yawn, yard, years ago, he said no, i know, i know that
    do you know, oh thank you, well thank you, snowing, unknown, nobody knows, notice, noah, nova, noise, never say never, not yet
    nowhere, ninety nine, night night, knock knock, gnome, romeo, toronto, that's long, that's mine, that's not bright, what's wrong
    who is it isn't it, isn't it, it is, i disagree, go ahead, that's wrong, that's not right, i said yes but no, yes that's wrong
    no that's right, yes it isn't, nope, okay, sure, jeff, nothing, jessie's right
  `),
};

/** Speakers of both sexes and several sizes, in five voices. */
export const SPEAKERS: readonly Speaking[] = [
  { voice: "slt" },
  { voice: "rms" },
  { voice: "awb", stretch: 1.1 },
  { voice: "kal16" },
  { voice: "kal", pitch: 1.2, warp: 1.05 },
  { voice: "slt", pitch: 0.9, warp: 0.95, stretch: 1.15 },
  { voice: "rms", pitch: 1.1, stretch: 0.9 },
  { voice: "awb", warp: 1.06 },
  { voice: "kal16", pitch: 0.9, warp: 0.96 },
  { voice: "kal", stretch: 1.2 },
];

/** Noise of so many ms whose every sample keeps `colour` of the one before: 0 is a hiss, 0.9 sounds like wind. */
export function noise(ms: number, colour: number, seed = 7): Float64Array<ArrayBuffer> {
  let held = 0;
  return Float64Array.from({ length: ms * 8 }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    held = held * colour + (seed / 2 ** 31 - 1) * Math.sqrt(1 - colour * colour);
    return 4_000 * held;
  });
}

/** A sound that swells and fades, as breath, gusts and passing cars do. */
const swelling = (sound: Float64Array<ArrayBuffer>, times: number) =>
  sound.map((sample, at) => sample * Math.sin((Math.PI * times * at) / sound.length) ** 2);

/** A tone that glides like a voice, with overtones: what a whistle, a siren and a held note of a song have in common. */
function gliding(ms: number, from: number, to: number, harmonics: number): Float64Array<ArrayBuffer> {
  let phase = 0;
  return Float64Array.from({ length: ms * 8 }, (_, at) => {
    phase += (2 * Math.PI * (from + ((to - from) * at) / (ms * 8) + 4 * Math.sin(at / 250))) / 8_000;
    let sample = 0;
    for (let harmonic = 1; harmonic <= harmonics; harmonic++) sample += Math.sin(harmonic * phase) / harmonic;
    return 4_000 * sample * Math.min(1, at / 400, (ms * 8 - at) / 400);
  });
}

/** Sounds of a line that are no speech. */
export const SOUNDS: ReadonlyMap<string, Float64Array> = new Map<string, Float64Array>([
  ["busy tone", busyTone(3)],
  ["ringing", ringbackTone(1)],
  ["dial tone", tones([{ hertz: [350, 440], onMs: 1_500 }])],
  ...[
    [697, 1209],
    [770, 1336],
    [852, 1477],
    [941, 1209],
  ].map((hertz, at): [string, Float64Array] => [`DTMF ${at}`, tones([{ hertz, onMs: 150 + 100 * at }])]),
  ...[0, 0.3, 0.6, 0.8, 0.9, 0.97].flatMap((colour, at): [string, Float64Array][] => [
    [`noise ${colour}`, noise(400 + 200 * at, colour)],
    [`breath ${colour}`, swelling(noise(700, colour, 3 + at), 1)],
    [`rattle ${colour}`, swelling(noise(1_200, colour, 11 + at), 5)],
  ]),
  ...[
    [0, 4, 7, 12, 7, 4, 0],
    [3, 5, 7, 8, 3, 5],
    [-12, -5, 0, 4],
    [0, 0, 7, 7, 9, 9, 7],
    [-9, -8, -7, -6],
  ].flatMap((notes, at): [string, Float64Array][] =>
    [1, 4, 8].map((harmonics) => [`melody ${at} of ${harmonics} harmonics`, melody(notes, 120 + 60 * at, harmonics)]),
  ),
  ...[
    [120, 180],
    [220, 150],
    [300, 420],
    [600, 1_200],
  ].flatMap(([from = 0, to = 0]): [string, Float64Array][] =>
    [1, 6, 12].map((harmonics) => [`glide ${from} to ${to} of ${harmonics} harmonics`, gliding(700, from, to, harmonics)]),
  ),
]);

/** What a telephone line does to a sound on its way. */
export const LINES: Readonly<Record<string, (samples: Int16Array<ArrayBuffer>) => Int16Array<ArrayBuffer>>> = {
  clean: (samples) => samples,
  "3 % loss": (samples) => {
    let seed = samples.length;
    const damaged = samples.slice();
    for (let at = 0; at < damaged.length; at += 160) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      if (seed / 2 ** 32 < 0.03) damaged.fill(0, at, at + 160);
    }
    return damaged;
  },
  "noise 20 dB": (samples) => {
    const power = (part: ArrayLike<number>) => Array.from(part).reduce((sum, sample) => sum + sample * sample, 0) / part.length;
    const hiss = noise(samples.length / 8, 0.8, samples.length);
    const gain = Math.sqrt(power(samples.filter((sample) => Math.abs(sample) > 100)) / power(hiss) / 100);
    return samples.map((sample, at) => Math.max(-32_768, Math.min(32_767, Math.round(sample + (hiss[at] ?? 0) * gain))));
  },
};

/** A caller's utterance on a quiet line, in the voice of speaker number `speaker`. */
export const sampleOf = (text: string, speaker: number) => onLine(speechOf(text, SPEAKERS[speaker % SPEAKERS.length]));
