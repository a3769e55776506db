import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Beside the packages: what is the same at every run. */
export const CACHE = fileURLToPath(new URL("../../node_modules/.cache/voicetill", import.meta.url));
/** The rendered prompts, where there is no data folder. */
export const PROMPT_CACHE = join(CACHE, "prompts");
