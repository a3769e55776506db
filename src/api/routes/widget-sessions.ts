import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { within } from "#src/kernel/clock.ts";
import { AppError, type ErrorCode } from "#src/kernel/errors.ts";
import { type ChargeResult, type Found, readCardBody, type Widget } from "#src/widget/index.ts";
import type { TrafficAudit } from "../traffic-audit.ts";
import { registerCreation } from "../creation-route.ts";
import type { ApiDeps } from "../deps.ts";
import { widgetView } from "../presenter.ts";
import { discardSecretBody } from "../secret-body.ts";
import { Invalid } from "../schemas/faults.ts";
import { sessionPath } from "../schemas/session.ts";
import { parse } from "../schemas/validate.ts";
import { cardItems, NONCE_HEADER, nonceHeader, widgetSessionCreate } from "../schemas/widget-session.ts";
import { widgetCreation } from "../widget-creation.ts";

/** A session's result, for whoever holds one of its nonces. */
const RESULT_HEADER = "x-widget-result";
const CHARGE_BODY_LIMIT = 32 * 1024;
/** Requests a minute from one address. */
const READS = 60;
const CHARGES = 10;
/**
 * The name of a file of a page. During an upgrade one that this process has not belongs to the page of another version behind the same
 * balancer: the browser is sent round again, eight times, until a process of that version is asked.
 */
const ASSET = /^[a-z]+-[0-9a-f]{16}\.(js|css)$/;
/**
 * How long a charge is waited for: longer than a gateway may take, and shorter than a connection may be silent. Only a database that is
 * away makes it take longer; the page then looks what became of it.
 */
const CHARGE_MS = 110_000;
/** What a page of this service, and no other, may ask leave for. */
const PREFLIGHTS = [
  ["/v1/widget-sessions/:session_id", "GET"],
  ["/v1/widget-sessions/:session_id/charge", "POST"],
] as const;

/** /v1/widget-sessions, and the page that they are paid on (docs/interface.md, Widget sessions). */
export function registerWidgetSessions(app: FastifyInstance, deps: ApiDeps, traffic: TrafficAudit, widget: Widget): void {
  registerCreation(app, deps, traffic, {
    path: "/v1/widget-sessions",
    access: "widget:create",
    body: widgetSessionCreate,
    create: widgetCreation(deps, widget),
  });

  app.get("/v1/widget-sessions/:session_id", { config: { access: "browser", perMinute: READS } }, async (request, reply) => {
    const { id, nonce } = parseRequest(request);
    const found = opened(await widget.find(id, { nonce }), reply);
    if (widget.knows(id, nonce)) reply.header(NONCE_HEADER, found.nonce);
    return widgetView(found);
  });

  for (const [path, method] of PREFLIGHTS) {
    // Without a session's id, so that it tells nothing of any.
    app.options(path, { config: { access: "browser", perMinute: READS } }, async (request, reply) => {
      const { origin } = request.headers;
      if (origin === undefined || !isFromOwnPage(request, request.client.https, new URL(widget.urlFor("")).origin)) {
        reply.header("allow", `${method}, OPTIONS`);
        throw new AppError("method_not_allowed");
      }
      const headers = { "access-control-allow-methods": method, "access-control-allow-headers": `content-type, ${NONCE_HEADER}` };
      return reply
        .code(204)
        .headers({ "access-control-allow-origin": origin, vary: "Origin", ...headers })
        .send();
    });
  }

  const charging = {
    config: { access: "browser", perMinute: CHARGES, secretBodyBytes: CHARGE_BODY_LIMIT },
    onSend: discardSecretBody,
  } as const;
  app.post("/v1/widget-sessions/:session_id/charge", charging, async (request, reply) => {
    const { id, nonce } = parseRequest(request);
    if (!isFromOwnPage(request, request.client.https, new URL(widget.urlFor(id)).origin)) throw new AppError("not_the_frame");
    const { project, session } = opened(await widget.find(id, { nonce }), reply);
    if (session.phase !== null && session.phase !== "collecting") throw new AppError("charge_in_progress");
    if (!widget.knows(id, nonce)) throw new AppError("not_the_frame");

    const cvvNeeded = project.widget.appearance.fields.includes("cvv");
    const { acceptedBrands } = project;
    const sent = await readCard(request, reply, { nowMs: deps.clock.now(), cvvNeeded, acceptedBrands });
    const card = sent instanceof Error ? null : sent;
    const charged = widget.charge({ sessionId: id, nonce, card, customerIp: request.client.address() }).finally(() => card?.wipe());
    const result = await within(deps.clock, CHARGE_MS, charged, () => ({ kind: "busy" }) as const);
    // It counted as a try; now it is told what is wrong.
    if (result.kind === "malformed" && sent instanceof Error) {
      reply.header(NONCE_HEADER, result.nonce);
      throw sent;
    }
    return answerTo(result, reply);
  });

  /** A refusal in words, for a browser. Others are answered as everywhere. */
  const inWords = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const isRefusal = reply.statusCode === 429 || reply.statusCode >= 500;
    if (!isRefusal || !/\btext\/html\b/i.test(request.headers.accept ?? "")) return payload;
    const seconds = reply.statusCode === 429 ? Number(reply.getHeader("retry-after")) : null;
    const { headers, html } = (await widget.frame()).refusal(seconds, wishesOf(request));
    reply.headers(headers);
    return html;
  };
  const shopping = { config: { access: "browser", perMinute: READS }, onSend: inWords } as const;
  app.get("/widget/:session_id", shopping, async (request, reply) => {
    // A link that was cut short on its way to the shopper is answered in words too.
    const id = sessionPath.safeParse(request.params).data?.session_id;
    const { t } = request.query as Readonly<Record<string, unknown>>;
    const frame = await widget.frame();
    const found: Found = id === undefined ? { kind: "missing" } : await widget.find(id, { token: asText(t) });
    const page = frame.page(found, wishesOf(request));
    return reply.code(page.status).headers(page.headers).send(page.html);
  });

  app.get("/widget/assets/:file", { config: { access: "anyone" } }, async (request, reply) => {
    const { file } = request.params as { file: string };
    const { assets } = await widget.frame();
    const asset = assets.find(({ path }) => path.endsWith(`/${file}`));
    if (asset) return reply.headers(asset.headers).send(asset.text);
    const { again = "0" } = request.query as Readonly<Record<string, unknown>>;
    if (!ASSET.test(file) || typeof again !== "string" || !/^[0-7]$/.test(again)) throw new AppError("not_found");
    return reply.headers({ "cache-control": "no-store", "access-control-allow-origin": "*" }).redirect(`?again=${Number(again) + 1}`, 302);
  });

  // The loader under an address that never changes, for merchants who do not hold it to a digest.
  app.get("/widget/v1/widget.js", { config: { access: "anyone" } }, async (_request, reply) => {
    const { headers, text } = (await widget.frame()).loader;
    return reply.headers({ ...headers, "cache-control": "public, max-age=300" }).send(text);
  });

  // What a page may load from here and how it is held to its digest, for build scripts and for the inventory of PCI DSS 6.4.3.
  app.get("/widget/v1/scripts.json", { config: { access: "anyone" } }, async (_request, reply) => {
    const base = widget.urlFor("").replace(/\/widget\/$/, "");
    const { assets } = await widget.frame();
    const scripts = assets.map(({ path, integrity, purpose }) => ({ url: `${base}${path}`, integrity, purpose }));
    return reply.headers({ "access-control-allow-origin": "*", "cache-control": "public, max-age=300" }).send(scripts);
  });
}

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** How the page is to be shown. */
function wishesOf({ query, headers }: FastifyRequest) {
  const { lang, dir } = query as Readonly<Record<string, unknown>>;
  return { lang: asText(lang), dir: asText(dir), acceptLanguage: headers["accept-language"] };
}

function parseRequest(request: FastifyRequest): { id: string; nonce: string | undefined } {
  const { session_id: id } = parse(sessionPath, request.params, "path");
  return { id, nonce: parse(nonceHeader, request.headers, "header")[NONCE_HEADER] };
}

/** The open session, else 404 or 410; with the result for whoever may have it. */
function opened(found: Found, reply: FastifyReply): Extract<Found, { kind: "open" }> {
  if (found.kind === "open") return found;
  if (found.kind === "missing") throw new AppError("session_not_found");
  if (found.result !== null) reply.header(RESULT_HEADER, found.result);
  throw new AppError("session_over");
}

/**
 * Whether a page of this service sent the request: `Sec-Fetch-Site` and `Origin` are written by the browser, and a page of
 * another origin cannot change them. At least one must be there, and none may say otherwise.
 */
function isFromOwnPage({ headers }: FastifyRequest, https: boolean, publicOrigin: string): boolean {
  const site = headers["sec-fetch-site"];
  const { origin } = headers;
  if (site === undefined && origin === undefined) return false;
  if (site !== undefined && site !== "same-origin") return false;
  return origin === undefined || origin === publicOrigin || origin === `${https ? "https" : "http"}://${headers.host ?? ""}`;
}

/** The card, or the error to be answered. What it was read from is overwritten. A client that left is thrown: it tried nothing. */
async function readCard(request: FastifyRequest, reply: FastifyReply, rules: Parameters<typeof readCardBody>[1]) {
  let body: Uint8Array;
  try {
    body = await request.secretBody.read(reply);
  } catch (error) {
    if (error instanceof Invalid || (error instanceof AppError && error.code !== "bad_request")) return error;
    throw error;
  }
  try {
    const card = readCardBody(body, rules);
    return Array.isArray(card) ? new Invalid(cardItems(card)) : card;
  } finally {
    body.fill(0);
  }
}

/** */
function answerTo(result: ChargeResult, reply: FastifyReply): object {
  if (result.kind === "paid") return { status: result.status, card_brand: result.brand, card_last4: result.last4 };
  if (result.kind === "declined") {
    const { code, message, retryable, triesLeft, nonce } = result;
    if (retryable) reply.header(NONCE_HEADER, nonce);
    reply.code(402);
    return { detail: message, error: { code, message }, retryable, attempts_left: triesLeft };
  }
  if (result.kind === "ended") reply.header(RESULT_HEADER, result.result);
  throw new AppError(REFUSALS[result.kind]);
}

const REFUSALS: Readonly<Record<Exclude<ChargeResult["kind"], "paid" | "declined">, ErrorCode>> = {
  ended: "session_over",
  busy: "charge_in_progress",
  "invalid nonce": "not_the_frame",
  missing: "session_not_found",
  // Answered where what is wrong is known.
  malformed: "bad_request",
};
