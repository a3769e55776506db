import { type Config, isLoopbackHost } from "#src/config/index.ts";
import { fail, ok, type Result, warn } from "./finding.ts";

/** What recognises speech, where it is not the embedded recogniser: whether it works (`fault`: why not), and where callers' words go. */
export function checkSpeech({ roles, speech }: Config, fault: string | null): Result[] {
  if (!roles.includes("voice") || speech === "embedded" || speech === "off") return [];
  const text = fault?.replace(/\.$/, "");
  if (speech === "sherpa")
    return [text ? fail(text, "put it right: the service does not start without it") : ok("sherpa, its files are there")];
  const { host, hostname } = new URL(speech);
  const results = isLoopbackHost(hostname)
    ? []
    : [
        warn(
          `what callers say, card numbers too, is sent to ${host}`,
          "see that this host may hold card data, or run the recogniser on this machine",
        ),
      ];
  if (text) results.push(warn(`${text}: callers are asked to use the keypad`, "start the recogniser, or set SPEECH right"));
  return results.length > 0 ? results : [ok(`${host} answers`)];
}
