import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import { Secret } from "#src/kernel/secret.ts";

/** What this module needs to know of a gateway; `gateways/contract.ts` is the whole of it. */
export interface GatewayDescriptor {
  readonly name: GatewayName;
  readonly credentialFields: readonly { name: string; required: boolean; previous?: string; wholeNumber?: boolean; generated?: boolean }[];
  /** Where the apply file writes those fields: under `credentials`, or directly in the environment's block. */
  readonly credentialsIn: "credentials" | "block";
  readonly optionFields: readonly { name: string; values: readonly (string | boolean)[]; default: string | boolean }[];
  readonly hosts: Readonly<Record<Environment, string>>;
  sandboxCredentials(endpoint: string): Readonly<Record<string, Secret>>;
  checkSettings(settings: GatewaySettings): string | null;
}

/** The gateways that are built. */
export type Gateways = Readonly<Partial<Record<GatewayName, GatewayDescriptor>>>;

/** A project's settings for one gateway and environment, opened. */
export interface GatewaySettings {
  environment: Environment;
  credentials: Readonly<Record<string, Secret>>;
  options: Readonly<Record<string, string | boolean>>;
  /** Base address in force, no trailing slash. */
  endpoint: string;
  /** Counts up with each save. */
  version: number;
}

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
