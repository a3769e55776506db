import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { PageFiles, PageRequest } from "./page-worker.ts";

/** The page of GET /docs: Scalar, everything from our own origin. Made at the first request for it, and kept. */

const NONCE = "nonce-of-the-response";

export interface Page {
  /** `nonce` is what the response's policy says. */
  html: (nonce: string) => string;
  scriptName: string;
  /** gzip. */
  script: Uint8Array;
}

/** `basePath`: of the public address, "" or "/pay": what a proxy takes off. */
export function createPage(basePath: string): () => Promise<Page> {
  let page: Promise<Page> | null = null;
  const forget = () => {
    page = null;
  };
  return () => {
    if (!page) (page = load(basePath)).catch(forget);
    return page;
  };
}

async function load(basePath: string): Promise<Page> {
  const workerData: PageRequest = { url: `${basePath}/openapi.json`, folder: `${basePath}/docs`, nonce: NONCE };
  const worker = new Worker(new URL("./page-worker.ts", import.meta.url), { workerData });
  try {
    // Rejects when the thread throws.
    const [{ html, scriptName, script }] = (await once(worker, "message")) as [PageFiles];
    return { html: (nonce) => html.replaceAll(NONCE, nonce), scriptName, script };
  } finally {
    await worker.terminate();
  }
}

/**
 * The page's own script and style, the description and the service from here, and nothing else from anywhere. Elements that
 * Scalar places by a `style` attribute need the exception for attributes.
 */
export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "connect-src 'self'",
    "img-src 'self' data:",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
