import type { Environment } from "#src/kernel/payment.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { CredentialField, Gateway, GatewayIo, GatewaySettings, OptionField } from "../contract.ts";

/**
 * A gateway's settings, described once and typed by their description: a credential or option that is not described does not
 * compile. `hosts` may name credentials in braces (`https://{site}.vendor.example`), for vendors with a host per merchant.
 */
export interface SettingsDescription {
  hosts: Readonly<Record<Environment, string>>;
  /** Hosts of vendors that split their calls, by the part they serve. An `endpoint` of the apply file replaces them too. */
  sideHosts?: Readonly<Record<string, Readonly<Record<Environment, string>>>>;
  credentials: Readonly<Record<string, CredentialDescription>>;
  options?: Readonly<Record<string, OptionDescription>>;
}

type CredentialDescription = Omit<CredentialField, "name" | "required"> & {
  optional?: true;
  /** What a value must look like, and that in words ("a whole number such as 12345"): the fault is "<name> is not <words>". */
  form?: readonly [RegExp, string];
};
type OptionDescription = Omit<OptionField, "name">;

type Optional<C> = { [N in keyof C]: C[N] extends { optional: true } ? N : never }[keyof C];
type Previous<C> = { [N in keyof C]: C[N] extends { previous: infer P extends string } ? P : never }[keyof C];
type Values<C> = { readonly [N in Exclude<keyof C, Optional<C>>]: Secret } & { readonly [N in Optional<C> | Previous<C>]?: Secret };

/** Settings as the adapter of this description gets them. */
export type SettingsOf<D extends SettingsDescription> = Omit<GatewaySettings, "credentials" | "options"> & {
  readonly credentials: Values<D["credentials"]>;
  readonly options: { readonly [N in keyof NonNullable<D["options"]>]: NonNullable<D["options"]>[N]["values"][number] };
  /** Base addresses of the parts in `sideHosts`. */
  readonly side: { readonly [N in keyof NonNullable<D["sideHosts"]>]: string };
};

/** GatewayIo whose settings are typed. */
export type Io<D extends SettingsDescription> = Omit<GatewayIo, "settings"> & { readonly settings: SettingsOf<D> };

/** Plain texts for the simulator's credentials. */
export type SandboxValues<D extends SettingsDescription> = {
  readonly [N in Exclude<keyof D["credentials"], Optional<D["credentials"]>>]: string;
} & { readonly [N in Optional<D["credentials"]>]?: string };

/** Keeps the description's literal types. */
export function describeSettings<const D extends SettingsDescription>(description: D): D {
  return description;
}

/** A credential that is masked everywhere; `more` says what else holds of it. */
export const secret = <const M extends Partial<CredentialDescription> = object>(meaning: string, more?: M) =>
  ({ secret: true, meaning, ...more }) as { secret: true; meaning: string } & M;

/** A credential that is no secret: an account's number, a name. */
export const plainText = <const M extends Partial<CredentialDescription> = object>(meaning: string, more?: M) =>
  ({ secret: false, meaning, ...more }) as { secret: false; meaning: string } & M;

/** An option that is on or off. */
export const flag = (byDefault: boolean, meaning: string) => ({ values: [true, false] as const, default: byDefault, meaning });

/** An option that is one of several words, the first when it is not given. */
export const oneOf = <const V extends readonly [string, ...string[]]>(values: V, meaning: string) => ({
  values,
  default: values[0],
  meaning,
});

/** Vendors whose interface resellers offer under hosts of their own: a credential that replaces the vendor's host. */
export const BASE_URL = plainText("https address that a reseller gave instead of the vendor's own, without a path", { optional: true });

/** The description in the words of the contract. */
export function fieldsOf(description: SettingsDescription): Pick<Gateway, "credentialFields" | "optionFields" | "hosts" | "sideHosts"> {
  return {
    credentialFields: Object.entries(description.credentials).map(([name, { optional, form: _form, ...field }]) => ({
      name,
      required: !optional,
      ...field,
    })),
    optionFields: Object.entries(description.options ?? {}).map(([name, field]) => ({ name, ...field })),
    hosts: description.hosts,
    ...(description.sideHosts && { sideHosts: description.sideHosts }),
  };
}

/**
 * Settings with every address filled in: an `endpoint` of the apply file before the project's `base_url`, and that before the
 * vendor's host. Null when a required credential is missing.
 */
export function resolveSettings<D extends SettingsDescription>(description: D, settings: GatewaySettings): SettingsOf<D> | null {
  const { credentials, environment, endpoint } = settings;
  const missing = Object.entries(description.credentials).some(([name, { optional }]) => !optional && !credentials[name]);
  if (missing) return null;
  const replaced = endpoint !== description.hosts[environment];
  const base = replaced ? undefined : credentials["base_url"]?.reveal();
  const fill = (host: string) => host.replace(/\{(\w+)\}/g, (_whole, name: string) => credentials[name]?.reveal() ?? "");
  const side = Object.entries(description.sideHosts ?? {}).map(([part, hosts]) => [part, replaced ? endpoint : fill(hosts[environment])]);
  return {
    ...settings,
    endpoint: (base ?? (replaced ? endpoint : fill(endpoint))).replace(/\/+$/, ""),
    side: Object.fromEntries(side) as Record<string, string>,
  } as unknown as SettingsOf<D>;
}

/** What is wrong with a project's credentials by their description: missing, or not of their form. */
export function credentialFaults(description: SettingsDescription, { credentials }: GatewaySettings): string[] {
  const fields = Object.entries(description.credentials);
  const missing = fields.flatMap(([name, { optional }]) => (optional || credentials[name] ? [] : name));
  const misshapen = fields.flatMap(([name, { form }]) => {
    const value = credentials[name]?.reveal();
    return value === undefined || !form || form[0].test(value) ? [] : `${name} is not ${form[1]}`;
  });
  return [...(missing.length > 0 ? [`${missing.join(", ")} ${missing.length > 1 ? "are" : "is"} missing`] : []), ...misshapen];
}

/** What is wrong with the addresses that a project's credentials give, or null. */
export function addressFault(description: SettingsDescription, { credentials, environment }: GatewaySettings): string | null {
  const base = "base_url" in description.credentials ? credentials["base_url"]?.reveal() : undefined;
  const url = base !== undefined && URL.canParse(base) ? new URL(base) : null;
  if (base !== undefined && !(url?.protocol === "https:" && [url.origin, `${url.origin}/`].includes(base)))
    return "base_url is not an https address without a path, such as https://reseller.example";
  const hosts = [description.hosts, ...Object.values(description.sideHosts ?? {})].map((byEnvironment) => byEnvironment[environment]);
  for (const [, name = ""] of hosts.flatMap((host) => [...host.matchAll(/\{(\w+)\}/g)])) {
    // A part of a host name: it must not turn the address elsewhere.
    if (!/^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(credentials[name]?.reveal() ?? ""))
      return `${name} is not a part of a host name`;
  }
  return null;
}

/** Credentials of the simulator, wrapped. */
export function sandboxSecrets(values: Readonly<Record<string, string | undefined>>): Record<string, Secret> {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, new Secret(value)]));
}
