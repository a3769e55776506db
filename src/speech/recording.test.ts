import assert from "node:assert/strict";
import { test } from "node:test";
import load from "libflacjs";
import { decodeUlaw } from "#src/kernel/g711.ts";
import { MAX_RECORDING_BYTES, readRecording } from "./recording.ts";
import { wavOf } from "./testing.ts";

const tone = (seconds: number, rate: number, peak = 3_000) =>
  Int16Array.from({ length: seconds * rate }, (_, at) => Math.round(peak * Math.sin((2 * Math.PI * 500 * at) / rate)));
const levelOf = (ulaw: Uint8Array) => Math.sqrt(decodeUlaw(ulaw).reduce((sum, sample) => sum + sample * sample, 0) / ulaw.length);

/** The same sound in every channel, by libFLAC's encoder. */
async function flacOf(samples: Int16Array, rate: number, { channels = 1, bits = 16 } = {}): Promise<Uint8Array<ArrayBuffer>> {
  const flac = load("min");
  if (!flac.isReady()) await new Promise<void>((resolve) => flac.on("ready", () => resolve()));
  const encoder = flac.create_libflac_encoder(rate, channels, bits, 5, samples.length, false);
  const written: Uint8Array[] = [];
  flac.init_encoder_stream(encoder, (data) => void written.push(data.slice()));
  const interleaved = Int32Array.from(
    { length: samples.length * channels },
    (_, at) => samples[Math.floor(at / channels)]! * 2 ** (bits - 16),
  );
  flac.FLAC__stream_encoder_process_interleaved(encoder, interleaved, samples.length);
  flac.FLAC__stream_encoder_finish(encoder);
  flac.FLAC__stream_encoder_delete(encoder);
  return new Uint8Array(Buffer.concat(written));
}

test("a recording becomes mu-law at 8 kHz, as loud as the voice, whatever its rate was", async () => {
  for (const rate of [8_000, 16_000, 24_000, 44_100, 48_000]) {
    const ulaw = await readRecording(wavOf(tone(0.5, rate), rate));
    assert.ok(Math.abs(ulaw.length - 4_000) < 300, `${rate}: ${ulaw.length}`);
    assert.ok(Math.abs(levelOf(ulaw) / 3_300 - 1) < 0.1, `${rate}: ${levelOf(ulaw)}`);
  }
});

test("a FLAC file sounds as the WAV file of the same samples, mono or stereo, with 16 or 24 bits", async () => {
  for (const rate of [8_000, 44_100]) {
    const [samples, expected] = [tone(0.5, rate), await readRecording(wavOf(tone(0.5, rate), rate))];
    for (const format of [{}, { channels: 2 }, { bits: 24 }, { channels: 2, bits: 24 }]) {
      assert.deepEqual(await readRecording(await flacOf(samples, rate, format)), expected, JSON.stringify({ rate, ...format }));
    }
  }
});

test("a file that is too large, too long or silent is refused in a clause", async () => {
  const refused = (file: Uint8Array, message: string | RegExp) => assert.rejects(readRecording(file), { message });
  await refused(new Uint8Array(MAX_RECORDING_BYTES + 1), "is larger than 12 MiB");
  await refused(wavOf(new Int16Array(61 * 8_000), 8_000), "is longer than 60 s");
  await refused(await flacOf(tone(61, 8_000), 8_000), "is longer than 60 s");
  await refused(wavOf(new Int16Array(8_000), 8_000), "says nothing");
  await refused(Buffer.from("OggS"), "is neither a WAV nor a FLAC file");
});

test("a FLAC file that is cut off, changed or of another form is refused in a clause", async () => {
  const whole = await flacOf(tone(2, 16_000), 16_000);
  const refused = (file: Uint8Array, message: RegExp) => assert.rejects(readRecording(file), message);
  await refused(Buffer.from("fLaC"), /FLAC file/);
  await refused(whole.subarray(0, 30), /FLAC file/);
  const changed = whole.slice();
  changed.fill(0x55, whole.length >> 1, (whole.length >> 1) + 200);
  await refused(changed, /broken FLAC file/);
  await refused(await flacOf(tone(0.5, 96_000), 96_000), /has 96000 Hz/);
  await refused(await flacOf(tone(0.5, 8_000), 8_000, { channels: 3 }), /has 3 channels/);
});
