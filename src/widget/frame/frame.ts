import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { formatAmount } from "#src/kernel/money.ts";
import type { VoiceField } from "#src/projects/index.ts";
import type { Status } from "#src/sessions/index.ts";
import type { Found, Opened } from "../types.ts";
import { assetHeaders, pageHeaders } from "./headers.ts";
import { filled, type TextName, TEXTS } from "./texts.ts";

/** The page on which a card is typed: one script, one style, both from here and named by their digest (S-12). */

export interface Page {
  status: 200 | 404 | 410;
  headers: Record<string, string>;
  html: string;
}

export interface Asset {
  path: string;
  headers: Record<string, string>;
  text: string;
}

export interface Frame {
  page(found: Found): Page;
  assets: readonly Asset[];
}

interface File extends Asset {
  /** As in the `integrity` attribute and in the policy. */
  digest: string;
}

const LANGUAGE = "en";

/** `basePathNow`: of the public address, "" or "/pay": what a proxy takes off. */
export function createFrame(basePathNow: () => string): Frame {
  const script = file("frame.js", "text/javascript");
  const style = file("frame.css", "text/css");
  const policy = { script: script.digest, style: style.digest };

  const document = (title: string, body: string, head: string, theme: string, basePath = basePathNow()) => `<!doctype html>
<html lang="${LANGUAGE}" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}<title>${escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${basePath}${style.path}" integrity="${style.digest}">
<script src="${basePath}${script.path}" integrity="${script.digest}" defer></script>
</head>
<body>
${body}
</body>
</html>
`;

  return {
    assets: [script, style],
    page(found) {
      const origins = found.kind === "missing" ? [] : originsOf(found);
      const headers = pageHeaders(origins, policy);
      if (found.kind === "missing") return { status: 404, headers, html: document(TEXTS.missing, note("missing", {}), "", "auto") };
      const { project, session } = found;
      const data = { sessionid: session.id, status: session.status, origins: origins.join(" ") };
      const { theme } = project.widget.appearance;
      if (found.kind === "ended") {
        const text = ENDED_TEXTS[session.status];
        return { status: 410, headers, html: document(TEXTS[text], note(text, data), "", theme) };
      }
      const head = `<meta name="widget-nonce" content="${found.nonce}">\n`;
      return { status: 200, headers, html: document(titleOf(found), form(found, basePathNow(), data), head, theme) };
    },
  };
}

function file(name: string, type: string): File {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  const hash = createHash("sha384").update(text).digest();
  const [stem, extension] = name.split(".");
  return {
    path: `/widget/assets/${stem}-${hash.toString("hex").slice(0, 16)}.${extension}`,
    headers: assetHeaders(type),
    text,
    digest: `sha384-${hash.toString("base64")}`,
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

interface Field {
  id: string;
  label: TextName;
  wrong: TextName;
  autocomplete: string;
  inputmode: string;
  maxlength: number;
}

const FIELDS: Readonly<Record<VoiceField, Field>> = {
  number: { id: "number", label: "number", wrong: "numberWrong", autocomplete: "cc-number", inputmode: "numeric", maxlength: 30 },
  expiry: { id: "expiry", label: "expiry", wrong: "expiryWrong", autocomplete: "cc-exp", inputmode: "numeric", maxlength: 9 },
  cvv: { id: "cvv", label: "cvv", wrong: "cvvWrong", autocomplete: "cc-csc", inputmode: "numeric", maxlength: 4 },
  zip: { id: "zip", label: "zip", wrong: "zipWrong", autocomplete: "postal-code", inputmode: "text", maxlength: 10 },
  name: { id: "name", label: "name", wrong: "nameWrong", autocomplete: "cc-name", inputmode: "text", maxlength: 100 },
};

function titleOf({ session, project }: Opened): string {
  return filled(session.mode === "tokenize" ? "titleStore" : "title", { merchant: project.name });
}

function amountOf({ session }: Opened): string {
  const { currency } = session;
  const amount = formatAmount(session.amountMinor, currency);
  return new Intl.NumberFormat(LANGUAGE, { style: "currency", currency }).format(amount as `${number}`);
}

/** No input has a name: without the script nothing of a card could be sent anywhere. */
function form(opened: Opened, basePath: string, data: Readonly<Record<string, string>>): string {
  const { session, project } = opened;
  const { appearance } = project.widget;
  const amount = amountOf(opened);
  const sums = { paid: filled("paid", { amount }), authorized: filled("authorized", { amount }) };
  const texts = JSON.stringify({ ...TEXTS, ...sums });
  const variables = JSON.stringify(appearance.variables);
  const button = session.mode === "tokenize" ? TEXTS.store : filled("pay", { amount });
  const attributes = attributesOf({ ...data, api: `${basePath}/v1/widget-sessions/${session.id}`, mode: session.mode, texts, variables });
  const inputs = appearance.fields.map((name) => inputOf(FIELDS[name], appearance.labels === "hidden")).join("\n");
  return `<main${attributes}>
<h1>${escape(titleOf(opened))}</h1>
${session.environment === "test" ? `<p class="test">${escape(TEXTS.test)}</p>\n` : ""}${session.description === null ? "" : `<p class="description" dir="auto">${escape(session.description)}</p>\n`}<noscript><p class="error">${escape(TEXTS.noScript)}</p></noscript>
<form id="form" method="post" novalidate>
${inputs}
<button id="submit" type="submit" disabled>${escape(button)}</button>
</form>
<p id="message" role="status" aria-live="polite" tabindex="-1"></p>
</main>`;
}

function inputOf({ id, label, wrong, autocomplete, inputmode, maxlength }: Field, isHidden: boolean): string {
  return `<div class="field"><label for="${id}"${isHidden ? ' class="hidden"' : ""}>${escape(TEXTS[label])}</label>
<input id="${id}" type="text" inputmode="${inputmode}" autocomplete="${autocomplete}" maxlength="${maxlength}" autocapitalize="off" spellcheck="false" aria-describedby="${id}-error">
<p class="error" id="${id}-error" data-wrong="${escape(TEXTS[wrong])}"></p></div>`;
}

function note(text: TextName, data: Readonly<Record<string, string>>): string {
  return `<main${attributesOf(data)}>\n<p id="message" role="status">${escape(TEXTS[text])}</p>\n</main>`;
}

function attributesOf(data: Readonly<Record<string, string>>): string {
  return Object.entries(data)
    .map(([name, value]) => ` data-${name}="${escape(value)}"`)
    .join("");
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
