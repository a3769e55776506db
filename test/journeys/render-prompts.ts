import { availableParallelism } from "node:os";
import { fixedPrompts } from "#src/conversation/index.ts";
import { createSynthesiser } from "#src/speech/index.ts";
import { PROMPT_CACHE } from "./installation.ts";

/** Before the first journey, by as many voices as there are processors: on a new machine the four that begin together would each render every prompt, and answer no call meanwhile. */
export async function globalSetup(): Promise<void> {
  const count = availableParallelism();
  const renderShare = async (_: unknown, share: number) => {
    const voice = createSynthesiser({ cacheDir: PROMPT_CACHE });
    const prompts = fixedPrompts("en-US").filter((__, at) => at % count === share);
    await Promise.all(prompts.map((text) => voice.render(text)));
    await voice.stop();
  };
  await Promise.all(Array.from({ length: count }, renderShare));
}
