import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startApp, type App } from "../app.ts";
import { readConfig } from "#src/config/index.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { systemClock, within } from "#src/kernel/clock.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { type GatewayName, MODES } from "#src/kernel/payment.ts";
import { copyNewDatabase, createLog } from "#src/platform/index.ts";
import { openTelephone } from "#softphone/caller.ts";
import { expectedStatus, INPUTS, OUTCOMES, scenario, type DemoOutcome, type Input } from "./demo/scenario.ts";
import { INTEGRATIONS, merchantBy, type Via, VIAS } from "./demo/via.ts";
import { drawTimeline, Timeline } from "./demo/timeline.ts";
import { isHelped } from "./help.ts";
import { CACHE, PROMPT_CACHE } from "./prompt-cache.ts";
import { startReceiver, type Received } from "./receiver.ts";

const NAMES = Object.keys(GATEWAYS_BUILT) as GatewayName[];
/** Gateways that take one card a session: no other is tried after a decline. */
const ONE_CARD = NAMES.filter((name) => GATEWAYS_BUILT[name]?.capabilities.oneAttempt);
const USAGE = `Usage: voicetill demo [--via api|alpha|beta] [--gateway NAME] [--mode charge|tokenize] [--input keypad|speech|mixed] [--outcome approve|decline|retry|mango] [--json] [--verbose]
One payment with nobody at the phone: a service on free ports with a temporary folder, a session, a real SIP call on loopback, the card, the charge
at a simulator, the status webhook, the transfer-back. Exit status 0 only if all of it happened.
  --via      who asks for the payment: a server by the API, or the agent of voice platform alpha or beta by its tool (default api)
  --gateway  ${NAMES.join(", ")} (default ${NAMES[0]})
  --mode     charge the card, or tokenize: store it (default charge)
  --input    how the caller answers: keypad, speech, mixed (default mixed)
  --outcome  approve; decline; retry: one card declined, the next approved (not ${ONE_CARD.join(", ")}); mango: the test word instead of a card (default approve)
  --json     one JSON object: session, webhook, transfer, timeline; with a voice platform also result, what its agent learns in the end
  --verbose  the service's log besides`;
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const CALLER = "+14155550100";
/** The webhook, once the payment is over. */
const AFTERMATH_MS = 20_000;

interface Choice {
  via: Via;
  gateway: GatewayName;
  mode: string;
  input: Input;
  outcome: DemoOutcome;
}

/** What `--json` prints (docs/operations.md, Demo). */
interface DemoResult {
  session: Record<string, unknown>;
  webhook: { verified: boolean; body: unknown } | null;
  transfer: { answered: boolean; headers: Record<string, string> };
  /** Of `get_payment_result`, by a voice platform alone. */
  result?: Record<string, unknown>;
  timeline: readonly { at_ms: number; what: string }[];
}

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const { values } = parseArgs({
    args,
    options: { via: text, gateway: text, mode: text, input: text, outcome: text, json: flag, verbose: flag },
  });
  const choice: Choice = {
    via: oneOf("--via", values.via ?? VIAS[0], VIAS),
    gateway: oneOf("--gateway", values.gateway ?? NAMES[0]!, NAMES),
    mode: oneOf("--mode", values.mode ?? "charge", MODES),
    input: oneOf("--input", values.input ?? "mixed", INPUTS),
    outcome: oneOf("--outcome", values.outcome ?? "approve", OUTCOMES),
  };
  if (choice.outcome === "retry" && ONE_CARD.includes(choice.gateway))
    throw new OperatorError(`--outcome retry is not for ${choice.gateway}: it takes one card a session.`);
  const timeline = new Timeline((line) => {
    if (!values.json) process.stdout.write(`${line}\n`);
  });
  const folder = mkdtempSync(join(tmpdir(), "voicetill-demo-"));
  // Speech, voice and log are as the operator has them; his database, trunks, keys and addresses are none of the demo's.
  const kept = Object.entries(process.env).filter(([name]) => /^(?:SPEECH|SHERPA|VOICE|LOG|RTP|MAX)(?:_|$)/.test(name));
  const config = readConfig({
    ...Object.fromEntries(kept),
    DATA_DIR: folder,
    HOST: "127.0.0.1",
    PORT: "0",
    SIP_HOST: "127.0.0.1",
    SIP_PORT: "0",
    SIMULATORS_PORT: "0",
    RATE_LIMIT_PER_MINUTE: "0",
  });
  const log = createLog({ level: values.verbose ? "debug" : "error", format: config.logFormat });
  let app: App | null = null;
  try {
    timeline.add("service starting");
    // Where nothing can be kept the service makes a database of its own.
    await copyNewDatabase(folder, CACHE).catch(() => rmSync(join(folder, "database"), { recursive: true, force: true }));
    app = await startApp(config, log, { promptCache: PROMPT_CACHE });
    const result = await pay(app, choice, timeline);
    const fault = faultIn(result, choice);
    if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else process.stdout.write(`\n${drawTimeline(timeline.entries)}\n\n${JSON.stringify(result.session, null, 2)}\n`);
    process.stderr.write(fault === null ? "" : `The demo failed: ${fault}.\n`);
    return fault === null ? 0 : 1;
  } finally {
    await app?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function pay(app: App, { via, gateway, mode, input, outcome }: Choice, timeline: Timeline): Promise<DemoResult> {
  const webhook = Promise.withResolvers<Received>();
  const receiver = await startReceiver(0, SECRET, (received) => {
    timeline.add(`status webhook ${received.verified ? "received and verified" : `NOT verified: ${received.reason}`}`);
    webhook.resolve(received);
  });
  const telephone = await openTelephone(PROMPT_CACHE);
  try {
    await app.projects.applyFile(
      JSON.stringify({
        organizations: [
          {
            slug: "demo",
            projects: [
              {
                slug: "demo",
                status_webhook: { url: receiver.url, secret: SECRET },
                integrations: INTEGRATIONS,
                // A declined card ends the call at once, instead of after three of them.
                ...(outcome === "decline" ? { voice: { attempts: 1 } } : {}),
              },
            ],
          },
        ],
      }),
      {},
    );
    timeline.add("service ready");
    const merchant = await merchantBy(via, app, (what) => timeline.add(what));
    const { sessionId, target, headers } = await merchant.begin({
      caller: CALLER,
      amount: mode === "charge" ? "49.95" : "0",
      mode,
      gateway,
      description: "Order 118",
      callback: telephone.address,
      memory: "order 118",
    });
    const unwatch = app.sessions.watchProgress(sessionId, ({ step, try: number }) => {
      timeline.add(`step ${step}${number > 1 ? `, try ${number}` : ""}`);
    });
    const back = telephone.answerNext().then((agent) => {
      timeline.add("transfer-back answered by the agent");
      return agent;
    });
    timeline.add("rendering the service's sentences, to know them when they are heard; a machine's first time takes up to a minute");
    const calling = telephone
      .call({
        target,
        from: `sip:${CALLER}@127.0.0.1`,
        headers,
        turns: scenario(input, outcome, new Date().getFullYear() + 3),
        onEvent: (what) => timeline.add(what),
      })
      .then(({ answered, status }) => {
        if (!answered) throw new OperatorError(refusal(status));
      });
    // However long the sentences take to render and the call to finish: the telephone fails when it waits for something too long.
    const agent = await Promise.race([back, calling.then(() => null)]);
    const result = agent && (await merchant.result(agent.headers));
    if (result) timeline.add(`get_payment_result answered: ${String(result["status"])}`);
    const received = await within(systemClock, AFTERMATH_MS, webhook.promise, () => null);
    await agent?.hangUp();
    await calling;
    unwatch();
    // The service hangs up after it has written how the transfer-back went.
    const session = await sessionOf(app, sessionId);
    return {
      session,
      webhook: received && { verified: received.verified, body: received.body },
      transfer: { answered: agent !== null, headers: agent?.headers ?? {} },
      ...(result && { result }),
      timeline: timeline.entries,
    };
  } finally {
    await telephone.close();
    await receiver.close();
  }
}

async function sessionOf(app: App, id: string): Promise<Record<string, unknown>> {
  const authorization = `Bearer ${app.starter?.apiKey?.reveal() ?? ""}`;
  const response = await fetch(`${app.baseUrl}/v1/sessions/${id}`, { headers: { authorization } });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new OperatorError(`The session was answered with ${response.status}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Why there was no call. */
function refusal(status: number): string {
  const why =
    status === 503
      ? "no room for a call (MAX_CALLS, or a machine that is too busy), or a fault: --verbose says which"
      : "--verbose says why";
  return `The demo failed: the service refused its call with SIP status ${status}; ${why}.`;
}

/** The first promise of the demo that was not kept; null when all were. */
function faultIn({ session, webhook, transfer, result }: DemoResult, { outcome, via }: Choice): string | null {
  const expected = expectedStatus(outcome);
  if (session["status"] !== expected) return `the session ended ${String(session["status"])}, not ${expected}`;
  if (!webhook?.verified) return "no verified status webhook came";
  if ((webhook.body as { status?: unknown }).status !== expected) return "the status webhook tells another status";
  if (!transfer.answered) return "the caller was not transferred back";
  const said = `payment-${transfer.headers["X-payment_status"] ?? "?"}`;
  if (said !== expected) return `the headers of the transfer-back tell ${said}`;
  if (via !== "api" && `payment-${String(result?.["status"])}` !== expected) return "get_payment_result tells another status";
  return null;
}

function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new OperatorError(`${name} takes ${allowed.join(", ")}; "${value}" is none of them.`);
}
