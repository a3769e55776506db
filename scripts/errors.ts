/** `npm run errors`: writes docs/errors.md. */
import { writeFileSync } from "node:fs";
import { renderErrors } from "./errors-page.ts";

writeFileSync(new URL("../docs/errors.md", import.meta.url), renderErrors());
