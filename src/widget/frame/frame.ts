import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { shownTheme } from "#src/projects/index.ts";
import type { Status } from "#src/sessions/index.ts";
import type { Found } from "../types.ts";
import { assetHeaders, loaderHeaders, pageHeaders } from "./headers.ts";
import { endOf, escape, formOf, titleOf, type View, wordsOf } from "./html.ts";
import type { Scripts } from "./scripts.ts";
import { chooseLanguage, fill, type LanguageCode, languageOf, type TextName } from "./texts.ts";

/** The page on which a card is typed: one script, one style, both from here and named by their digest (S-12); and the loader. */

export interface Page {
  status: 200 | 404 | 410;
  headers: Record<string, string>;
  html: string;
}

interface Asset {
  path: string;
  headers: Record<string, string>;
  text: string;
  /** As in the `integrity` attribute and in the policy. */
  integrity: string;
  /** Why a page has it, for its inventory (PCI DSS 6.4.3). */
  purpose: string;
}

/** How the page is to be shown, as its address and the browser ask for it. */
interface Wishes {
  /** `?lang=`: the merchant's page's language, before the browser's own. */
  lang?: string | undefined;
  acceptLanguage?: string | undefined;
  /** `?dir=rtl`. */
  dir?: string | undefined;
}

export interface Frame {
  page(found: Found, wishes?: Wishes): Page;
  /** For a browser that cannot be shown the page now: too many requests, for so many seconds, or a fault of the service (null). */
  refusal(waitSeconds: number | null, wishes?: Wishes): Omit<Page, "status">;
  assets: readonly Asset[];
  /** The script that a merchant's page includes, at its immutable path. */
  loader: Asset;
}

/** `basePathNow`: of the public address, "" or "/pay": what a proxy takes off. */
export function createFrame(basePathNow: () => string, scripts: Scripts): Frame {
  const script = file("frame.js", scripts.form, {
    headers: assetHeaders("text/javascript"),
    purpose: "The card form: checks what is typed and sends it to this service.",
  });
  const style = file("frame.css", textOf("frame.css"), { headers: assetHeaders("text/css"), purpose: "How the card form looks." });
  const loader = file("widget.js", scripts.loader, {
    headers: loaderHeaders(),
    purpose: "For merchants' pages: puts the card form into one and passes its events on. No card data comes near it.",
  });
  const policy = { script: script.integrity, style: style.integrity };

  function documentOf(title: string, body: string, head: string, { language, theme, dir }: Shown): string {
    const basePath = basePathNow();
    return `<!doctype html>
<html lang="${language}" dir="${dir}" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}<title>${escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${basePath}${style.path}" integrity="${style.integrity}">
<script src="${basePath}${script.path}" integrity="${script.integrity}" defer></script>
</head>
<body>
${body}
</body>
</html>
`;
  }
  const noteAlone = (words: string, shown: Omit<Shown, "theme">): string =>
    documentOf(words, wordsOf(words, shown.language), "", { ...shown, theme: "auto" });

  return {
    assets: [script, style, loader],
    loader,
    refusal(waitSeconds, wishes = {}) {
      const { language, dir } = chosen(wishes);
      const { wait, waitOne, away } = languageOf(language).texts;
      const words = waitSeconds === null ? away : fill(waitSeconds === 1 ? waitOne : wait, { seconds: String(waitSeconds) });
      // Whose page it is could not be looked up. Nothing is on it that a page around it could misuse, and in a frame it must be read too.
      return { headers: pageHeaders("any", policy), html: noteAlone(words, { language, dir }) };
    },
    page(found, wishes = {}) {
      const { language, dir } = chosen(wishes);
      const { texts } = languageOf(language);
      // It is nobody's, and nothing is on it: in a frame its words are of more use than a browser's that framing was refused.
      if (found.kind === "missing")
        return { status: 404, headers: pageHeaders("any", policy), html: noteAlone(texts.missing, { language, dir }) };
      const origins = originsOf(found);
      const headers = pageHeaders(origins, policy);
      const { project, session } = found;
      const data = { sessionid: session.id, status: session.status, origins: origins.join(" ") };
      const view: View = { language, basePath: basePathNow(), data };
      const { theme, variables } = project.widget.appearance;
      const shown = { language, dir, theme: shownTheme(variables, theme) } as const;
      if (found.kind === "ended") {
        const text = ENDED_TEXTS[session.status];
        return { status: 410, headers, html: documentOf(texts[text], endOf(found, text, view), "", shown) };
      }
      const head = `<meta name="widget-nonce" content="${found.nonce}">\n`;
      return { status: 200, headers, html: documentOf(titleOf(found, language), formOf(found, view), head, shown) };
    },
  };
}

interface Shown {
  language: LanguageCode;
  dir: "ltr" | "rtl";
  theme: string;
}

const chosen = ({ lang, acceptLanguage, dir }: Wishes): Omit<Shown, "theme"> => ({
  language: chooseLanguage(lang, acceptLanguage),
  dir: dir === "rtl" ? "rtl" : "ltr",
});

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

function file(name: string, text: string, about: Pick<Asset, "headers" | "purpose">): Asset {
  const hash = createHash("sha384").update(text).digest();
  const [stem, extension] = name.split(".");
  return {
    path: `/widget/assets/${stem}-${hash.toString("hex").slice(0, 16)}.${extension}`,
    ...about,
    text,
    integrity: `sha384-${hash.toString("base64")}`,
  };
}

/** Pages that may embed the frame. A live card is not typed below a page that anybody on the way could have changed. */
function originsOf({ project, session }: Exclude<Found, { kind: "missing" }>): readonly string[] {
  const { origins } = project.widget;
  return session.environment === "live" ? origins.filter((origin) => origin.startsWith("https:")) : origins;
}

/** What an ended session's page says: nothing of how it ended but what everybody who has the address may know. */
const ENDED_TEXTS: Readonly<Record<Status, TextName>> = {
  PENDING: "over",
  COLLECTING: "over",
  "payment-success": "over",
  "payment-authorized": "over",
  "payment-failed": "over",
  expired: "expiredSession",
  cancelled: "cancelled",
  abandoned: "expiredSession",
};
