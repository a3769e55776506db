/** `npm run errors`: writes the pages that are generated, docs/errors.md and the others of PAGES. */
import { writeFileSync } from "node:fs";
import { PAGES } from "./pages.ts";

for (const [path, render] of Object.entries(PAGES)) writeFileSync(new URL(`../${path}`, import.meta.url), render());
