import type { MediaLeg, PlayPart } from "#src/media/index.ts";

/** Clips as parts of what a leg plays. */
export const partsOf = (clips: readonly string[]): PlayPart[] => clips.map((clip) => ({ clip }));

/** Plays these clips instead of whatever is playing, until the last of it was sent, or the caller has hung up. */
export async function playToEnd(leg: MediaLeg, clips: readonly string[], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const played = Promise.withResolvers<void>();
  leg.on.played = (id) => {
    if (id === "transfer") played.resolve();
  };
  signal.addEventListener("abort", () => played.resolve(), { once: true });
  leg.stopPlayback();
  leg.play("transfer", partsOf(clips));
  await played.promise;
}
