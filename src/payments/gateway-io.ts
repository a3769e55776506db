import type { GatewayIo, GatewaySettings } from "#src/gateways/index.ts";
import { sleep } from "#src/kernel/clock.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Outbound } from "#src/platform/index.ts";
import type { AccessTokens } from "./access-tokens.ts";
import type { ProjectSettings } from "./index.ts";

export interface IoDeps {
  outbound: Pick<Outbound, "send">;
  clock: Clock;
  random: Random;
  tokens: AccessTokens;
  projects: Pick<ProjectSettings, "rotateCredentials">;
}

export interface IoScope {
  projectId: string;
  gateway: GatewayName;
  settings: GatewaySettings;
  deadlineMs: number;
  note(notes: Record<string, string>): Promise<void>;
}

/** What a gateway may touch during one attempt or one look-up, all of it under one total deadline. `end` releases its timer. */
export function createGatewayIo(deps: IoDeps, scope: IoScope): { io: GatewayIo; end: () => void } {
  const { outbound, clock, random, tokens, projects } = deps;
  const { projectId, gateway, settings } = scope;
  const controller = new AbortController();
  const ends = clock.monotonic() + scope.deadlineMs;
  const end = clock.after(scope.deadlineMs, () => controller.abort());
  const left = () => Math.max(0, ends - clock.monotonic());

  const io: GatewayIo = {
    settings,
    clock,
    random,
    signal: controller.signal,
    async send(request) {
      if (left() === 0) return { kind: "not sent", reason: "deadline passed" };
      const timeoutMs = Math.min(request.timeoutMs ?? left(), left());
      return await outbound.send({ ...request, timeoutMs, httpsOnly: settings.environment === "live" });
    },
    async wait(ms) {
      if (ms >= left()) return false;
      await sleep(clock, ms);
      return true;
    },
    note: (notes) => scope.note(notes),
    accessToken: (mint, { renew = false } = {}) =>
      tokens.get([gateway, settings.environment, projectId, settings.version].join("/"), mint, renew),
    rotateCredentials: (change) => projects.rotateCredentials(projectId, gateway, settings.environment, change),
  };
  return { io, end };
}
