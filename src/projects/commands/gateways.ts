import { isDeepStrictEqual } from "node:util";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import { openSettings, type GatewayDescriptor, type Options } from "../gateway-descriptor.ts";
import { findStored, saveStored, type StoredSettings } from "../gateway-settings.ts";
import { newSecret } from "../webhook-secret.ts";
import { type Change, CommandFault, eachOf, note, type Path, type ProjectKey } from "./change.ts";
import type { CredentialValue, EnvironmentBlock, GatewayBlock, GatewayBlocks } from "./shapes.ts";

const ENVIRONMENTS: readonly Environment[] = ["test", "live"];
const EMPTY: Omit<StoredSettings, "version"> = { applied: {}, current: {}, options: {}, endpoint: null };

/** What stands for a gateway that is null. */
const TAKEN_AWAY: GatewayBlock = { test: null, live: null };

/** Saves the gateways' settings that differ; each save counts the settings' version up. null takes a gateway's, or one environment's, away. */
export async function saveGateways(change: Change, project: ProjectKey, blocks: GatewayBlocks): Promise<void> {
  const all = Object.entries(blocks) as [GatewayName, GatewayBlock | null][];
  await eachOf(
    all.flatMap(([name, block]) => {
      const gateway = change.gateways[name];
      return gateway
        ? ENVIRONMENTS.map((environment) => () => saveEnvironment(change, project, gateway, environment, block ?? TAKEN_AWAY))
        : [];
    }),
  );
}

async function saveEnvironment(
  change: Change,
  project: ProjectKey,
  gateway: GatewayDescriptor,
  environment: Environment,
  block: GatewayBlock,
): Promise<void> {
  const own = block[environment];
  const options = { ...optionsIn(gateway, block), ...optionsIn(gateway, own ?? {}) };
  const key = { projectId: project.id, organizationId: project.organizationId, gateway: gateway.name, environment };
  const { version: _version, ...stored } = (await findStored(change.tx, change.vault, key, true)) ?? { version: 0, ...EMPTY };
  // What was taken away has a row that is empty: its version must go on counting, for the attempts that name one.
  const isStored = !isDeepStrictEqual(stored, EMPTY);
  // Options written above both modes reach the simulator as well, live settings only where there are any.
  const reached = own || isStored || (environment === "test" && Object.keys(options).length > 0);
  if (!reached) return;

  const before = own === null ? EMPTY : stored;
  const object = `gateway ${gateway.name} (${environment}) of ${project.label}`;
  const merged = mergeCredentials(gateway, before.applied, own);
  const made = own ? missingSecrets(change, gateway, merged) : {};
  const applied = { ...merged, ...made };
  const wanted: Omit<StoredSettings, "version"> = {
    applied,
    // A credential that the vendor has rotated since is kept until another one is given.
    current: isDeepStrictEqual(applied, before.applied) ? before.current : applied,
    options: { ...before.options, ...(own === null && environment === "live" ? {} : options) },
    endpoint: own?.endpoint === undefined ? before.endpoint : (own.endpoint?.replace(/\/+$/, "") ?? null),
  };
  const isWanted = !isDeepStrictEqual(wanted, EMPTY);
  const path = ["gateways", gateway.name, ...(own === undefined ? [] : [environment])];
  if (isWanted || own !== null) check(gateway, environment, wanted, path, own?.credentials !== undefined);

  if (isDeepStrictEqual(wanted, stored)) return;
  await saveStored(change.tx, change.vault, key, wanted);
  for (const [field, secret] of Object.entries(made)) change.report.generated.push({ object: `${field} of ${object}`, secret });
  const action = !isWanted ? "removed" : isStored ? "changed" : "created";
  await note(change, project.organizationId, { object, action });
}

function optionsIn(gateway: GatewayDescriptor, block: Record<string, unknown>): Options {
  const chosen = gateway.optionFields.map((field) => [field.name, block[field.name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(chosen) as Options;
}

/** The stored credentials with those of the block over them. A rolled one is kept beside the new one under its own name. */
function mergeCredentials(
  gateway: GatewayDescriptor,
  before: Record<string, string>,
  block: EnvironmentBlock | null | undefined,
): Record<string, string> {
  const written = (gateway.credentialsIn === "block" ? block : block?.credentials) ?? {};
  const merged = { ...before };
  for (const field of gateway.credentialFields) {
    const value = written[field.name] as CredentialValue | null | undefined;
    if (value === undefined) continue;
    const [newest, previous] = typeof value === "string" ? [value] : (value ?? []);
    put(merged, field.name, newest);
    if (field.previous !== undefined) put(merged, field.previous, previous);
  }
  return merged;
}

function put(credentials: Record<string, string>, name: string, value: string | undefined): void {
  if (value === undefined) delete credentials[name];
  else credentials[name] = value;
}

/** Secrets that this installation makes itself when none is given. */
function missingSecrets({ random }: Change, gateway: GatewayDescriptor, merged: Readonly<Record<string, string>>): Record<string, string> {
  const missing = gateway.credentialFields.filter((field) => field.generated && merged[field.name] === undefined);
  return Object.fromEntries(missing.map((field) => [field.name, newSecret(random.bytes(32))]));
}

/** Refuses settings that could never work: told now, not to a caller. `isSpoken`: credentials are spoken of, though it may be none. */
function check(
  gateway: GatewayDescriptor,
  environment: Environment,
  wanted: Omit<StoredSettings, "version">,
  path: Path,
  isSpoken: boolean,
): void {
  const { applied, options, endpoint } = wanted;
  const optionsAlone = environment === "test" && endpoint === null && Object.keys(applied).length === 0 && !isSpoken;
  if (optionsAlone) return;
  const missing = gateway.credentialFields.filter((field) => field.required && applied[field.name] === undefined);
  if (missing.length > 0) throw new CommandFault(path, `${gateway.name} needs ${missing.map(({ name }) => name).join(", ")}`);
  const fault = gateway.checkSettings(openSettings(gateway, environment, { credentials: applied, options, endpoint, version: 0 }));
  if (fault !== null) throw new CommandFault(path, fault);
}
