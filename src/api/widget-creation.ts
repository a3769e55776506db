import type { ApiKeyIdentity } from "#src/projects/index.ts";
import type { Widget } from "#src/widget/index.ts";
import { validOrThrow } from "./checkout-faults.ts";
import type { ApiDeps } from "./deps.ts";
import type { Creation } from "./idempotency.ts";
import type { WidgetSessionCreate } from "./schemas/widget-session.ts";

/** As `sessionCreation`, for a widget session. */
export function widgetCreation({ checkout }: ApiDeps, widget: Pick<Widget, "urlFor">) {
  return async ({ organizationId, mode: environment }: ApiKeyIdentity, body: WidgetSessionCreate): Promise<Creation> => {
    const result = await checkout.widgetSession(
      { organizationId, environment },
      {
        project: body.project,
        gateway: body.gateway,
        mode: body.mode ?? "charge",
        amountMinor: body.amount_cents,
        description: body.description ?? null,
        connectedAccount: body.stripe_account ?? null,
      },
    );
    const { session } = validOrThrow(result, "amount_cents");
    return {
      session,
      response: (id) => ({
        session_id: id,
        status: "created",
        expires_at: null,
        widget_url: widget.urlFor(id),
        created_at: null,
      }),
    };
  };
}
