import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "#src/config/index.ts";
import { inWords, purpose } from "#src/conversation/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";
import { formatHostPort, unbracketed } from "#src/kernel/host-port.ts";
import { parseUuid } from "#src/kernel/ids.ts";
import { CURRENCIES, parseAmountText, toMinor } from "#src/kernel/money.ts";
import { writeWav } from "#src/speech/index.ts";
import { openTelephone } from "#softphone/caller.ts";
import { localAddressTowards } from "#softphone/local-address.ts";
import { turnsOfDigits, turnsOfScript, type Turn } from "#softphone/script.ts";
import { readWav } from "#softphone/wav.ts";
import { Timeline } from "./demo/timeline.ts";
import { isHelped } from "./help.ts";
import { PROMPT_CACHE } from "./prompt-cache.ts";

const USAGE = `Usage: voicetill call TARGET [--digits GROUPS] [--say TEXT] [--wav FILE] [--script FILE] [--from +1...] [--header 'Name: value'] [--record FILE] [--amount AMOUNT] [--json]
TARGET is a session id (of the service that SIP_HOST and SIP_PORT name) or a SIP URI. Groups of digits end in #, one a prompt:
'4242424242424242#1230#123#94105#1#' is a card number, expiry date, security code, ZIP code, and "yes, that is right".
A script has a line a turn: wait TEXT, wait SECONDS, keys DIGITS, say TEXT, hangup.
--amount '49.95 USD' listens for the sentence with this amount and prints whether it was heard word for word.`;

export async function run(args: string[]): Promise<number> {
  if (isHelped(args, USAGE)) return 0;
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      digits: { type: "string" },
      say: { type: "string", multiple: true },
      wav: { type: "string" },
      script: { type: "string" },
      from: { type: "string" },
      header: { type: "string", multiple: true },
      record: { type: "string" },
      amount: { type: "string" },
      json: { type: "boolean" },
    },
  });
  const [target, ...more] = positionals;
  if (target === undefined || more.length > 0)
    throw new OperatorError("voicetill call takes one TARGET, a session id or a SIP URI (--help tells more).");

  const config = readConfig(process.env);
  const sessionId = parseUuid(target);
  const uri = sessionId ? `sip:${sessionId}@${formatHostPort(config.sipPublicHost, config.sipPort)}` : target;
  if (!/^sips?:/i.test(uri)) throw new OperatorError(`TARGET must be a session id or a SIP URI; ${JSON.stringify(target)} is neither.`);
  const turns: Turn[] = [
    ...(values.script === undefined ? [] : turnsOfScript(readFile(values.script).toString("utf8"))),
    ...(values.say ?? []).flatMap((text): Turn[] => [{ do: "wait for a prompt" }, { do: "say", text }]),
    ...(values.wav === undefined ? [] : ([{ do: "wait for a prompt" }, { do: "play", file: values.wav }] satisfies Turn[])),
    ...(values.digits === undefined ? [] : turnsOfDigits(values.digits)),
  ];

  // Whether it can be played and written is told before anybody is called.
  if (values.wav !== undefined) readWav(readFile(values.wav));
  const record = values.record === undefined ? null : openToWrite(values.record);
  const listensFor = values.amount === undefined ? undefined : amountSentence(values.amount);
  // Those that the service has rendered, where they are at hand.
  const prompts = join(config.dataDir, "prompts");
  const host = await localAddressTowards(hostOf(uri)).catch((cause: unknown) => {
    throw new OperatorError(`There is no way from here to the host of ${uri}.`, { cause });
  });
  let isTold = false;
  const tellOnce = () => {
    if (!isTold)
      process.stderr.write("Rendering what the service may say, to know it when it is heard: up to a minute, the first time only.\n");
    isTold = true;
  };
  const telephone = await openTelephone(existsSync(prompts) ? prompts : PROMPT_CACHE, host, tellOnce);
  const timeline = new Timeline((line) => {
    if (!values.json) process.stdout.write(`${line}\n`);
  });
  const heard: Uint8Array[] = [];
  try {
    const report = await telephone.call({
      target: uri,
      ...(values.from !== undefined && { from: `sip:${values.from}@${formatHostPort(host, null)}` }),
      headers: (values.header ?? []).map(headerOf),
      turns,
      ...(listensFor !== undefined && { listensFor }),
      onAudio: (ulaw) => void heard.push(ulaw),
      onEvent: (what) => timeline.add(what),
    });
    const { answered, status, endedBy, heardSentence } = report;
    if (values.json)
      process.stdout.write(
        `${JSON.stringify({ answered, status, ended_by: endedBy, prompts: report.prompts, amount_heard: heardSentence, timeline: timeline.entries })}\n`,
      );
    else if (heardSentence !== null) process.stdout.write(`\nThe amount was ${heardSentence ? "heard" : "not heard"}: ${listensFor}\n`);
    const why = answered ? undefined : WHY_REFUSED[status];
    if (why !== undefined) process.stderr.write(`${why}\n`);
    return answered ? 0 : 1;
  } finally {
    await telephone.close();
    // Of a call whose script failed above all: what was heard tells why.
    if (record !== null) writeFileSync(record, writeWav(Buffer.concat(heard)));
  }
}

/** Of a SIP URI (RFC 3261 section 19.1.1). Where it has none, this machine: the call itself says then what is wrong with the URI. */
function hostOf(uri: string): string {
  return unbracketed(/^sips?:(?:[^@]*@)?(\[[^\]]*\]|[^:;?]*)/i.exec(uri)?.[1] || "localhost");
}

/** What the service's refusals mean, by SIP status (docs/interface.md, Matching calls). */
const WHY_REFUSED: Readonly<Record<number, string>> = {
  404: "No session is meant by this call: voicetill unmatched list tells what each rule went by.",
  408: "Nothing answered there: see that the service runs, and the SIP address that its start printed.",
  410: "This session is over, or nobody called in its time: make another one.",
  486: "Another call is paying this session.",
  503: "The service takes no call just now: it is ending, too busy, or has MAX_CALLS of them.",
};

/** The words in which the service says the amount before it asks for the card. */
function amountSentence(text: string): string {
  const [amount = "", currency = "USD"] = text.split(/\s+/);
  const decimal = parseAmountText(amount);
  const minor = decimal && !decimal.negative && CURRENCIES.includes(currency) ? toMinor(decimal, currency) : null;
  if (typeof minor !== "number")
    throw new OperatorError(`--amount takes an amount and a currency, such as '49.95 USD'; ${JSON.stringify(text)} is none.`);
  return inWords([purpose({ language: "en-US", mode: "charge", amountMinor: minor, currency })]);
}

function readFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new OperatorError(`The file ${JSON.stringify(file)} cannot be read.`, { cause });
  }
}

function openToWrite(file: string): number {
  try {
    return openSync(file, "w");
  } catch (cause) {
    throw new OperatorError(`The file ${JSON.stringify(file)} cannot be written.`, { cause });
  }
}

function headerOf(text: string): [string, string] {
  const match = /^([A-Za-z0-9-_]+):\s*(.*)$/.exec(text);
  if (!match?.[1]) throw new OperatorError(`--header takes 'Name: value'; ${JSON.stringify(text)} is none.`);
  return [match[1], match[2] ?? ""];
}
