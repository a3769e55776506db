import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { type Config, isLoopbackHost } from "#src/config/index.ts";
import { isPublic } from "#src/platform/index.ts";
import { fail, ok, type Result, warn } from "./finding.ts";

/** Whether trunks reach the address that calls and their media are to come to; `addresses`: what its name stands for. */
export function checkSipAddress(
  { sipHost, sipPublicHost: name, sipTrunks }: Pick<Config, "sipHost" | "sipPublicHost" | "sipTrunks">,
  addresses: readonly string[],
): Result {
  if (addresses.length === 0) return fail(`SIP_PUBLIC_HOST ${name} does not resolve`, "give a name or address that callers can reach");
  const family = isIP(sipHost);
  if (family !== 0 && !addresses.some((address) => isIP(address) === family)) {
    const text = `SIP_PUBLIC_HOST ${name} has no IPv${family} address, and SIP_HOST, where media is bound, is one`;
    return fail(text, "give both an address of one family");
  }
  const outside = sipTrunks.filter((trunk) => rangeOf(trunk) !== "loopback");
  const isListening = !isLoopback(sipHost);
  if (!isListening && addresses.some((address) => rangeOf(address) !== "loopback")) {
    const text = `SIP_HOST ${sipHost} is loopback, but SIP_PUBLIC_HOST ${name} is not`;
    return outside.length > 0
      ? fail(`${text}: no call from outside arrives`, "set SIP_HOST to 0.0.0.0, or to the address that trunks reach")
      : warn(`${text}: calls arrive from this machine alone`, "set SIP_HOST to 0.0.0.0, unless a SIP proxy here passes calls on");
  }
  if (outside.length > 0 && addresses.some((address) => rangeOf(address) === "loopback")) {
    const text = `SIP_PUBLIC_HOST ${name} is loopback, but trunks are outside: their calls get no media`;
    return fail(text, "set SIP_PUBLIC_HOST to the address that trunks reach");
  }
  const isPrivate = addresses.some((address) => !isPublic(address) && rangeOf(address) === "private");
  if (isPrivate && outside.some((trunk) => rangeOf(trunk) === "unicast")) {
    const text = `SIP_PUBLIC_HOST ${name} is a private address, but trunks are public`;
    return warn(text, "set it to the public address if a router translates addresses");
  }
  return ok(`${name} is ${addresses.join(", ")}`);
}

/** `host` as in a URL or a setting. */
export function isLoopback(host: string): boolean {
  return isLoopbackHost(host) || host.endsWith(".localhost");
}

/** What kind of address it is, or what kind of range begins there; null for a name. */
function rangeOf(text: string): string | null {
  const [base = ""] = text.split("/");
  return ipaddr.isValid(base) ? ipaddr.process(base).range() : null;
}
