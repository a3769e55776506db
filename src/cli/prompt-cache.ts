import { fileURLToPath } from "node:url";

/** The rendered prompts are the same at every run: without a data folder they are kept beside the packages. */
export const PROMPT_CACHE = fileURLToPath(new URL("../../node_modules/.cache/voicetill/prompts", import.meta.url));
