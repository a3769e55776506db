import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { createMetrics } from "#src/platform/index.ts";
import { openChromium, withoutChromium } from "../../../test/peers/chromium.ts";
import { startTestApi, type TestApi } from "../testing.ts";

describe("GET /docs in a browser", { skip: withoutChromium }, () => {
  let api: TestApi;
  let browser: Browser;
  let origin: string;
  before(async () => {
    api = await startTestApi({ deps: { metrics: createMetrics() } });
    origin = await api.app.listen({ port: 0, host: "127.0.0.1" });
    browser = await openChromium();
  });
  after(async () => {
    await browser?.close();
    await api.close();
  });

  /** The page as it stands once the description is shown, and everything it asked for or complained of. */
  async function opened(width: number, fragment = ""): Promise<{ page: Page; requests: string[]; complaints: string[] }> {
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    const [requests, complaints]: [string[], string[]] = [[], []];
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    const answer = await page.goto(`${origin}/docs${fragment}`);
    assert.match(answer?.headers()["content-security-policy"] ?? "", /^default-src 'none'; connect-src 'self';/);
    await page.waitForSelector("h2");
    return { page, requests, complaints };
  }

  for (const width of [1280, 390]) {
    test(`at ${width} pixels it shows every operation, asks only its own origin, complains of nothing and needs no sideways scrolling`, async () => {
      const { page, requests, complaints } = await opened(width);
      await page.evaluate(`for (const block of document.querySelectorAll("details")) block.open = true`);
      assert.deepEqual(requests, [`${origin}/docs`, `${origin}/openapi.json`]);
      assert.deepEqual(complaints, []);
      const shown = await page.locator("main > details > summary > b").count();
      const { paths, webhooks } = (await api.call("GET", "/openapi.json", { key: null })).json<Record<"paths" | "webhooks", object>>();
      assert.equal(
        shown,
        [paths, webhooks].flatMap((part) => Object.values(part)).flatMap((methods: object) => Object.keys(methods)).length,
      );
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
      await page.close();
    });
  }

  test("a link to a schema opens it", async () => {
    const { page } = await opened(1280, "#StatusWebhook");
    assert.equal(await page.locator("details#StatusWebhook").getAttribute("open"), "");
    assert.equal(await page.locator("details#BillingAddress").getAttribute("open"), null);
    await page.close();
  });

  test("its policy stops what a foreign hand would add", async () => {
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
