import { Secret } from "#src/kernel/secret.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { GatewaySettings } from "#src/gateways/index.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { Db } from "#src/platform/index.ts";
import type { Project, Projects } from "#src/projects/index.ts";
import { authenticate, createKeyDigest } from "#src/projects/api-key-authentication.ts";
import { readVoice, readWidget } from "#src/projects/settings.ts";
import type { WorldState } from "./state.ts";

/** What stands in a world before anything happens: two organisations, a project of each, their settings. */

const ORGANIZATIONS = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"] as const;

/**
 * Two, so that one project's dead receiver can be seen not to delay the other's webhooks; of two organisations, so that a caller
 * whom both wait for can be seen to be given to neither.
 */
export const PROJECTS = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"] as const;

/** Whether a project's voice sessions may also be paid by a link. */
export const offersLink = (projectId: string): boolean => projectId === PROJECTS[0];

/** Their telephone numbers, and one that is no project's. */
export const NUMBERS = ["+18005550001", "+18005550002"] as const;
export const UNASSIGNED_NUMBER = "+18005550009";

export function organizationOf(projectId: string): string {
  return ORGANIZATIONS[PROJECTS.indexOf(projectId as (typeof PROJECTS)[0])]!;
}

/** What browsers know the service by. */
export const SERVICE_URL = "http://till.example";
export const STRIPE = "https://stripe.example";
export const MERCHANT = "https://merchant.example/";
export const RECEIVER = "https://receiver.example/";
export const SIGNING_SECRET = "whsec_cHJvdmUgcHJvdmUgcHJvdmUgcHJvdmUgcHJvdmU=";

export const digestOf = createKeyDigest(new Uint8Array(32).fill(5));

export function insertFixtures(world: WorldState): void {
  const { database } = world;
  const created = new Date(world.scheduler.now);
  for (const [index, id] of ORGANIZATIONS.entries())
    database.insertFixture("organizations", { id, slug: `acme-${index}`, name: "Acme", created_at: created });
  for (const [index, id] of PROJECTS.entries()) {
    const row = { id, organization_id: organizationOf(id), slug: `shop-${index}`, name: "Shop", currency: "USD", language: "en-US" };
    database.insertFixture("projects", {
      ...row,
      country: "US",
      archived: false,
      accepted_brands: [],
      voice: voiceOf(id),
      created_at: created,
    });
    database.insertFixture("webhook_endpoints", { project_id: id, environment: "both", url: RECEIVER, amount_unit: "dollars" });
  }
}

/** The project's settings of the telephone, as its row has them. */
function voiceOf(projectId: string): object {
  const zip = projectId === PROJECTS[0] ? [] : ["zip"];
  return { collect: ["number", "expiry", "cvv", ...zip], pay_url: offersLink(projectId) };
}

export function projectOfNumber(number: string): { id: string; country: string } | null {
  const id = PROJECTS[NUMBERS.indexOf(number as (typeof NUMBERS)[0])];
  return id === undefined ? null : { id, country: "US" };
}

/** Settings without a database: how they are kept and sealed is no part of what is simulated. Keys are looked up as they are. */
export function projectsOf(world: WorldState): Projects {
  const settingsOf = (gateway: GatewayName): GatewaySettings => {
    const endpoint = gateway === "stripe" ? STRIPE : MERCHANT;
    const credentials = GATEWAYS_BUILT[gateway]?.sandboxCredentials(endpoint) ?? {};
    return { environment: "test", credentials, options: {}, endpoint, version: 1 };
  };
  const projectOf = (id: string): Project => ({
    id,
    organizationId: organizationOf(id),
    slug: `shop-${PROJECTS.indexOf(id as (typeof PROJECTS)[0])}`,
    name: "Shop",
    currency: "USD",
    language: "en-US",
    country: "US",
    archived: false,
    acceptedBrands: [],
    voice: readVoice(voiceOf(id)),
    widget: readWidget({}),
    createdAt: new Date(0),
  });
  const secrets = [new Secret(SIGNING_SECRET)];
  const known = {
    projectById: async (_: unknown, id: string) => projectOf(id),
    fromJson: (row: { id: string }) => projectOf(row.id),
    projectOfCall: async (_: unknown, numbers: readonly string[]) => {
      const number = numbers.find((one) => projectOfNumber(one) !== null);
      return number === undefined ? null : { project: projectOf(projectOfNumber(number)!.id), number };
    },
    authenticate: (db: Db, token: string) => authenticate(db, token, digestOf),
    countries: async () => ["US"],
    gatewaySettings: async (_: unknown, project: string, gateway: GatewayName) =>
      project === PROJECTS[1] && world.scheduler.now < world.withdrawnUntil ? null : settingsOf(gateway),
    rotateCredentials: async () => ({}),
    webhookEndpoint: async (_: unknown, projectId: string) => ({
      url: `${RECEIVER}${projectId}/${world.addresses.get(projectId)?.version ?? 0}`,
      secrets,
      amountUnit: "dollars",
      disabledAt: null,
    }),
    disableWebhookEndpoint: async () => world.break("I5", null, "an endpoint was disabled that never asked for it"),
  };
  return known as unknown as Projects;
}
