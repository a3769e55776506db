/**
 * A merchant's page with the card form in it.
 *
 *   API_KEY=svc_test_... npx node examples/widget-page.ts
 *
 * Then open http://127.0.0.1:4000/, which the `widget.origins` of apply.yaml name. Every visit is a new session;
 * a shop would keep the one that it made for an order. BUNDLE is a script that makes the page (react-page.tsx).
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const BASE_URL = process.env["BASE_URL"] ?? "http://127.0.0.1:8080";
const API_KEY = process.env["API_KEY"] ?? "";
const PROJECT = process.env["PROJECT"] ?? "shop";
const PORT = Number(process.env["PORT"] ?? 4000);
const BUNDLE = process.env["BUNDLE"];

/** The key stays on this server; the browser is given the session's id alone. */
async function createSession(): Promise<string> {
  const answer = await fetch(`${BASE_URL}/v1/widget-sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ project: PROJECT, amount_cents: 4995, gateway: "stripe", description: "Order 1001" }),
  });
  if (answer.status !== 201) throw new Error(`no session: HTTP ${answer.status}`);
  return ((await answer.json()) as { session_id: string }).session_id;
}

const pageOf = (sessionId: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shop</title>
<link rel="icon" href="data:,">
<script src="${BASE_URL}/widget/v1/widget.js"></script>
${BUNDLE === undefined ? contentOf(sessionId) : `<div id="root" data-session-id="${sessionId}"></div><script src="/bundle.js"></script>`}
</html>
`;

const contentOf = (sessionId: string) => `<h1>Order 1001</h1>
<voicetill-payment session-id="${sessionId}"></voicetill-payment>
<p id="outcome"></p>
<script>
  const say = (text) => (document.querySelector("#outcome").textContent = text);
  const payment = document.querySelector("voicetill-payment");
  // For the shopper's eyes: an order is shipped when the webhook says so, or GET /v1/sessions/{id}.
  payment.addEventListener("success", () => say("We are packing your order."));
  payment.addEventListener("error", ({ detail }) => say(detail.message ?? "Your order is still open."));
</script>`;

const server = createServer((request, response) => {
  if (request.url === "/bundle.js" && BUNDLE !== undefined) {
    response.setHeader("content-type", "text/javascript").end(readFileSync(BUNDLE));
    return;
  }
  if (request.url !== "/") {
    response.writeHead(404).end();
    return;
  }
  createSession().then(
    (sessionId) => response.setHeader("content-type", "text/html; charset=utf-8").end(pageOf(sessionId)),
    (error: Error) => response.writeHead(502).end(`${error.message}\n`),
  );
});
server.listen(PORT, "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  console.log(`http://127.0.0.1:${port}/`);
});
