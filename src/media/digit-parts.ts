import { encodeUlaw, SAMPLES_PER_PACKET } from "#src/kernel/g711.ts";
import { Clip, SAMPLES_PER_MS } from "./clip.ts";
import type { PlaylistPart } from "./playlist.ts";
import type { DtmfTiming } from "./protocol.ts";
import type { DtmfDigit } from "./telephone-event.ts";
import { toneOf } from "./tones.ts";

/** Digits as telephone events, or as tones to a peer without them. */
export function digitParts(digits: DtmfDigit[], { onMs, gapMs }: DtmfTiming, asEvent: boolean): PlaylistPart[] {
  const samples = Math.ceil((onMs * SAMPLES_PER_MS) / SAMPLES_PER_PACKET) * SAMPLES_PER_PACKET;
  const gap: PlaylistPart[] = gapMs > 0 ? [{ clip: Clip.silence(gapMs * SAMPLES_PER_MS) }] : [];
  const down = (digit: DtmfDigit): PlaylistPart => (asEvent ? { digit, samples } : { clip: new Clip(encodeUlaw(toneOf(digit, samples))) });
  return digits.flatMap((digit) => [down(digit), ...gap]);
}
