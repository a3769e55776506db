import { parseArgs } from "node:util";
import { type Gateway, GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { type Environment, type GatewayName, isGatewayName } from "#src/kernel/payment.ts";
import type { CredentialsCheck } from "#src/payments/index.ts";
import { findProject } from "./find-project.ts";
import { isHelped } from "./help.ts";
import { operation, type Operations, runnerOf, type Sent } from "./operation.ts";

const USAGE = `Usage: voicetill gateways [--json]
    The gateways, what each can do, and the names of their credentials and options for the apply file.

voicetill gateways test PROJECT GATEWAY [--live] [--json]
    Asks the vendor whether it takes the project's credentials: those for its sandbox, with --live the live ones. Nothing is charged.`;

const test = operation({
  arguments: "PROJECT GATEWAY [--live]",
  summary: "Asks the vendor whether it takes the project's credentials. Nothing is charged. PROJECT: its slug, or ORGANIZATION/SLUG.",
  options: { live: { type: "boolean" } },
  takes: 2,
  opening: { leavesAudit: true },
  read({ live }, project: string, gateway: string): { project: string; gateway: GatewayName; environment: Environment } {
    if (!isGatewayName(gateway) || !GATEWAYS_BUILT[gateway])
      throw new OperatorError(`There is no gateway "${gateway}"; voicetill gateways lists them.`);
    return { project, gateway, environment: live ? "live" : "test" };
  },
  async work({ database, projects, payments }, { project: name, gateway, environment }) {
    const found = findProject(await projects.overview(database.db), name);
    const { id, organization, project, currency } = found;
    const isOwn = found.gateways.some((own) => own.gateway === gateway && own.environment === environment);
    // What answers otherwise is the simulator, which takes its own credentials.
    const isSimulated = !isOwn && (await projects.gatewaySettings(database.db, id, gateway, environment)) !== null;
    const check: CredentialsCheck = isOwn
      ? await payments.checkCredentials({ projectId: id, currency, gateway, environment })
      : { result: "no credentials", simulated: isSimulated };
    return { project: `${organization}/${project}`, gateway, environment, ...check };
  },
  show: ({ project, gateway, environment, ...check }) => `${gateway} (${environment}) of ${project}: ${sentenceOf(check)}`,
  fails: ({ result }) => result !== "accepted" && result !== "cannot be asked",
});

export const operations: Operations = { "gateways test": test };

/** What a check came to, in a few words. */
export function sentenceOf(check: Sent<CredentialsCheck>): string {
  const reason = "reason" in check ? check.reason : "";
  const standIn = "simulated" in check && check.simulated ? "test sessions use the simulator" : "no simulator stands in for the vendor";
  return {
    accepted: "the vendor takes the credentials",
    refused: `the vendor does not take the credentials (${reason})`,
    "not reached": `no answer that says anything about the credentials (${reason})`,
    "cannot be asked": "only a payment would tell: the vendor answers nothing else",
    "no credentials": `there are no credentials; ${standIn}`,
  }[check.result];
}

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  return args[0] === undefined || args[0].startsWith("-") ? list(args) : runnerOf("gateways", operations)(args);
}

function list(args: string[]): number {
  const { values } = parseArgs({ args, options: { json: { type: "boolean" } } });
  const gateways = Object.values(GATEWAYS_BUILT);
  process.stdout.write(values.json ? `${JSON.stringify(gateways.map(jsonOf))}\n` : `${gateways.flatMap(linesOf).join("\n")}\n`);
  return 0;
}

function jsonOf({ name, capabilities, credentialFields, optionFields }: Gateway): object {
  return { name, capabilities, credentials: credentialFields, options: optionFields };
}

function linesOf({ name, capabilities, credentialFields, optionFields }: Gateway): string[] {
  return [
    name,
    `  ${abilitiesOf(capabilities).join("; ")}`,
    ...credentialFields.map((field) => {
      const marks = [field.required ? "required" : "optional", ...(field.secret ? ["secret"] : [])].join(", ");
      return `  ${field.name} (${marks}): ${field.meaning}`;
    }),
    ...optionFields.map(
      (option) => `  option ${option.name} = ${option.values.join(" | ")} (default ${String(option.default)}): ${option.meaning}`,
    ),
  ];
}

/** Each capability in a few words; what the generated pages say at length. */
function abilitiesOf(can: Gateway["capabilities"]): string[] {
  return [
    can.authorizeOnly ? "charges at once or holds" : "charges at once",
    `stores a card as ${can.token}${can.verifiesOnTokenize ? ", verified" : ", not verified"}`,
    can.moto ? "marks telephone orders" : "no mark for telephone orders",
    can.lookUp === "none" || can.lookUp === "by rule" ? "a lost answer cannot be looked up" : `a lost answer is looked up ${can.lookUp}`,
    can.voidBy === "none" ? "no reversal" : `reversal by ${can.voidBy}`,
  ];
}
