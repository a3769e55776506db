import type { Clock } from "#src/kernel/clock.ts";
import type { Log, Outbound } from "#src/platform/index.ts";

/** The first platform takes commands for a call under way at an address that it names in its events. */

/** Its hosts: nothing is sent anywhere else, whoever names it. */
const HOST = /^(?:[a-z0-9-]+\.)+vapi\.ai$/;
/** The tool's answer is read and spoken first. */
const AFTER_MS = 1000;
const TIMEOUT_MS = 5000;

/** The address, when it is one of the platform's; else null. */
export function controlAddress(text: string): string | null {
  const url = URL.parse(text);
  if (!url || url.protocol !== "https:" || url.port !== "" || !HOST.test(url.hostname)) return null;
  return url.username === "" && url.password === "" && url.hash === "" ? url.href : null;
}

export interface CallControl {
  /**
   * Has the call transferred in a second, once for a session. `destinationOf` is asked then: null when the session waits no more, for example
   * because the agent has transferred the call itself.
   */
  transferSoon(sessionId: string, controlUrl: string, destinationOf: () => Promise<object | null>): void;
  /** What was to come does not come any more. */
  close(): void;
}

export function createCallControl({ outbound, clock, log }: { outbound: Pick<Outbound, "send">; clock: Clock; log: Log }): CallControl {
  const waiting = new Map<string, () => void>();

  async function transfer(session: string, url: string, destinationOf: () => Promise<object | null>): Promise<void> {
    const destination = await destinationOf();
    if (!destination) return;
    const body = Buffer.from(JSON.stringify({ type: "transfer", destination }));
    const headers = { "content-type": "application/json" };
    const answer = await outbound.send({ method: "POST", url, headers, body, timeoutMs: TIMEOUT_MS, statusOnly: true, httpsOnly: true });
    if (answer.kind !== "answered") log.warn("platform_transfer_failed", { session, reason: answer.reason });
    else if (answer.status >= 300) log.warn("platform_transfer_failed", { session, status: answer.status });
    else log.info("platform_transfer", { session });
  }

  return {
    transferSoon(session, controlUrl, destinationOf) {
      const url = controlAddress(controlUrl);
      if (url === null) return log.warn("platform_transfer_failed", { session, reason: "address not the platform's" });
      if (waiting.has(session)) return;
      const cancel = clock.after(AFTER_MS, () => {
        waiting.delete(session);
        transfer(session, url, destinationOf).catch((error: unknown) => log.warn("platform_transfer_failed", { session, error }));
      });
      waiting.set(session, cancel);
    },
    close() {
      for (const cancel of waiting.values()) cancel();
      waiting.clear();
    },
  };
}
