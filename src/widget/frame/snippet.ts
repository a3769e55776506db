import { createFrame } from "./frame.ts";
import { stripScripts } from "./scripts.ts";

/** The lines of HTML that put a session's card form into a merchant's page, the loader held to its digest. `base`: the service's public address. */
export function loaderSnippet(base: string, sessionId: string): string {
  const { path, integrity } = createFrame(() => "", stripScripts()).loader;
  return `<script src="${base}${path}" integrity="${integrity}" crossorigin="anonymous"></script>
<voicetill-payment session-id="${sessionId}"></voicetill-payment>`;
}
