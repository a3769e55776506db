import type { Gateway, GatewayAnswer, GatewayIo } from "#src/gateways/index.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { type IoScope, withGatewayIo } from "./gateway-io.ts";
import type { PaymentsDeps } from "./types.ts";

/** Whether a vendor takes a project's credentials, asked without a card and without a payment. */
export type CredentialsCheck =
  | { result: "accepted" }
  | { result: "refused"; reason: string }
  /** No answer that says anything about the credentials. */
  | { result: "not reached"; reason: string }
  /** The vendor answers nothing but payments: only a charge would tell. */
  | { result: "cannot be asked" }
  /** `simulated`: a simulator stands in for the vendor. */
  | { result: "no credentials"; simulated: boolean };

export interface CheckScope {
  projectId: string;
  /** ISO 4217: the project's. */
  currency: string;
  gateway: GatewayName;
  environment: Environment;
}

/** One check with all its requests, ms. */
const CHECK_MS = 15_000;

/**
 * Looks up a payment that was never made: a vendor that takes the credentials says that there is none. Gateways whose look-up
 * needs an id of the vendor's have `authenticate` instead. No money moves and nothing is stored, in either environment.
 */
export async function checkCredentials(deps: PaymentsDeps, tokens: AccessTokens, scope: CheckScope): Promise<CredentialsCheck> {
  const { database, projects, random, clock } = deps;
  const gateway = deps.gateways[scope.gateway];
  const settings = await projects.gatewaySettings(database.db, scope.projectId, scope.gateway, scope.environment);
  if (!gateway || !settings) return { result: "no credentials", simulated: false };
  const sessionId = random.uuid();
  const check: IoScope = { ...scope, sessionId, settings, deadlineMs: CHECK_MS, note: () => Promise.resolve() };
  return await withGatewayIo({ ...deps, tokens }, check, async (io) => {
    const answers: GatewayAnswer[] = [];
    const watched: GatewayIo = {
      ...io,
      async send(request) {
        const answer = await io.send(request);
        answers.push(answer);
        return answer;
      },
      // A kept token would say what held when it was minted.
      accessToken: (mint, options) => io.accessToken(mint, { renew: true, ...options }),
    };
    const reason = await faultOf(gateway, watched, { sessionId, currency: scope.currency, startedAtMs: clock.now() });
    return resultOf(answers.at(-1), reason);
  });
}

/** What the gateway made of it: null when it went as it does with credentials in force. */
async function faultOf(
  gateway: Gateway,
  io: GatewayIo,
  { sessionId, currency, startedAtMs }: { sessionId: string; currency: string; startedAtMs: number },
): Promise<string | null> {
  if (gateway.authenticate) {
    const minted = await gateway.authenticate(io);
    return "token" in minted ? null : (minted.reason ?? "it gave no access token");
  }
  const trace = { sessionId, attempt: 1, reference: `${sessionId}-1`, mode: "charge", amountMinor: 100, connectedAccount: null } as const;
  const found = await gateway.lookUp?.({ ...trace, currency, startedAtMs, notes: {} }, io);
  return found?.outcome === "unknown" ? found.reason : null;
}

function resultOf(last: GatewayAnswer | undefined, reason: string | null): CredentialsCheck {
  if (last === undefined) return { result: "cannot be asked" };
  if (last.kind !== "answered") return { result: "not reached", reason: last.reason };
  if (reason === null) return { result: "accepted" };
  if (last.status >= 500 || last.status === 429) return { result: "not reached", reason: `it answered HTTP ${last.status}` };
  const plain = last.status === 401 || last.status === 403;
  return { result: "refused", reason: plain ? `HTTP ${last.status}` : `HTTP ${last.status}: ${reason}` };
}
