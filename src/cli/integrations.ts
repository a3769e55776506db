import { OperatorError } from "#src/kernel/errors.ts";
import type { Configuration } from "#src/integrations/index.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";
import { MODES } from "#src/kernel/payment.ts";
import { findProject } from "./find-project.ts";
import { operation, type Operations, runnerOf } from "./operation.ts";

const show = operation({
  arguments: "PROJECT [--gateway NAME] [--mode charge|tokenize] [--callback URI] [--control] [--live]",
  summary:
    "Finished settings for voice platforms: tools, transfer, prompt, with this installation's addresses and no secret. PROJECT: a slug, or ORG/slug.",
  options: {
    gateway: { type: "string" },
    mode: { type: "string" },
    callback: { type: "string" },
    control: { type: "boolean" },
    live: { type: "boolean" },
  },
  takes: 1,
  async read({ gateway, mode = "charge", callback, control = false, live = false }, project: string) {
    if (!(MODES as readonly string[]).includes(mode)) throw new OperatorError(`--mode takes ${MODES.join(" or ")}; "${mode}" is neither.`);
    if (callback !== undefined && !(await import("#src/checkout/index.ts")).parseCallback(callback))
      throw new OperatorError(`--callback takes a SIP URI or a number such as +15550001111; ${JSON.stringify(callback)} is neither.`);
    return {
      project,
      gateway: gateway ?? null,
      mode,
      callback: callback ?? null,
      transfersByControl: control,
      environment: live ? ("live" as const) : ("test" as const),
    };
  },
  async work(
    { projects, database, trunks, baseUrl, sip },
    { project: name, gateway: wanted, mode, callback, transfersByControl, environment },
  ): Promise<Configuration & { project: string; environment: string; callback_allowed: boolean | null }> {
    const { configurationFor } = await import("#src/integrations/index.ts");
    const { db } = database;
    const found = findProject(await projects.overview(db), name);
    const own = found.gateways.filter((one) => one.environment === environment).map((one) => one.gateway);
    const configured = [...own, ...((await projects.configuredGateways(db, [found.id], environment)).get(found.id) ?? [])];
    if (wanted !== null && !configured.some((one) => one === wanted))
      throw new OperatorError(`Project "${name}" has no credentials for gateway "${wanted}" in ${environment} mode.`);
    const gateway = wanted ?? configured[0] ?? "GATEWAY";
    const secrets = await projects.integrationSecrets(db, found.id);
    const policy = callback === null ? null : await projects.projectById(db, found.id);
    const { callbackAllowed, parseCallback } = await import("#src/checkout/index.ts");
    const target = policy && parseCallback(callback ?? "");
    return {
      project: `${found.organization}/${found.project}`,
      environment,
      callback_allowed: target && callbackAllowed(target, policy, trunks.isTrunkHost),
      ...configurationFor({
        baseUrl: baseUrl.replace(/\/$/, ""),
        sip: sip && formatHostPort(sip.host, sip.port),
        project: found.project,
        mode,
        gateway,
        environment,
        callback,
        phoneNumber: found.numbers[0] ?? null,
        hasAlphaSecret: secrets.alpha !== null,
        transfersByControl,
      }),
    };
  },
  async finish(shown, { callback }) {
    if (shown.callback_allowed === false)
      process.stderr.write(
        `Sessions with this callback are refused: project ${shown.project} does not let its callers be transferred to ${callback}; voice.transfer.allow in the apply file names where to, and numbers that cost extra are never among them.\n`,
      );
    return shown;
  },
  show: ({ project, environment, alpha, beta, api, prompt }) => {
    const json = (value: object) => JSON.stringify(value, null, 2);
    const [organization] = project.split("/");
    return [
      `Settings for ${project}. What stands in capitals is to be filled in; docs/platforms.md explains each step.`,
      `The API key: voicetill keys create --org ${organization} --name voice-platform --mode ${environment} --scopes integrations:use`,
      `\nVapi (alpha): the assistant's tools\n${json(alpha.tools)}`,
      `\nVapi: in the assistant itself, beside what it has\n${json(alpha.assistant)}`,
      `\nVapi: the caller comes back to ${alpha.callback} when the address names it: --callback ${alpha.callback}`,
      `\nRetell (beta): general_tools\n${json(beta.general_tools)}`,
      `\nRetell: the caller comes back to the trunk of your number: --callback ${beta.callback}`,
      `\nAgents of your own (LiveKit, Pipecat, any SIP): create the session, transfer the call\n${json(api)}`,
      `\nFor the prompt, on every platform\n\n${prompt}`,
    ].join("\n");
  },
});

export const operations: Operations = { "integrations show": show };
export const run = runnerOf("integrations", operations);
