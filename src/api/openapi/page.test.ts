import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openChromium, withoutChromium } from "../../../test/peers/chromium.ts";
import { KEYS, startTestApi, type TestApi } from "../testing.ts";

/** The project of a new installation, which the page's requests name. */
const DEMO = { slug: "demo", name: "Demo", currency: "USD", gateways: { stripe: { test: { credentials: { secret_key: "sk_test_x" } } } } };

let api: TestApi;
before(async () => {
  api = await startTestApi();
  await api.projects.applyFile(JSON.stringify({ organizations: [{ slug: "acme", projects: [DEMO] }] }), {});
});
after(() => api.close());

const get = (url: string, headers: Record<string, string> = {}) => api.call("GET", url, { key: null, headers });

test("the page takes its script from here, by a name that says its content, and its policy is made for each response", async () => {
  const pages = [await get("/docs"), await get("/docs")];
  const nonces = pages.map(({ headers, payload }) => {
    const [, nonce = ""] = /script-src 'nonce-([^']{24})';/.exec(String(headers["content-security-policy"])) ?? [];
    assert.equal(payload.match(/<script/g)?.length, payload.match(/<script[^>]* nonce="/g)?.length);
    for (const [, written] of payload.matchAll(/nonce="([^"]*)"/g)) assert.equal(written, nonce);
    return nonce;
  });
  assert.notEqual(nonces[0], nonces[1]);
  const [, script = ""] = /<script src="([^"]+)"/.exec(pages[0]!.payload) ?? [];
  assert.match(script, /^\/docs\/scalar-[0-9a-f]{16}\.js$/);
  const [plain, compressed] = [await get(script), await get(script, { "accept-encoding": "br, gzip" })];
  assert.equal(compressed.headers["content-encoding"], "gzip");
  assert.ok(gunzipSync(compressed.rawPayload).equals(plain.rawPayload));
  assert.match(String(plain.headers["cache-control"]), /immutable/);
  assert.equal((await get("/docs/scalar-0000000000000000.js")).statusCode, 404);
});

test("below a path that a proxy takes off, the page finds its script and the description there", async () => {
  const app = api.another({ settings: { baseUrl: "http://pay.example/pay/" } });
  const { payload } = await app.inject("/docs");
  const { servers } = (await app.inject("/openapi.json")).json<{ servers: object[] }>();
  await app.close();
  assert.match(payload, /<script src="\/pay\/docs\/scalar-/);
  assert.match(payload, /"url": "\/pay\/openapi\.json"/);
  assert.deepEqual(servers, [{ url: "/pay" }]);
});

describe("GET /docs in a browser", { skip: withoutChromium }, () => {
  let browser: Browser;
  let origin: string;
  before(async () => {
    origin = await api.app.listen({ port: 0, host: "127.0.0.1" });
    browser = await openChromium();
  });
  after(() => browser?.close());

  interface Opened {
    page: Page;
    /** Everything that it asked for, and every complaint of the browser, its policy's among them. */
    requests: string[];
    complaints: string[];
  }

  async function opened(width: number): Promise<Opened> {
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    const [requests, complaints]: [string[], string[]] = [[], []];
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (message) => {
      if (message.type() !== "info") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`${origin}/docs`);
    await page.getByRole("heading", { name: "Create a voice session" }).first().waitFor();
    return { page, requests, complaints };
  }

  for (const width of [1280, 390]) {
    test(`at ${width} pixels it shows the description, asks its own origin only and breaks no rule of its policy`, async () => {
      const { page, requests, complaints } = await opened(width);
      assert.deepEqual(
        requests.map((url) => url.replace(/-[0-9a-f]{16}/, "")),
        [`${origin}/docs`, `${origin}/docs/scalar.js`, `${origin}/openapi.json`],
      );
      assert.deepEqual(complaints, []);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
      await page.close();
    });
  }

  test("an operation has a sample of code and can be tried with a key", async () => {
    const { page, requests, complaints } = await opened(1280);
    await page.getByText("curl").first().waitFor();
    await page.getByPlaceholder("Token").first().fill(KEYS.test);
    await page
      .getByRole("button", { name: /Test Request.*post.*\/v1\/sessions\)/i })
      .first()
      .click();
    const answered = page.waitForResponse(`${origin}/v1/sessions`);
    await page.getByRole("button", { name: /^Send/ }).first().click();
    assert.equal((await answered).status(), 201);
    await page.getByText("201 Created").first().waitFor();
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(`${origin}/`)),
      [],
    );
    await page.close();
  });

  test("its policy stops what somebody else would add", async () => {
    const { page, complaints } = await opened(1280);
    await page.evaluate(`
      const script = document.createElement("script");
      script.textContent = "document.title = 'taken'";
      document.body.append(script);
    `);
    assert.equal(await page.title(), "Voicetill API");
    assert.match(complaints.join(), /Content Security Policy/);
    await page.close();
  });
});
