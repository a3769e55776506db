import type { Gateway, GatewaySettings } from "#src/gateways/index.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import { Secret } from "#src/kernel/secret.ts";

/** What settings need to know of a gateway. */
export type GatewayDescriptor = Pick<
  Gateway,
  "name" | "credentialFields" | "credentialsIn" | "optionFields" | "hosts" | "sandboxCredentials" | "checkSettings"
>;

/** The gateways that are built. */
export type Gateways = Readonly<Partial<Record<GatewayName, GatewayDescriptor>>>;

export type Options = Record<string, string | boolean>;

/** Settings as a gateway sees them: secrets wrapped, options at their defaults where none were chosen. */
export function openSettings(
  gateway: GatewayDescriptor,
  environment: Environment,
  stored: { credentials: Readonly<Record<string, string>>; options: Options; endpoint: string | null; version: number },
): GatewaySettings {
  const defaults = Object.fromEntries(gateway.optionFields.map((field) => [field.name, field.default]));
  return {
    environment,
    credentials: wrap(stored.credentials),
    options: { ...defaults, ...stored.options },
    // An endpoint replaces the vendor's host in test mode only: live money never goes to an address of a file.
    endpoint: (environment === "test" ? stored.endpoint : null) ?? gateway.hosts[environment],
    version: stored.version,
  };
}

export function wrap(values: Readonly<Record<string, string>>): Record<string, Secret> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, new Secret(value)]));
}
