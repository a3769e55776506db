import { isOrigin } from "#src/kernel/origin.ts";

/** What the browser is told about the frame's page and its two files. */

const POWERS = ["camera", "microphone", "geolocation", "payment", "usb", "display-capture", "publickey-credentials-get"];
const YEAR_SECONDS = 365 * 24 * 3600;

/** `origins`: pages that may embed the frame; with none it may only be opened by itself. */
export function pageHeaders(
  origins: readonly string[] | "any",
  { script, style }: { script: string; style: string },
): Record<string, string> {
  // What was stored is looked at once more: an origin that is written otherwise could end the directive.
  const ancestors = origins === "any" ? ["*"] : origins.filter(isOrigin);
  const policy = [
    "default-src 'none'",
    `script-src 'self' '${script}'`,
    `style-src 'self' '${style}'`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(" ")}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy.join("; "),
    ...(ancestors.length === 0 ? { "x-frame-options": "DENY" } : {}),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": POWERS.map((power) => `${power}=()`).join(", "),
  };
}

/** For a file whose path names its content. */
export function assetHeaders(type: string): Record<string, string> {
  return {
    "content-type": `${type}; charset=utf-8`,
    "cache-control": `public, max-age=${YEAR_SECONDS}, immutable`,
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
  };
}

/** For the loader, which is for merchants' pages: they hold it to its digest, which needs CORS (Subresource Integrity, section 3.5). */
export function loaderHeaders(): Record<string, string> {
  return { ...assetHeaders("text/javascript"), "access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin" };
}
