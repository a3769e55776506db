import type { LanguageTag } from "#src/kernel/language.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { createKeyring, type Database, firstKeys } from "#src/platform/index.ts";
import type { GatewayDescriptor, Gateways } from "./gateway-descriptor.ts";
import { createProjects } from "./index.ts";

/** Stand-ins for the tests of this module. */

const MASTER_KEY = new Uint8Array(32).fill(7);

/** A gateway as far as settings go: a secret, a token and a number under `credentials`, one option. */
export const cardWorks: GatewayDescriptor = {
  name: "stripe",
  credentialFields: [
    { name: "secret_key", secret: true, required: true, meaning: "the account's key" },
    { name: "refresh_token", secret: true, required: false, rotates: true, meaning: "a token that rotates" },
    { name: "merchant_number", secret: false, required: false, wholeNumber: true, meaning: "the account's number" },
  ],
  credentialsIn: "credentials",
  optionFields: [{ name: "platform", values: [true, false], default: false, meaning: "connected accounts are charged" }],
  hosts: { test: "https://sandbox.example", live: "https://live.example" },
  sandboxCredentials: () => ({ secret_key: new Secret("sk_test_simulator") }),
  checkSettings: ({ credentials, environment }) =>
    credentials["secret_key"]?.reveal().startsWith(`sk_${environment}_`) ? null : `secret_key is not a ${environment} key`,
};

/** A gateway whose fields stand directly in the block and whose secret may be rolled. */
export const forwarding: GatewayDescriptor = {
  name: "webhook",
  credentialFields: [
    { name: "url", secret: false, required: true, meaning: "the merchant's endpoint" },
    {
      name: "signing_secret",
      secret: true,
      required: true,
      previous: "previous_signing_secret",
      generated: true,
      meaning: "signs the requests",
    },
  ],
  credentialsIn: "block",
  optionFields: [],
  hosts: { test: "", live: "" },
  sandboxCredentials: (endpoint) => ({ url: new Secret(endpoint) }),
  checkSettings: () => null,
};

interface TestOptions {
  simulatorsUrl?: string | null;
  languages?: readonly LanguageTag[];
  gateways?: Gateways;
}

export function testProjects(database: Database, options: TestOptions = {}) {
  return createProjects({
    database,
    keys: firstKeys(createKeyring([MASTER_KEY])),
    random: systemRandom,
    gateways: options.gateways ?? { stripe: cardWorks, webhook: forwarding },
    simulatorsUrl: () => options.simulatorsUrl ?? null,
    ...(options.languages && { languages: options.languages }),
  });
}
