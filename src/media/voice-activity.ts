import loadFvad from "@echogarden/fvad-wasm";
import { SAMPLE_RATE_HZ, SAMPLES_PER_PACKET } from "#src/kernel/g711.ts";

/** Tells speech from the rest, frame by frame. */
export interface VoiceActivity {
  /** True when the frame (160 samples, 20 ms) is speech. */
  isSpeech(frame: Int16Array): boolean;
  /** Frees the detector and overwrites the audio it holds. */
  free(): void;
}

/** Modes 0-2 take a fifth of near silence for speech (docs/decisions/0012). */
const VERY_AGGRESSIVE = 3;
/** Speech stands at least this far above the noise. */
const ABOVE_FLOOR_DB = 9;
/** Quieter than this is never speech: -55 dB below full scale. */
const QUIETEST_DB = -55;
/** The floor follows quieter frames at once by this share, and rises by so many dB for each frame that is not quieter. */
const FALL_SHARE = 0.3;
const RISE_DB = 0.03;

/**
 * Loads the detector; the function returned makes one for each listener. libfvad alone keeps triggering in babble, so a
 * frame must also stand above an adaptive energy floor.
 */
export async function loadVoiceActivity(): Promise<() => VoiceActivity> {
  const fvad = await loadFvad();
  const input = fvad._malloc(SAMPLES_PER_PACKET * Int16Array.BYTES_PER_ELEMENT);

  return () => {
    const handle = fvad._fvad_new();
    if (handle === 0) throw new Error("the voice activity detector is out of memory");
    fvad._fvad_set_mode(handle, VERY_AGGRESSIVE);
    fvad._fvad_set_sample_rate(handle, SAMPLE_RATE_HZ);
    let floor = QUIETEST_DB;

    return {
      isSpeech(frame) {
        fvad.HEAP16.set(frame, input / 2);
        const isVoice = fvad._fvad_process(handle, input, SAMPLES_PER_PACKET) === 1;
        const level = levelOf(frame);
        const loud = level > Math.max(QUIETEST_DB, floor + ABOVE_FLOOR_DB);
        floor = level < floor ? floor + (Math.max(level, -96) - floor) * FALL_SHARE : floor + RISE_DB;
        return isVoice && loud;
      },
      free() {
        fvad.HEAP16.fill(0, input / 2, input / 2 + SAMPLES_PER_PACKET);
        fvad._fvad_free(handle);
      },
    };
  };
}

/** Mean power in dB below full scale. */
function levelOf(frame: Int16Array): number {
  let energy = 0;
  for (let at = 0; at < frame.length; at++) energy += (frame[at] as number) ** 2;
  return 10 * Math.log10(energy / frame.length / 32_768 ** 2 + 1e-12);
}
