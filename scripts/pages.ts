import { readFileSync } from "node:fs";
import { renderApplyFile } from "./apply-file-page.ts";
import { renderErrors } from "./errors-page.ts";
import { GATEWAY_PAGES, renderGateways } from "./gateways-page.ts";
import { withSections } from "./markdown.ts";
import { renderStates } from "./states-page.ts";
import { FORWARDING_SECTIONS, WEBHOOK_SECTIONS } from "./webhooks-page.ts";

const written = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

/** Pages that are generated, wholly or in parts, and what they should hold. */
export const PAGES: Readonly<Record<string, () => string>> = {
  "docs/apply-file.md": renderApplyFile,
  "docs/errors.md": renderErrors,
  "docs/gateways.md": renderGateways,
  ...GATEWAY_PAGES,
  "docs/states.md": renderStates,
  "docs/webhooks.md": () => withSections(written("docs/webhooks.md"), WEBHOOK_SECTIONS()),
  "docs/card-forwarding.md": () => withSections(written("docs/card-forwarding.md"), FORWARDING_SECTIONS()),
};
