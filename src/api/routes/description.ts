import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { FastifyInstance, onRequestAsyncHookHandler, RouteOptions } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import type { ApiDeps } from "../deps.ts";
import { deprecationHeaders } from "../openapi/deprecation.ts";
import { described, openapiDocument, type Route } from "../openapi/document.ts";
import { UNDESCRIBED } from "../openapi/operations.ts";
import { createPage, pagePolicy } from "../openapi/page.ts";

const NONCE_BYTES = 16;
/** Requests a minute from one address. */
const PAGES = 60;
const YEAR_SECONDS = 365 * 24 * 3600;
const CONTENT_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * GET /openapi.json and GET /docs. Call it before the other routes are registered: it describes those that follow, and
 * refuses one that has no description.
 */
export function registerDescription(app: FastifyInstance, { settings, random }: Pick<ApiDeps, "settings" | "random">): void {
  const routes: Route[] = [];
  const basePath = new URL(settings.baseUrl).pathname.replace(/\/$/, "");
  app.addHook("onRoute", (route) => {
    const { method, url, config } = route;
    for (const each of [method].flat()) {
      if (UNDESCRIBED.has(`${each} ${url}`)) continue;
      const { deprecated } = described({ method: each, url });
      if (deprecated) announce(route, deprecationHeaders(deprecated));
      routes.push({ method: each, url, access: config?.access });
    }
  });
  let document = "";
  app.addHook("onReady", async () => {
    document = JSON.stringify(openapiDocument(routes, basePath));
  });
  const config = { access: "anyone" } as const;

  app.get("/openapi.json", { config }, async (_request, reply) => reply.type("application/json; charset=utf-8").send(document));

  const page = createPage(basePath);
  const counted = { config: { access: "browser", perMinute: PAGES } } as const;
  app.get("/docs", counted, async (_request, reply) => {
    const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString("base64");
    const { html } = await page();
    return reply
      .headers({ ...CONTENT_HEADERS, "content-security-policy": pagePolicy(nonce) })
      .type("text/html; charset=utf-8")
      .send(html(nonce));
  });
  app.get("/docs/:file", counted, async (request, reply) => {
    const { scriptName, script } = await page();
    if ((request.params as { file: string }).file !== scriptName) throw new AppError("not_found");
    reply
      .headers({ ...CONTENT_HEADERS, vary: "accept-encoding", "cache-control": `public, max-age=${YEAR_SECONDS}, immutable` })
      .type("text/javascript; charset=utf-8");
    if (!/\bgzip\b/i.test(request.headers["accept-encoding"] ?? "")) return reply.send(Readable.from([script]).pipe(createGunzip()));
    return reply.header("content-encoding", "gzip").send(script);
  });
}

/** Puts the headers on every answer to who was let in. */
function announce(route: RouteOptions, headers: Record<string, string>): void {
  const say: onRequestAsyncHookHandler = async (_request, reply) => void reply.headers(headers);
  route.onRequest = [route.onRequest ?? [], say].flat();
}
