import { findStored } from "../gateway-settings.ts";
import { webhookEndpoints } from "../repository.ts";
import { type Change, CommandFault, type ProjectKey } from "./change.ts";

/**
 * Refuses a gateway's secret that this installation could have made (`generated`) and that the project's status webhook signs with
 * too: who may read results must not be able to sign card requests. Looks at what is stored once the project is saved.
 */
export async function checkSeparateSecrets({ tx, vault, gateways }: Change, project: ProjectKey): Promise<void> {
  const endpoints = Object.values(await webhookEndpoints(tx, vault, project.id));
  const ofWebhook = new Set(endpoints.flatMap(({ secrets }) => secrets.map((secret) => bare(secret.reveal()))));
  for (const gateway of Object.values(gateways)) {
    for (const { name, previous = name } of gateway.credentialFields.filter(({ generated }) => generated)) {
      for (const environment of ["test", "live"] as const) {
        const key = { projectId: project.id, organizationId: project.organizationId, gateway: gateway.name, environment };
        const applied = (await findStored(tx, vault, key, false))?.applied ?? {};
        const isShared = [applied[name], applied[previous]].some((secret) => secret !== undefined && ofWebhook.has(bare(secret)));
        if (!isShared) continue;
        throw new CommandFault(["gateways", gateway.name, environment, name], `${name} must not be a secret of status_webhook`);
      }
    }
  }
}

/** The prefix is no part of the key. */
function bare(secret: string): string {
  return secret.replace(/^whsec_/, "");
}
