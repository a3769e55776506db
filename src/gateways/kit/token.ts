import { Secret } from "#src/kernel/secret.ts";
import type { AccessToken, Declined, GatewayAnswer, GatewayIo, GatewayRequest } from "../contract.ts";
import { declined, isOutcome } from "./outcomes.ts";

/** Short-lived access tokens (OAuth 2.0 and its likes). Asking for one moves no money, so whatever goes wrong is a refusal. */

/** A token that `seconds` was promised for, given up `marginSeconds` (or a tenth of its life, if that is less) before its end. */
export function accessToken(
  token: string,
  seconds: number,
  clock: GatewayIo["clock"],
  { marginSeconds = 60, grants = {} }: { marginSeconds?: number; grants?: Readonly<Record<string, string>> } = {},
): AccessToken {
  const margin = Math.min(marginSeconds, seconds / 10);
  return { token: new Secret(token), expiresAtMs: clock.now() + (seconds - margin) * 1_000, grants };
}

/**
 * Sends with an access token. One that the vendor no longer takes (`isStale`, 401 when absent: nothing was processed) is
 * replaced and the request sent once more; a refusal when there is none to be had.
 */
export async function sendWithToken(
  io: Pick<GatewayIo, "accessToken" | "send">,
  mint: () => Promise<AccessToken | Declined>,
  build: (token: AccessToken) => GatewayRequest,
  isStale: (answer: Extract<GatewayAnswer, { kind: "answered" }>) => boolean = ({ status }) => status === 401,
): Promise<GatewayAnswer | Declined> {
  const kept = await io.accessToken(mint);
  if (isOutcome(kept)) return kept;
  const answer = await io.send(build(kept));
  if (answer.kind !== "answered" || !isStale(answer)) return answer;
  const fresh = await io.accessToken(mint, { renew: true });
  return isOutcome(fresh) ? fresh : await io.send(build(fresh));
}

/**
 * Mints with a refresh token that the vendor replaces with each use. What `refresh` returns to be kept is sealed and committed,
 * under a lock of all processes, before the access token is used: a refresh token that is lost locks the merchant out.
 */
export async function mintByRotation(
  io: Pick<GatewayIo, "rotateCredentials">,
  refresh: (
    current: Readonly<Record<string, Secret>>,
  ) => Promise<{ token: AccessToken; keep: Readonly<Record<string, Secret>> } | Declined>,
): Promise<AccessToken | Declined> {
  let minted: AccessToken | Declined = declined("gateway_unavailable");
  try {
    await io.rotateCredentials(async (current) => {
      const refreshed = await refresh(current);
      minted = isOutcome(refreshed) ? refreshed : refreshed.token;
      return isOutcome(refreshed) ? null : { ...current, ...refreshed.keep };
    });
    return minted;
  } catch {
    return declined("gateway_unavailable", { reason: "the vendor's new credentials could not be kept" });
  }
}
