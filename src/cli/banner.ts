import type { App } from "../app.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { Config } from "#src/config/index.ts";
import { formatHostPort } from "#src/kernel/host-port.ts";

/** Digits of a whole payment: number, expiry, security code, ZIP, "yes, that is right". */
const SAMPLE_DIGITS = "4242424242424242#1230#123#94105#1#";

/** What a newcomer needs to pay the first session: addresses, a key, and two lines to copy where they would work. */
export function banner(config: Config, app: Pick<App, "baseUrl" | "sip" | "simulatorsUrl" | "starter">): string {
  const paths = config.roles.includes("api") ? { HTTP: "", Interface: "/docs" } : { Health: "/health", Metrics: "/metrics" };
  const rows = Object.entries(app.baseUrl ? paths : {}).map(([name, path]): [string, string] => [name, app.baseUrl + path]);
  if (app.sip) {
    const { host, port, tlsPort } = app.sip;
    const hasNoTrunks = config.sipTrunks.length === 0 && !config.sipUsers && config.sipTlsClientCa === null;
    const callers = hasNoTrunks ? "; every call is ignored until SIP_TRUNKS names who may call" : "";
    rows.push(["SIP", `sip:${formatHostPort(host, port)} (UDP and TCP)${callers}`]);
    if (tlsPort !== null) rows.push(["SIP, TLS", `sips:${formatHostPort(host, tlsPort)}`]);
  }
  if (app.simulatorsUrl) rows.push(["Simulators", app.simulatorsUrl]);
  else if (app.starter) rows.push(["Simulators", `off: project ${app.starter.projectSlug} has no gateway but those of an apply file`]);
  rows.push([
    "Database",
    config.embedded ? `embedded in ${config.dataDir} (test keys only: it survives a crash, not a power cut)` : "PostgreSQL",
  ]);
  if (app.starter) rows.push(["Project", app.starter.projectSlug]);
  if (app.starter?.apiKey) rows.push(["Test key", app.starter.apiKey.reveal()]);
  const table = rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`).join("\n");
  const { starter, sip, simulatorsUrl } = app;
  // Without the interface there is no session to make, without simulators no gateway that would take it.
  const lines =
    starter?.apiKey && sip && simulatorsUrl && config.roles.includes("api")
      ? `\n\n${firstPayment(app.baseUrl, formatHostPort(sip.host, sip.port), starter.projectSlug, starter.apiKey.reveal())}`
      : "";
  return `\nVoicetill is running.\n\n${table}${lines}\n`;
}

function firstPayment(baseUrl: string, sip: string, project: string, key: string): string {
  const [gateway] = Object.keys(GATEWAYS_BUILT);
  const body = JSON.stringify({ project, caller: "+14155550100", amount: "49.95", mode: "charge", gateway });
  return [
    "Make a payment session and pay it by telephone, in a second terminal in this folder:",
    "",
    `  SESSION=$(curl -s ${baseUrl}/v1/sessions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}' | sed 's/.*"session_id":"\\([^"]*\\)".*/\\1/')`,
    `  npx voicetill call sip:$SESSION@${sip} --digits '${SAMPLE_DIGITS}' --amount '49.95 USD'`,
  ].join("\n");
}

/** The banner for programs: `serve --json`. */
export function addresses({ baseUrl, sip, simulatorsUrl, starter }: App): object {
  return {
    base_url: baseUrl,
    sip: sip && { host: sip.host, port: sip.port, tls_port: sip.tlsPort },
    simulators_url: simulatorsUrl,
    project: starter?.projectSlug ?? null,
    api_key: starter?.apiKey?.reveal() ?? null,
  };
}
