import type { Listener } from "#src/speech/index.ts";
import type { ListenTask } from "#src/speech/recognition-result.ts";
import type { framesOf } from "#src/speech/testing.ts";

const FRAME_MS = 20;

/** From the end of the speech in `frames` to its result, ms: sent to a worker of the pool at the pace of a call. */
export async function recogniserDelay(listener: Listener, task: ListenTask, frames: ReturnType<typeof framesOf>): Promise<number> {
  const last = frames.findLastIndex(({ speech }) => speech);
  listener.listenFor(task);
  const recognised = Promise.withResolvers<number>();
  listener.onResult = () => recognised.resolve(performance.now());
  const begin = performance.now();
  let sent = 0;
  const pacer = setInterval(() => {
    const due = Math.min(frames.length, Math.floor((performance.now() - begin) / FRAME_MS));
    if (due > sent) listener.port.postMessage(frames.slice(sent, due));
    sent = due;
  }, FRAME_MS);
  const delay = (await recognised.promise) - begin - (last + 1) * FRAME_MS;
  clearInterval(pacer);
  return delay;
}
