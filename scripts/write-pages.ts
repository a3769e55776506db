/** `npm run pages`: writes the pages that are generated. */
import { mkdirSync, writeFileSync } from "node:fs";
import { PAGES } from "./pages.ts";

mkdirSync(new URL("../docs/gateways/", import.meta.url), { recursive: true });
for (const [path, render] of Object.entries(PAGES)) writeFileSync(new URL(`../${path}`, import.meta.url), render());
