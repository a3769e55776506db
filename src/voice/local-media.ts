import type { LocalMedia } from "#src/media/index.ts";
import type { CallDeps } from "./types.ts";

/** Our side of a new call. Keys of SRTP are given and taken where the signalling is TLS, and nowhere else (S-86). */
export function newLocalMedia(port: number, isTls: boolean, { settings, random }: CallDeps): LocalMedia {
  return {
    host: settings.mediaHost,
    port,
    sessionId: String(Buffer.from(random.bytes(4)).readUInt32BE()),
    previous: null,
    ...(isTls && { srtp: { bytes: (count) => random.bytes(count), required: settings.srtpRequired } }),
  };
}
