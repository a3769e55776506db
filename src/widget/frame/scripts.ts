import { once } from "node:events";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { Worker } from "node:worker_threads";

/** The scripts of ../browser as a browser runs them. */
export interface Scripts {
  form: string;
  loader: string;
}

/** The same bytes in every process, for types are taken out and nothing else is changed. Loads the compiler, for which a service has no room. */
export function stripScripts(): Scripts {
  return { form: scriptOf("form.ts"), loader: scriptOf("loader.ts") };
}

const scriptOf = (name: string) => stripTypeScriptTypes(readFileSync(new URL(`../browser/${name}`, import.meta.url), "utf8"));

/** The same in a thread that ends with it and gives its memory back. */
export async function stripScriptsAside(): Promise<Scripts> {
  // Node.js calls the compiler experimental; an operator can do nothing about it.
  const worker = new Worker(new URL("./scripts-worker.ts", import.meta.url), { execArgv: ["--disable-warning=ExperimentalWarning"] });
  try {
    // Rejects when the thread throws.
    const [scripts] = (await once(worker, "message")) as [Scripts];
    return scripts;
  } finally {
    await worker.terminate();
  }
}
