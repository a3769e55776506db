import type { ApiKeyIdentity } from "#src/projects/index.ts";
import type { Widget } from "#src/widget/index.ts";
import type { ApiDeps } from "./deps.ts";
import type { Creation } from "./idempotency.ts";
import { ceilingOf } from "./schemas/amount.ts";
import { at, FAULTS, Invalid, type Item } from "./schemas/faults.ts";
import type { WidgetSessionCreate } from "./schemas/widget-session.ts";
import { lacksPlatformKey, setUpReader, STRIPE_ACCOUNT } from "./session-creation.ts";

/** People type slowly, and nobody is on the line. */
const WIDGET_TTL_SECONDS = 30 * 60;

/** As `sessionCreation`, for a widget session: the same business rules, no caller and nothing to call. */
export function widgetCreation(deps: ApiDeps, widget: Pick<Widget, "urlFor">) {
  const setUpOf = setUpReader(deps);

  return async (identity: ApiKeyIdentity, body: WidgetSessionCreate): Promise<Creation> => {
    const setUp = await setUpOf(identity, body);
    const { project } = setUp;
    const mode = body.mode ?? "charge";
    const ceiling = ceilingOf(project.currency);
    const items: Item[] = [];
    if (body.amount_cents === 0 && mode === "charge") items.push(at(["body", "amount_cents"], FAULTS.moreThan(0)));
    if (body.amount_cents > ceiling) items.push(at(["body", "amount_cents"], FAULTS.atMost(ceiling)));
    if (!setUp.gateway) items.push(at(["body", "gateway"], FAULTS.gatewayNotConfigured));
    if (lacksPlatformKey(body, setUp)) items.push(at(["body", "stripe_account"], STRIPE_ACCOUNT));
    if (items.length > 0) throw new Invalid(items);

    return {
      session: {
        organizationId: identity.organizationId,
        projectId: project.id,
        environment: identity.mode,
        channel: "widget",
        mode,
        gateway: body.gateway,
        amountMinor: body.amount_cents,
        currency: project.currency,
        caller: null,
        description: body.description ?? null,
        callback: null,
        memory: null,
        connectedAccount: body.gateway === "stripe" ? (body.stripe_account ?? null) : null,
        billingAddress: null,
        ttlSeconds: WIDGET_TTL_SECONDS,
      },
      answer: ({ id, createdAt, expiresAt }) => ({
        session_id: id,
        status: "created",
        expires_at: expiresAt,
        widget_url: widget.urlFor(id),
        created_at: createdAt,
      }),
    };
  };
}
