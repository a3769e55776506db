import { SAMPLES } from "../src/api/openapi/samples.ts";
import { GATEWAYS_BUILT } from "../src/gateways/index.ts";
import { Secret } from "../src/kernel/secret.ts";
import { SETTINGS, forwardCard } from "../src/gateways/webhook/requests.ts";
import { gateway as webhook } from "../src/gateways/webhook/index.ts";
import { cardOf, orderOf, resolvedOf, settingsOf } from "../src/gateways/testing.ts";
import { nextWait } from "../src/webhooks/schedule.ts";
import { signatureHeaders } from "../src/webhooks/signature.ts";
import { webhookBody } from "../src/webhooks/index.ts";
import { fenced, row } from "./markdown.ts";

/** The generated parts of docs/webhooks.md and docs/card-forwarding.md: made by the code that sends the real ones. */

export const EXAMPLE_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const EVENT = "evt_0123456789abcdefghijABCD";
const AT_MS = Date.parse("2026-11-20T10:05:01.000Z");

type Name = keyof typeof SAMPLES;
const WHAT: Readonly<Record<Name, string>> = {
  charged: "The card was charged.",
  stored: "Mode `tokenize`: the card was stored.",
  "charged by authorizenet": "`authorizenet` has its keys without the prefix.",
  held: "`authorizenet` with `capture: authorize_only`: the money is held. A later capture, by you at the gateway, sends no webhook.",
  forwarded: "Card forwarding: your endpoint took the payment.",
  declined: "The last card was declined. `error` says why.",
  expired: "Nobody called in time.",
  cancelled: "Your server cancelled it.",
  abandoned: "The caller hung up before paying.",
  "paid by the test word": "Test keys only: the caller said the test word.",
};

const bodyOf = (name: Name) => webhookBody(EVENT, SAMPLES[name], "dollars", GATEWAYS_BUILT);
const pretty = (json: string) => JSON.stringify(JSON.parse(json), null, 2);

function payloads(): string {
  return (Object.keys(WHAT) as Name[])
    .map((name) => {
      const body = bodyOf(name);
      const { event } = JSON.parse(body) as { event: string };
      return `### \`${event}\`: ${name}\n\n${WHAT[name]}\n\n${fenced("json", pretty(body))}`;
    })
    .join("\n\n");
}

const pascal = (name: string) => name.replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());

function headers(): string {
  const body = bodyOf("expired");
  const signed = signatureHeaders([new Secret(EXAMPLE_SECRET)], EVENT, AT_MS / 1000, body);
  const lines = Object.entries({ "content-type": "application/json", "user-agent": "voicetill", ...signed });
  const shown = lines.map(([name, value]) => `${name === "x-signature" ? pascal(name) : name}: ${value}`).join("\n");
  return `Secret \`${EXAMPLE_SECRET}\`, and this body, to the byte:\n\n${fenced("http", `${shown}\n\n${body}`)}`;
}

function schedule(): string {
  const waits: number[] = [];
  for (let wait = nextWait(1, 0.5, null); wait !== null; wait = nextWait(waits.length + 1, 0.5, null)) waits.push(wait);
  const total = waits.reduce((sum, wait) => sum + wait, 0);
  const words = (ms: number) => (ms < 60_000 ? `${ms / 1000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`);
  return [
    row("try", ...waits.map((_, index) => String(index + 2))),
    row("---", ...waits.map(() => "---")),
    row("after another", ...waits.map(words)),
    "",
    `${waits.length + 1} tries in all, over ${Math.round(total / 3_600_000)} hours; each wait is spread by 20 % either way.`,
  ].join("\n");
}

export const WEBHOOK_SECTIONS = (): Record<string, string> => ({ payloads: payloads(), headers: headers(), schedule: schedule() });

function forwarding(): string {
  const sessionId = SAMPLES.forwarded.id;
  const order = orderOf({
    sessionId,
    caller: "+14155550100",
    card: cardOf("4242424242424242", { month: "12", year: "2030", cvv: "123", zip: "94105" }),
  });
  const secrets = { url: new Secret("https://merchant.example/cards"), signing_secret: new Secret(EXAMPLE_SECRET) };
  const settings = resolvedOf(SETTINGS, settingsOf(webhook, { credentials: secrets }));
  const request = forwardCard(order, settings, AT_MS);
  const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  const body = Buffer.from(request.body ?? []).toString();
  const shown = `POST /cards HTTP/1.1\nHost: merchant.example\n${lines.join("\n")}\n\n${body}`;
  return `Signing secret \`${EXAMPLE_SECRET}\`:\n\n${fenced("http", shown)}`;
}

export const FORWARDING_SECTIONS = (): Record<string, string> => ({ request: forwarding() });
