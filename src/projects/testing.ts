import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { createKeyring, type Database, firstKeys } from "#src/platform/index.ts";
import type { GatewayDescriptor } from "./gateway-descriptor.ts";
import { createProjects } from "./index.ts";

/** Stand-ins for the tests of this module. */

const MASTER_KEY = new Uint8Array(32).fill(7);

/** A gateway as far as settings go: a secret, a token and a number under `credentials`, one option. */
export const cardWorks: GatewayDescriptor = {
  name: "stripe",
  credentialFields: [
    { name: "secret_key", required: true },
    { name: "refresh_token", required: false },
    { name: "merchant_number", required: false, wholeNumber: true },
  ],
  credentialsIn: "credentials",
  optionFields: [{ name: "platform", values: [true, false], default: false }],
  hosts: { test: "https://sandbox.example", live: "https://live.example" },
  sandboxCredentials: () => ({ secret_key: new Secret("sk_test_simulator") }),
  checkSettings: ({ credentials, environment }) =>
    credentials["secret_key"]?.reveal().startsWith(`sk_${environment}_`) ? null : `secret_key is not a ${environment} key`,
};

/** A gateway whose fields stand directly in the block and whose secret may be rolled. */
export const forwarding: GatewayDescriptor = {
  name: "webhook",
  credentialFields: [
    { name: "url", required: true },
    { name: "signing_secret", required: true, previous: "previous_signing_secret", generated: true },
  ],
  credentialsIn: "block",
  optionFields: [],
  hosts: { test: "", live: "" },
  sandboxCredentials: (endpoint) => ({ url: new Secret(endpoint) }),
  checkSettings: () => null,
};

export function testProjects(database: Database, options: { simulatorsUrl?: string | null } = {}) {
  return createProjects({
    database,
    keys: firstKeys(createKeyring([MASTER_KEY])),
    random: systemRandom,
    gateways: { stripe: cardWorks, webhook: forwarding },
    simulatorsUrl: () => options.simulatorsUrl ?? null,
  });
}
