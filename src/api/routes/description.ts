import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { FastifyInstance, onRequestAsyncHookHandler, RouteOptions } from "fastify";
import { deprecationHeaders } from "../openapi/deprecation.ts";
import { described, openapiDocument, type Route } from "../openapi/document.ts";

const PAGE = readFileSync(new URL("../openapi/page.html", import.meta.url), "utf8");

/** The page's own script and style by their digests, the description from here, and nothing else from anywhere. */
const POLICY = [
  "default-src 'none'",
  "connect-src 'self'",
  "img-src data:",
  `script-src '${digestOf("script")}'`,
  `style-src '${digestOf("style")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * GET /openapi.json and GET /docs. Call it before the other routes are registered: it describes those that follow, and
 * refuses one that has no description.
 */
export function registerDescription(app: FastifyInstance): void {
  const routes: Route[] = [];
  app.addHook("onRoute", (route) => {
    const { method, url, config } = route;
    for (const each of [method].flat()) {
      const { deprecated } = described({ method: each, url });
      if (deprecated) announce(route, deprecationHeaders(deprecated));
      routes.push({ method: each, url, access: config?.access });
    }
  });
  let document = "";
  app.addHook("onReady", async () => {
    document = JSON.stringify(openapiDocument(routes));
  });
  const config = { access: "anyone" } as const;

  app.get("/openapi.json", { config }, async (_request, reply) => reply.type("application/json; charset=utf-8").send(document));

  app.get("/docs", { config }, async (_request, reply) =>
    reply
      .headers({ "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" })
      .type("text/html; charset=utf-8")
      .send(PAGE),
  );
}

/** Puts the headers on every answer to who was let in. */
function announce(route: RouteOptions, headers: Record<string, string>): void {
  const say: onRequestAsyncHookHandler = async (_request, reply) => void reply.headers(headers);
  route.onRequest = [route.onRequest ?? [], say].flat();
}

function digestOf(tag: "script" | "style"): string {
  const [, text = ""] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(PAGE) ?? [];
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
