import { fixedPrompts } from "#src/conversation/index.ts";
import { createSynthesiser } from "#src/speech/index.ts";
import { PROMPT_CACHE } from "./installation.ts";

/** Before the first journey: on a new machine the four that begin together would each render every prompt, and answer no call meanwhile. */
export async function globalSetup(): Promise<void> {
  const voice = createSynthesiser({ cacheDir: PROMPT_CACHE });
  await Promise.all(fixedPrompts("en-US").map((text) => voice.render(text)));
  await voice.stop();
}
