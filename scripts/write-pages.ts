/** `npm run pages`: writes the pages that are generated. */
import { writeFileSync } from "node:fs";
import { PAGES } from "./pages.ts";

for (const [path, render] of Object.entries(PAGES)) writeFileSync(new URL(`../${path}`, import.meta.url), render());
