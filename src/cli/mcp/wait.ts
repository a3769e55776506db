import { type ApiClient, ApiFault } from "./api-client.ts";

const AGAIN_MS = 1000;

export interface Waiting {
  /** Whoever waits has gone. */
  signal: AbortSignal;
  timeIsOver: AbortSignal;
  /** Told what the session is at, at every change and every heartbeat. */
  onStep: (what: string) => void;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/**
 * Follows a session's stream until it is final or the time is over, and resolves with the session as a read gives it. A stream that
 * breaks off or is refused for now is opened again. Throws ApiFault for what another try does not mend, or the reason of `signal`.
 */
export async function waitForEnd(api: ApiClient, sessionId: string, waiting: Waiting): Promise<unknown> {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
  const over = AbortSignal.any([waiting.signal, waiting.timeIsOver]);
  let isKnown = false;
  while (!over.aborted) {
    let pauseMs = AGAIN_MS;
    try {
      if (
        await follow(api, `${path}/stream`, over, (what) => {
          isKnown = true;
          waiting.onStep(what);
        })
      )
        break;
    } catch (error) {
      if (over.aborted) break;
      if (!(error instanceof ApiFault) || !isPassing(error, isKnown)) throw error;
      pauseMs = error.retryAfterMs ?? AGAIN_MS;
    }
    await waiting.pause(pauseMs, over);
  }
  waiting.signal.throwIfAborted();
  return (await api.send("GET", path, { signal: waiting.signal })).body;
}

/** True when the session's last event came, false when the stream ended before. */
async function follow(api: ApiClient, path: string, signal: AbortSignal, onStep: (what: string) => void): Promise<boolean> {
  let at = "";
  for await (const { name, data } of api.events(path, signal)) {
    if (data) at = name === "progress" ? `${String(data["step"])}, try ${String(data["try"])}` : String(data["status"]);
    onStep(at);
    if (data?.["is_terminal"] === true) return true;
  }
  return false;
}

/** A service that answered before may be starting anew; one that never did is not there. */
function isPassing({ status }: ApiFault, isKnown: boolean): boolean {
  return status === null ? isKnown : status === 429 || status >= 500;
}
