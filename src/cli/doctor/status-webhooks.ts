import ipaddr from "ipaddr.js";
import { isInside, isPublic, type parseCidrs } from "#src/platform/index.ts";
import type { Sent } from "../operation.ts";
import type { Installation } from "./database-facts.ts";
import { fail, type Result, warn } from "./finding.ts";

/** Whether outcomes of the project `name` reach somebody: its endpoints are there, on, and may be sent to. */
export function checkStatusWebhooks(
  name: string,
  webhooks: Sent<Installation>["projects"][number]["webhooks"],
  isLive: boolean,
  allowed: ReturnType<typeof parseCidrs>,
): Result[] {
  const missing = (["test", "live"] as const).filter(
    (environment) => (environment === "test" || isLive) && !webhooks.some(({ scope }) => scope === "both" || scope === environment),
  );
  const results: Result[] = [];
  if (webhooks.length === 0)
    results.push(
      warn(`${name} has no status_webhook: outcomes are not told to anybody`, "apply one, unless the merchant polls or streams"),
    );
  else if (missing.length > 0)
    results.push(
      warn(
        `${name} has no status_webhook for ${missing[0]} sessions: their outcomes are not told to anybody`,
        "apply one, unless the merchant polls or streams",
      ),
    );
  if (webhooks.some(({ state }) => state === "disabled"))
    results.push(warn(`${name}: its webhook is disabled, the receiver answered 410`, "mend the receiver, then voicetill webhooks resend"));
  // A name may lead anywhere at each delivery; an address always leads to the same.
  for (const { host } of webhooks) {
    const address = host === "localhost" ? "127.0.0.1" : host;
    if (ipaddr.isValid(address) && !isPublic(address) && !isInside(address, allowed))
      results.push(warn(`${name}: its webhook goes to ${host}, which OUTBOUND_ALLOW does not list: nothing is sent`, "list it there"));
  }
  if (isLive && webhooks.some(({ scope, https }) => scope !== "test" && !https))
    results.push(
      fail(
        `${name}: its status_webhook is not https, so outcomes of live sessions are not told to anybody`,
        "apply an https address, or one for each environment: status_webhook: { test: {...}, live: {...} }",
      ),
    );
  return results;
}
