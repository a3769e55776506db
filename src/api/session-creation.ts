import { callbackAllowed } from "#src/checkout/index.ts";
import { AppError } from "#src/kernel/errors.ts";
import type { BillingAddress, Environment, GatewayName } from "#src/kernel/payment.ts";
import type { ApiKeyIdentity, Project } from "#src/projects/index.ts";
import type { ApiDeps } from "./deps.ts";
import type { Creation } from "./idempotency.ts";
import { ttlCached } from "./ttl-cache.ts";
import { amountInMinor } from "./schemas/amount.ts";
import { at, Fault, FAULTS, Invalid, type Item } from "./schemas/faults.ts";
import type { SessionCreate } from "./schemas/session.ts";

/** What a new session needs to know of its project. */
export interface SetUp {
  project: Project;
  /** Whether the project's settings for the gateway were found, and whether they hold a platform key. */
  gateway: { platform: boolean } | null;
  /** The number a call is transferred to. */
  phoneNumber: string | null;
}

export const STRIPE_ACCOUNT = FAULTS.value("stripe_account needs the platform key on the project");

/** Reads what a new session needs; throws AppError when the organisation has no such project. */
export function setUpReader({ database, projects, clock, settings }: ApiDeps) {
  const setUpOf = ttlCached(
    clock,
    (organizationId: string, project: string, gateway: GatewayName, environment: Environment) =>
      [organizationId, environment, gateway, project].join(" "),
    async (organizationId, idOrSlug, gateway, environment): Promise<SetUp | null> => {
      const { db } = database;
      const project = await projects.findProject(db, organizationId, idOrSlug);
      if (!project) return null;
      const gatewaySettings = await projects.gatewaySettings(db, project.id, gateway, environment);
      const [number] = await projects.numbersOf(db, project.id);
      return {
        project,
        gateway: gatewaySettings && { platform: gatewaySettings.options["platform"] === true },
        phoneNumber: number ?? settings.phoneNumber,
      };
    },
  );

  return async (
    { organizationId, mode }: ApiKeyIdentity,
    { project, gateway }: { project: string; gateway: GatewayName },
  ): Promise<SetUp> => {
    const setUp = await setUpOf(organizationId, project, gateway, mode);
    if (!setUp) throw new AppError("project_not_found");
    return setUp;
  };
}

/**
 * What is to be made of a body that fits its schema, and the SessionCreateResponse (SPEC) of it. The faults of business rules
 * are thrown.
 */
export function sessionCreation(deps: ApiDeps) {
  const { settings, sipUriFor } = deps;
  const setUpOf = setUpReader(deps);

  return async (identity: ApiKeyIdentity, body: SessionCreate): Promise<Creation> => {
    const { organizationId, mode: environment } = identity;
    const setUp = await setUpOf(identity, body);
    const { project } = setUp;
    const amountMinor = amountInMinor(body.amount, project.currency);
    const items = businessFaults(body, setUp, amountMinor);
    if (items.length > 0 || amountMinor instanceof Fault) throw new Invalid(items);

    return {
      session: {
        organizationId,
        projectId: project.id,
        environment,
        channel: "voice",
        mode: body.mode,
        gateway: body.gateway,
        amountMinor,
        currency: project.currency,
        caller: body.caller,
        description: body.description ?? null,
        callback: body.callback?.text ?? null,
        memory: body.memory ?? null,
        connectedAccount: body.gateway === "stripe" ? (body.stripe_account ?? null) : null,
        billingAddress: body.gateway === "authorizenet" && body.billing_address ? addressOf(body.billing_address) : null,
        ttlSeconds: settings.sessionTtlSeconds,
      },
      answer: ({ id, createdAt }) => ({
        session_id: id,
        status: "created",
        phone_number: setUp.phoneNumber,
        sip_uri: sipUriFor(id),
        created_at: createdAt,
      }),
    };
  };
}

/** What only the project can tell, in the order of the body's fields. */
function businessFaults(body: SessionCreate, setUp: SetUp, amountMinor: number | Fault): Item[] {
  const items: Item[] = [];
  if (amountMinor instanceof Fault) items.push(at(["body", "amount"], amountMinor));
  if (!setUp.gateway) items.push(at(["body", "gateway"], FAULTS.gatewayNotConfigured));
  if (body.callback && !callbackAllowed(body.callback.target, setUp.project))
    items.push(at(["body", "callback"], FAULTS.callbackNotAllowed));
  if (lacksPlatformKey(body, setUp)) items.push(at(["body", "stripe_account"], STRIPE_ACCOUNT));
  return items;
}

/** A connected account is charged with the platform's key, or not at all. */
export function lacksPlatformKey(body: { gateway: GatewayName; stripe_account?: string | null | undefined }, { gateway }: SetUp): boolean {
  return gateway !== null && !gateway.platform && body.gateway === "stripe" && Boolean(body.stripe_account);
}

/** Only authorizenet is given the address; a country that was left out is the US. */
function addressOf(address: NonNullable<SessionCreate["billing_address"]>): BillingAddress {
  return {
    street: address.street,
    city: address.city,
    state: address.state,
    zip: address.zip,
    country: address.country ?? "US",
    first_name: address.first_name ?? null,
    last_name: address.last_name ?? null,
  };
}
