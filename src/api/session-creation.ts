import type { ApiKeyIdentity } from "#src/projects/index.ts";
import { shortCodeOf } from "#src/sessions/index.ts";
import { validOrThrow } from "./checkout-faults.ts";
import type { ApiDeps } from "./deps.ts";
import type { Creation } from "./idempotency.ts";
import type { SessionCreate, WebCallCreate } from "./schemas/session.ts";

/** The session that a body asks for, and the SessionCreateResponse that tells of it; throws what `validOrThrow` throws. */
export function sessionCreation({ checkout, sipUriFor, widget }: ApiDeps) {
  return async ({ organizationId, mode: environment }: ApiKeyIdentity, body: SessionCreate | WebCallCreate): Promise<Creation> => {
    const { billing_address: address } = body;
    const result = await checkout.voiceSession(
      { organizationId, environment },
      {
        project: body.project,
        gateway: body.gateway,
        mode: body.mode,
        amount: body.amount,
        caller: body.caller,
        description: body.description ?? null,
        callback: body.callback ?? null,
        memory: body.memory ?? null,
        connectedAccount: body.stripe_account ?? null,
        billingAddress: address
          ? { ...address, country: address.country ?? null, first_name: address.first_name ?? null, last_name: address.last_name ?? null }
          : null,
      },
    );
    const { session, phoneNumber, offersLink, hasCode } = validOrThrow(result, "amount");
    return {
      session,
      response: (id) => {
        const payUrl = widget?.linkFor({ id, offersLink, status: "PENDING" }) ?? null;
        return {
          session_id: id,
          status: "created",
          phone_number: phoneNumber,
          sip_uri: sipUriFor(id),
          ...(payUrl !== null && { pay_url: payUrl }),
          ...(hasCode && { short_code: shortCodeOf(id) }),
          created_at: null,
        };
      },
    };
  };
}
