/** The part of sdp-transform 3 that `sdp.ts` uses; the package ships no types. Absent lines leave their member out. */
declare module "sdp-transform" {
  import type { CryptoLine } from "#src/media/sdes.ts";

  export interface SdpConnection {
    version: number;
    ip: string | number;
  }

  export interface SdpMedia {
    /** Absent when the m= line did not fit the grammar. */
    type?: string;
    port?: number | string;
    protocol?: string;
    /** The format list; a single numeric format arrives as a number. */
    payloads?: string | number;
    connection?: SdpConnection;
    direction?: string;
    rtcpMux?: string;
    /** Whoever names no address means that of c=. */
    rtcp?: { port: number | string; ipVer?: number | string; address?: string | number };
    /** Put in by `sdp.ts` itself. */
    crypto?: CryptoLine[];
    rtp: { payload: number | string; codec?: string | number; rate?: number | string; encoding?: number | string }[];
  }

  export interface SdpSession {
    version?: number | string;
    origin?: { sessionId: number | string; sessionVersion: number | string };
    connection?: SdpConnection;
    direction?: string;
    media: SdpMedia[];
  }

  export function parse(sdp: string): SdpSession;
}

/** WebRTC's voice activity detector (libfvad) as an Emscripten module. */
declare module "@echogarden/fvad-wasm" {
  export interface FvadModule {
    HEAP16: Int16Array<ArrayBuffer>;
    _malloc(bytes: number): number;
    _fvad_new(): number;
    _fvad_free(handle: number): void;
    /** 0 (quality) to 3 (very aggressive); -1 for anything else. */
    _fvad_set_mode(handle: number, mode: number): number;
    _fvad_set_sample_rate(handle: number, hertz: number): number;
    /** 1 speech, 0 none, -1 bad length. `samples` points at 16-bit samples: 80, 160 or 240 of them at 8 kHz. */
    _fvad_process(handle: number, samples: number, length: number): number;
  }

  export default function load(): Promise<FvadModule>;
}
