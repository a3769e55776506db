import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import {
  ACKNOWLEDGED,
  betaAnswer,
  callTool,
  COLLECT_PAYMENT,
  createCallControl,
  type Delivery,
  isAlphaSecret,
  isSignedByBeta,
  legacyResult,
  noDestination,
  type Platform,
  readAlphaEvent,
  readBetaRequest,
  sessionToTransfer,
  type ToolSessions,
  type ToolAnswer,
  type ToolCall,
  toolResults,
  transferDestination,
  waitingSession,
} from "#src/integrations/index.ts";
import { readJsonAndBytes } from "../body.ts";
import type { ApiDeps } from "../deps.ts";
import type { RateLimiter } from "../access/rate-limit.ts";
import { integrationQuery, type IntegrationQuery, unknownParameterOf, wrongParameterOf } from "../schemas/integration.ts";
import { parse } from "../schemas/validate.ts";
import { createToolSessions } from "../tool-sessions.ts";
import type { TrafficAudit } from "../traffic-audit.ts";

/** Voice platforms send whole calls with their transcripts. */
const BODY_LIMIT = 8 * 1024 * 1024;
/** As long as any other request may be. Longer ones a key may send twice as often as it may call tools: each call ends with a report of it. */
const LARGE_BODY = 64 * 1024;
const LARGE_PER_TOOL_CALL = 2;
/** Calls of one message beyond these are not made: no model makes as many at once. */
const MOST_CALLS = 16;

/** /integrations: what voice platforms call as tools of their agents (docs/interface.md, Platform webhooks). */
export function registerIntegrations(app: FastifyInstance, deps: ApiDeps, traffic: TrafficAudit, limiter: RateLimiter): void {
  const { database, projects, clock, log } = deps;
  const toolSessionsFor = createToolSessions(deps, traffic);
  const control = deps.outbound ? createCallControl({ outbound: deps.outbound, clock, log }) : null;
  app.addHook("onClose", async () => control?.close());
  const config = { access: "integrations:use" } as const;

  /** Everything of a request but its message; throws AppError for one that the project's platform cannot have sent. */
  async function receive(platform: Platform, request: FastifyRequest, reply: FastifyReply) {
    const terms = fixedBy(parse(integrationQuery, request.query, "query"));
    const { value: body, bytes } = await readJsonAndBytes(request, reply, BODY_LIMIT, ({ length }) => countLarge(length, request, reply));
    const { organizationId, mode: environment } = request.identity;
    const { project: name = "" } = terms;
    const project = name === "" ? null : await projects.findProject(database.db, organizationId, name);
    if (project) await checkSender(platform, request, bytes, project.id);
    const toolSessions = toolSessionsFor(request.identity, request.client);
    const requester = { organizationId, environment };
    const wrongParameter = wrongParameterOf(request.query as Record<string, unknown>);
    const known = { platform, requester, projectId: project?.id ?? null, country: project?.country ?? null, terms, wrongParameter };
    return { body, toolSessions, known };
  }

  async function checkSender(platform: Platform, request: FastifyRequest, bytes: Uint8Array, projectId: string): Promise<void> {
    const secrets = await projects.integrationSecrets(database.db, projectId);
    const header = (name: string) => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    };
    const isSender =
      platform === "alpha"
        ? secrets.alpha === null || isAlphaSecret(header("x-vapi-secret"), secrets.alpha.reveal())
        : secrets.beta === null || isSignedByBeta(bytes, header("x-retell-signature"), secrets.beta.reveal(), clock.now());
    if (!isSender) throw new AppError("invalid_platform_secret");
  }

  /** Reading megabytes of JSON holds the whole process up, by up to a tenth of a second: few a minute for each key. */
  async function countLarge(bytes: number, { method, routeOptions, identity }: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (bytes <= LARGE_BODY) return;
    const limit = LARGE_PER_TOOL_CALL * deps.settings.rateLimitPerMinute;
    await limiter.request(`${method} ${routeOptions.url ?? "*"} large`, `key ${identity.keyId}`, reply, limit);
  }

  /** Counts a request that makes or reads a payment; R-060 has the same limit for it as for other endpoints, but for each key. */
  const count = ({ method, routeOptions, identity }: FastifyRequest, reply: FastifyReply) =>
    limiter.request(`${method} ${routeOptions.url ?? "*"}`, `key ${identity.keyId}`, reply);

  const note = (request: FastifyRequest, event: "platform_event" | "platform_tool_call", reason: string, session?: unknown) =>
    log.info(event, {
      request: request.id,
      organization: request.identity.organizationId,
      path: request.routeOptions.url,
      reason,
      ...(typeof session === "string" && { session }),
    });

  async function answered(tool: ToolCall, delivery: Delivery, request: FastifyRequest): Promise<ToolAnswer> {
    const answer = await callTool(tool, delivery, toolSessionsFor(request.identity, request.client));
    const unknown = unknownParameterOf(request.query as Record<string, unknown>);
    const isMisconfigured = answer.kind === "error" && answer.code === "tool_misconfigured";
    if (isMisconfigured || unknown !== null)
      log.warn("platform_tool_misconfigured", {
        request: request.id,
        organization: request.identity.organizationId,
        path: request.routeOptions.url,
        reason: isMisconfigured ? answer.message : `the tool's address has a parameter that is none, ${unknown}: it is ignored`,
      });
    if (answer.kind === "error") note(request, "platform_tool_call", answer.code);
    else note(request, "platform_tool_call", String(answer.fields["status"]), answer.fields["session_id"]);
    return answer;
  }

  /** Where the merchant wants it so, the call is transferred for the last session that is ready, without the agent's doing. */
  function transferByControl(answers: readonly ToolAnswer[], { terms, call, requester }: Delivery, toolSessions: ToolSessions): void {
    const ready = answers.findLast((answer) => answer.kind === "answer" && answer.fields["status"] === "ready");
    if (!control || terms.transfer !== "control" || call.isWeb || call.controlUrl === null || ready?.kind !== "answer") return;
    const id = String(ready.fields["session_id"]);
    control.transferSoon(id, call.controlUrl, async () => {
      const session = await toolSessions.find(requester, id);
      return session?.status === "PENDING" ? transferDestination(session, toolSessions.sipUriFor(id)) : null;
    });
  }

  app.post("/integrations/alpha/webhook", { config }, async (request, reply) => {
    const { body, known, toolSessions } = await receive("alpha", request, reply);
    const event = readAlphaEvent(body, known.country);
    if (event.kind === "other") {
      note(request, "platform_event", event.type);
      return ACKNOWLEDGED;
    }
    await count(request, reply);
    const delivery: Delivery = { ...known, call: event.call };
    if (event.kind === "transfer destination") {
      const found = await sessionToTransfer(event.args, delivery, toolSessions);
      if ("session" in found) {
        note(request, "platform_event", "transfer-destination-request", found.session.id);
        return { destination: transferDestination(found.session, toolSessions.sipUriFor(found.session.id)) };
      }
      note(request, "platform_event", "transfer-destination-request");
      return noDestination(found.error);
    }
    if (event.kind === "assistant request") {
      // A merchant whose platform asks us who answers has its number as the payment line.
      const session = await waitingSession(delivery, toolSessions);
      note(request, "platform_event", "assistant-request", session?.id);
      return session ? { destination: transferDestination(session, toolSessions.sipUriFor(session.id)) } : ACKNOWLEDGED;
    }
    const calls = event.calls.slice(0, MOST_CALLS);
    // One after the other, so that the last one is the newest.
    const answers: ToolAnswer[] = [];
    for (const call of calls) answers.push(await answered(call, delivery, request));
    transferByControl(answers, delivery, toolSessions);
    return event.legacy ? legacyResult(answers[0]!) : toolResults(calls, answers);
  });

  app.post("/integrations/beta/webhook", { config }, async (request, reply) => {
    const { body, known } = await receive("beta", request, reply);
    const sent = readBetaRequest(body, known.terms.tool ?? COLLECT_PAYMENT, known.country);
    if (sent.kind === "other") {
      note(request, "platform_event", sent.type);
      return ACKNOWLEDGED;
    }
    await count(request, reply);
    return betaAnswer(await answered(sent.tool, { ...known, call: sent.call }, request));
  });
}

/** What the query fixes; what stands there empty fixes nothing. A plus that was not escaped has come as a space. */
function fixedBy(query: IntegrationQuery): Omit<IntegrationQuery, "api_key"> {
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      name === "api_key" || value === "" ? [] : [[name, name === "caller" ? value?.replace(/^ /, "+") : value]],
    ),
  );
}
