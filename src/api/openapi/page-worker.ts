import { createHash } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import scalar from "@scalar/fastify-api-reference";
import fastify from "fastify";

/** Takes the page of GET /docs and its script out of Scalar's plugin, in a thread of its own: loading it takes half a second. */

export interface PageRequest {
  /** Path of the description. */
  url: string;
  /** Where the script will be, without its name. */
  folder: string;
  /** Stands in the page for a value that is made for each response. */
  nonce: string;
}

export interface PageFiles {
  html: string;
  /** Named by its content. */
  scriptName: string;
  /** gzip. */
  script: Uint8Array;
}

const SCRIPT = "script-of-the-page";
/** Scalar and the editor in it add styles while they run, and put the nonce on the first one only. */
const NONCE_FOR_STYLES = `{
      const { nonce } = document.currentScript;
      const create = document.createElement;
      document.createElement = function (name, ...rest) {
        const element = create.call(this, name, ...rest);
        if (element instanceof HTMLStyleElement) element.nonce = nonce;
        return element;
      };
    }`;
const { url, folder, nonce } = workerData as PageRequest;

const app = fastify();
await app.register(scalar, {
  routePrefix: "/",
  configuration: {
    url,
    nonce,
    cdn: SCRIPT,
    pageTitle: "Voicetill API",
    // Each of these would ask a host of the vendor's for something, or lead there.
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: "never",
    agent: { disabled: true, hideAddApi: true },
    mcp: { disabled: true },
    // No key outlives the page.
    persistAuth: false,
    authentication: { preferredSecurityScheme: "apiKey" },
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    favicon: "data:,",
  },
});
const [page, script] = [await app.inject("/"), await app.inject("/js/scalar.js")];
const digest = createHash("sha256").update(script.rawPayload).digest("hex");
const scriptName = `scalar-${digest.slice(0, 16)}.js`;
const files: PageFiles = {
  html: page.payload
    .replace(`"${SCRIPT}"`, `"${folder}/${scriptName}"`)
    .replace("<script", `<script nonce="${nonce}">${NONCE_FOR_STYLES}</script>\n    <script`),
  scriptName,
  script: gzipSync(script.rawPayload, { level: 9 }),
};
parentPort!.postMessage(files);
