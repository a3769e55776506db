import { EMBEDDED_LANGUAGE, type LanguageTag } from "#src/kernel/language.ts";
import type { Environment, GatewayName } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { Database, Db, InstallationKeys } from "#src/platform/index.ts";
import { createKey, listApiKeys, revokeKey, type ApiKey, type NewApiKey } from "./api-keys.ts";
import type { ApplyOptions } from "./apply/apply.ts";
import { type Command, type CommandDeps, runCommand } from "./commands.ts";
import { type ChangeReport, CommandFault, type CommandSource } from "./commands/change.ts";
import type { GatewaySettings } from "#src/gateways/index.ts";
import { type ExportedState, exportState } from "./export.ts";
import type { Gateways } from "./gateway-descriptor.ts";
import { createGatewaySettings, type Unrenewed } from "./gateway-settings.ts";
import { authenticate, createKeyDigest, invalidKeys, type ApiKeyIdentity } from "./api-key-authentication.ts";
import { overviewOf, unopenedSecrets, type ProjectOverview } from "./overview.ts";
import * as repository from "./repository.ts";
import type { IntegrationSecrets, Project, WebhookEndpoint } from "./repository.ts";
import { ensureStarter, type Starter } from "./starter.ts";
import { rotateMasterKey, type RotationReport } from "./rotation.ts";
import { createVault } from "./vault.ts";

export type { RecordingRead } from "./apply/apply.ts";
export { CommandFault };
export { SETTINGS_CHANNEL } from "./gateway-settings.ts";
export { isWebhookSecret } from "./webhook-secret.ts";
export type {
  ApiKey,
  ChangeReport,
  Command,
  ApiKeyIdentity,
  NewApiKey,
  Project,
  ProjectOverview,
  RotationReport,
  Starter,
  WebhookEndpoint,
};
export { frameVariables, shownTheme, VARIABLE_NAMES } from "./appearance.ts";
export type { WidgetField } from "./settings.ts";

/** Reads apply files; loaded when there is one to read, which a service seldom has. */
export const applyDocument = () => import("./apply/document.ts");

export interface Projects {
  /** Who holds this key; null for a malformed, unknown, expired or revoked one. Malformed ones never reach the database. */
  authenticate(db: Db, token: string): Promise<ApiKeyIdentity | null>;
  /** Which of these keys, by their digests, are revoked, expired, replaced or without the scope by now. */
  invalidKeys(db: Db, digests: readonly string[], scope: string): Promise<string[]>;
  /** By UUID of any case, or slug; null when it is another organisation's, archived or unknown. */
  findProject(db: Db, organizationId: string, idOrSlug: string): Promise<Project | null>;
  list(db: Db, organizationId: string): Promise<Project[]>;
  projectById(db: Db, id: string): Promise<Project | null>;
  /** A project whose row came along with something else, as JSON. */
  fromJson(row: Readonly<Record<string, unknown>>): Project;
  /** The project that a call names by a number that was dialled, the first that counts, or by the IP address of the project's own trunk. */
  projectOfCall(db: Db, numbers: readonly string[], address: string): Promise<{ project: Project; number: string | null } | null>;
  /** The sound of a project's recording, mu-law at 8 kHz, by its digest; null: there is none any more. */
  recording(db: Db, digest: string): Promise<Uint8Array | null>;
  /** What callers hear of the projects, to be rendered before the first of them calls. */
  speaking(db: Db): Promise<repository.Speaking[]>;
  numbersOf(db: Db, projectId: string): Promise<string[]>;
  /** The countries that most projects have, at most `limit`. */
  countries(db: Db, limit: number): Promise<string[]>;
  /** The project's own credentials, else with a test key the simulator's when simulators are on, else null. */
  gatewaySettings(db: Db, projectId: string, gateway: GatewayName, environment: Environment): Promise<GatewaySettings | null>;
  /** The gateways for which `gatewaySettings` finds settings, per project. */
  configuredGateways(db: Db, projectIds: readonly string[], environment: Environment): Promise<Map<string, GatewayName[]>>;
  /** Keeps what `change` makes of the newest credentials, under a lock that all processes share; `change` must not query the database. */
  rotateCredentials(
    projectId: string,
    gateway: GatewayName,
    environment: Environment,
    change: (current: Readonly<Record<string, Secret>>) => Promise<Record<string, Secret> | null>,
  ): Promise<Readonly<Record<string, Secret>>>;
  /** Credentials that their vendor replaces with each use, and that were neither renewed nor saved for so many days. */
  unrenewedCredentials(db: Db, days: number): Promise<Unrenewed[]>;
  webhookEndpoint(db: Db, projectId: string, environment: Environment): Promise<WebhookEndpoint | null>;
  /** False when the endpoint is at another address than `url`, which then is not disabled. */
  disableWebhookEndpoint(db: Db, projectId: string, environment: Environment, url: string): Promise<boolean>;
  enableWebhookEndpoint(db: Db, projectId: string, environment: Environment): Promise<void>;
  integrationSecrets(db: Db, projectId: string): Promise<IntegrationSecrets>;
  /** Carries out one change, in a transaction of its own; throws CommandFault, which names the path of the value at fault. */
  change(by: CommandSource, command: Command): Promise<ChangeReport>;
  /** Makes a key and returns it, for the only time; throws OperatorError for what cannot be made. */
  createKey(wanted: NewApiKey): Promise<{ key: string; shown: ApiKey }>;
  /** The keys of one organisation, by its slug, or of all; throws OperatorError when there is no such organisation. */
  listKeys(db: Db, organization: string | null): Promise<ApiKey[]>;
  /** Revokes the one key that `what` means: a name, ORG/NAME, its beginning, or the key; throws OperatorError when none or several do. */
  revokeKey(what: string): Promise<{ already: boolean; shown: ApiKey }>;
  /** Every project of the installation and what is set up for it. */
  overview(db: Db): Promise<ProjectOverview[]>;
  /** Which sealed secrets the master key does not open. */
  unopenedSecrets(db: Db): Promise<{ opened: number; failed: string[] }>;
  /** Puts everything sealed under a new master key, or with `reencrypt` under new data keys; throws OperatorError when it may not. */
  rotateMasterKey(options: { reencrypt: boolean }): Promise<RotationReport>;
  /** Brings the installation to what the apply file declares, or throws OperatorError naming the line. `env` fills `${NAME}`. */
  applyFile(text: string, env: Readonly<Record<string, string | undefined>>, options?: ApplyOptions): Promise<ChangeReport>;
  /** The present state as an apply file, without secrets. */
  exportState(db: Db): Promise<ExportedState>;
  /** Makes the demo project and its test key on an embedded installation; returns the same key at every start. */
  ensureStarter(): Promise<Starter>;
}

export interface ProjectsDeps {
  database: Database;
  /** Seal credentials and secrets, and hash API keys. */
  keys: InstallationKeys;
  random: Random;
  gateways: Gateways;
  /** Base address of the simulators without a trailing slash, or null when they are off. */
  simulatorsUrl: () => string | null;
  /** What calls can be spoken in; default: as the embedded voice does. */
  languages?: readonly LanguageTag[];
}

export function createProjects({
  database,
  keys,
  random,
  gateways,
  simulatorsUrl,
  languages = [EMBEDDED_LANGUAGE],
}: ProjectsDeps): Projects {
  const vault = createVault(keys.keyring);
  const digestOf = createKeyDigest(keys.pepper);
  const commands: CommandDeps = { database, vault, random, gateways, digestOf, languages };
  const settings = createGatewaySettings({ database, vault, gateways, simulatorsUrl });
  return {
    authenticate: (db, token) => authenticate(db, token, digestOf),
    invalidKeys,
    findProject: repository.findProject,
    list: repository.listProjects,
    projectById: repository.projectById,
    fromJson: repository.projectFromJson,
    projectOfCall: repository.projectOfCall,
    recording: repository.recording,
    speaking: repository.speaking,
    numbersOf: repository.numbersOf,
    countries: repository.countries,
    gatewaySettings: settings.find,
    configuredGateways: settings.configured,
    rotateCredentials: settings.rotate,
    unrenewedCredentials: settings.unrenewed,
    webhookEndpoint: (db, projectId, environment) => repository.webhookEndpoint(db, vault, projectId, environment),
    disableWebhookEndpoint: repository.disableWebhookEndpoint,
    enableWebhookEndpoint: repository.enableWebhookEndpoint,
    integrationSecrets: (db, projectId) => repository.integrationSecrets(db, vault, projectId),
    change: (by, command) => runCommand(commands, by, command),
    createKey: (wanted) => createKey(commands, wanted),
    listKeys: listApiKeys,
    revokeKey: (what) => revokeKey(commands, what),
    overview: overviewOf,
    unopenedSecrets: (db) => unopenedSecrets(db, vault),
    rotateMasterKey: (options) => rotateMasterKey({ database, keyring: keys.keyring, random }, options),
    applyFile: async (text, env, options) => (await import("./apply/apply.ts")).applyFile(commands, text, env, options),
    exportState: (db) => exportState(db, vault, gateways),
    ensureStarter: () => ensureStarter({ database, starter: keys.starter, random, digestOf }),
  };
}
