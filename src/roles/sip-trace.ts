import { createWriteStream } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#src/kernel/clock.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { type Database, type Db, type Log, makeFolder, maskSecrets, notify } from "#src/platform/index.ts";
import type { UserAgent } from "#src/sip/index.ts";

/** NOTIFY channel; the payload is for how many minutes SIP messages are to be written, 0: no longer. */
const CHANNEL = "voicetill_sip_trace";
export const LONGEST_TRACE_MINUTES = 60;
/** Of one trace: some 20,000 calls. A disk must not fill because a trace was forgotten. */
const MAX_TRACE_CHARACTERS = 100e6;
/** As of a line of the log: masking one that is longer would hold the calls up. */
const MAX_MESSAGE_CHARACTERS = 8_192;
const MINUTE_MS = 60_000;

/** Asks every process that takes calls to write its SIP messages for so many minutes, or with 0 no longer. */
export function askForSipTrace(db: Db, minutes: number): Promise<void> {
  return notify(db, CHANNEL, String(minutes));
}

interface SipTraceDeps {
  config: { dataDir: string };
  clock: Clock;
  log: Log;
  database: Pick<Database, "listen">;
}

/**
 * Writes SIP messages into a file in the data folder for as long as an operator has asked for: without passwords, keypad digits, media keys
 * and memory, card numbers masked as in the log. The returned function ends it.
 */
export async function followSipTrace(deps: SipTraceDeps, userAgent: Pick<UserAgent, "trace">): Promise<() => Promise<void>> {
  const { config, clock, log, database } = deps;
  let end = (_reason: string): void => {};
  let written: Promise<void> = Promise.resolve();

  const begin = (minutes: number) => {
    const begun = new Date(clock.now()).toISOString();
    const path = join(config.dataDir, `sip-trace-${begun.replace(/[:.]/g, "-")}.txt`);
    makeFolder(config.dataDir, 0o700);
    const file = createWriteStream(path, { flags: "a", mode: 0o600 });
    let [count, left] = [0, MAX_TRACE_CHARACTERS];
    const stop = (reason: string) => {
      // Another trace may have begun since.
      if (end !== stop) return;
      end = () => {};
      cancel();
      userAgent.trace(null);
      written = new Promise((resolve) => file.end(resolve));
      log.info("sip_trace_ended", { path, count, reason });
    };
    end = stop;
    const cancel = clock.after(minutes * MINUTE_MS, () => stop("its time is over"));
    file.on("error", (error) => {
      log.warn("sip_trace_failed", { path, error });
      stop("it could not be written");
    });
    userAgent.trace(({ direction, protocol, address, port, text }) => {
      const peer = `${direction === "sent" ? "to" : "from"} ${protocol} ${formatHostPort(address, port)}`;
      const entry = `${new Date(clock.now()).toISOString()} ${direction} ${peer}\n${maskSecrets(text, MAX_MESSAGE_CHARACTERS).replaceAll("\r\n", "\n")}\n`;
      file.write(entry);
      count++;
      left -= entry.length;
      if (left < 0) stop("it is too large");
    });
    log.info("sip_trace_begun", { path });
  };

  const stopListening = await database.listen(CHANNEL, (payload) => {
    const minutes = Number(payload);
    if (!Number.isInteger(minutes) || minutes < 0 || minutes > LONGEST_TRACE_MINUTES) return;
    end("it was ended");
    if (minutes > 0) begin(minutes);
  });
  return async () => {
    await stopListening();
    end("the process ends");
    await written;
  };
}
