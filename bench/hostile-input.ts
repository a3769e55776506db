/**
 * What hostile text costs the main thread: npm run bench -- hostile-input [--size 65536] [--all]
 *
 * Every reader of text that an outsider reaches is given input made of one repeated pattern (backslashes, digits, quotes, escapes, nested
 * brackets ...) behind its own beginning, whole and broken off by a foreign end, at a quarter of the size and at the size; size is the
 * longest input in characters, 64 KiB being the largest that any listener takes. Each row: the reader, its slowest pattern, the best of
 * five runs of it at that size in milliseconds of CPU time, and the growth: the time at the size over that at a quarter of it (about 4 is
 * linear, 16 quadratic, below a tenth of a millisecond noise). The last line names the worst of all; R-438 allows 5 ms. --all prints every
 * pattern.
 */
import { parseArgs } from "node:util";
import { clientReader } from "#src/api/access/client-address.ts";
import { parseCallback } from "#src/checkout/index.ts";
import { uuidFault } from "#src/api/schemas/uuid.ts";
import { readForm, readLines, readTagged } from "#src/gateways/kit/form.ts";
import { readJson } from "#src/gateways/kit/json.ts";
import { holdsNumber, words } from "#src/gateways/kit/scrub.ts";
import { asciiText } from "#src/gateways/kit/text.ts";
import { readXml } from "#src/gateways/kit/xml.ts";
import { Cell } from "#src/kernel/card.ts";
import { parseJson } from "#src/kernel/json.ts";
import { parseAmountText, parseNumberToken } from "#src/kernel/money.ts";
import { parseE164 } from "#src/kernel/phone.ts";
import { acceptOffer } from "#src/media/sdp.ts";
import { createLog, filterLine } from "#src/platform/index.ts";
import { parseAddress } from "#src/sip/grammar/address.ts";
import { parseDatagram } from "#src/sip/grammar/parse.ts";
import { splitList } from "#src/sip/grammar/scanner.ts";
import { StreamFramer } from "#src/sip/grammar/stream-framer.ts";
import { parseUri } from "#src/sip/grammar/uri.ts";
import { parseVia } from "#src/sip/grammar/via.ts";
import { callIdentifiersOf } from "#src/voice/call-identifiers.ts";
import { matchCall, type SessionIndex } from "#src/voice/match.ts";
import { readCardBody } from "#src/widget/card-body.ts";

const RUNS = 5;
const LIMIT_MS = 5;
/** Below this a growth is the clock's own noise. */
const NOISE_MS = 0.1;

/** What is repeated; `%`-forms and escapes are those that some reader undoes. */
const PATTERNS: Readonly<Record<string, string>> = {
  backslashes: "\\",
  "escaped backslashes": "\\\\n",
  "half escapes": "\\u",
  "escaped digits": "\\u0034",
  digits: "4",
  zeros: "0",
  "digits and spaces": "4 ",
  "digits and wide gaps": "4   ",
  "digits and commas": "52,",
  "ten digits and a word": "4111111111 x ",
  "eleven list items": "5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, x, ",
  "full-width digits": "\uff14",
  spaces: " ",
  tabs: "\t",
  "spaces and a letter": "   a",
  quotes: '"',
  "quoted pairs": '"\\',
  "empty strings": '"",',
  percent: "%",
  "percent two": "%2",
  "percent digits": "%34",
  "percent spaces": "4%20",
  commas: ",",
  semicolons: ";",
  "semicolons and spaces": " ;",
  parameters: ";a=b",
  equals: "=",
  colons: ":",
  dots: ".",
  "dots and digits": "1.",
  dashes: "-",
  "brackets opened": "[",
  "braces opened": '{"a":',
  "objects with a number": '{"1000":0},',
  "angles opened": "<",
  "angles closed": "<>",
  elements: "<a>",
  attributes: " a='b'",
  comments: "<!--",
  sections: "<![CDATA[",
  ampersands: "&",
  entities: "&#x34;",
  members: "a=b&",
  "tagged members": "a[1]=b&",
  base64: "NDI0Mg",
  hexadecimal: "34",
  "hexadecimal UUIDs": "42424242-4242-4242-8242-42424242424",
  letters: "a",
  hosts: "a.",
  "host labels": "a-",
  at: "@",
  "line feeds": "\n",
  lines: "\r\n",
  folds: "\r\n ",
  "short headers": "\r\na:b",
  "half surrogates": "\ud800",
  "combining marks": "e\u0301",
  nul: "\0",
};
const ENDS = ["", "!", "\\", '"x', "\u00e9"];

interface Reader {
  name: string;
  /** Largest input, in characters, that can reach it; the listeners' own limit when absent. */
  largest?: number;
  /** What stands before the repeated pattern, so that the reader comes to it. */
  begins?: readonly string[];
  read: (text: string) => unknown;
}

const utf8 = (text: string) => Buffer.from(text, "utf8");
const log = createLog({ level: "info", format: "json", write: () => {} });
const card = Cell.fromText("4242424242424242");
const clientOf = clientReader(["127.0.0.0/8"]);
const nobody: SessionIndex = {
  channelOf: async () => null,
  waitingFor: async () => [],
  projectOf: async () => null,
  sessionOfCode: async () => "none",
  countries: async () => ["US", "DE"],
};
const LOCAL = { host: "127.0.0.1", port: 20_000, sessionId: "1", previous: null };
const SDP = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n";

const INVITE =
  "INVITE sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKa\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:a@b>\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\n";
/** `text` as the value of many lines of one header, each as long as a line may be. */
function headerLines(name: string, text: string): string {
  const value = text.replaceAll(/[\r\n]/g, " ");
  const lines: string[] = [];
  for (let at = 0; at < value.length; at += 8_000) lines.push(`${name}: ${value.slice(at, at + 8_000)}`);
  return lines.join("\r\n");
}
function inHeader(name: string): (text: string) => unknown {
  return (text) => {
    const parsed = parseDatagram(Buffer.from(`${INVITE}${headerLines(name, text)}\r\n\r\n`, "latin1"));
    if (parsed.kind === "request") void matchCall(callIdentifiersOf(parsed.request, true), nobody, () => null);
  };
}

const READERS: readonly Reader[] = [
  { name: "log filter", read: filterLine },
  { name: "log line", read: (text) => log.info("event", { reason: text, path: text }) },
  { name: "SIP datagram", begins: ["", "INVITE ", INVITE], read: (text) => parseDatagram(Buffer.from(text, "latin1")) },
  { name: "SIP stream", begins: ["", INVITE], read: (text) => new StreamFramer().feed(Buffer.from(text, "latin1")) },
  ...["X-Session-Id", "X-Caller", "P-Asserted-Identity", "Contact", "Subject"].map((name) => ({
    name: `INVITE with ${name}`,
    largest: 60_000,
    begins: ["", "sip:", "<sip:"],
    read: inHeader(name),
  })),
  { name: "SIP address", largest: 8_192, begins: ["", '"', "<sip:", "a <sip:a@b>"], read: parseAddress },
  { name: "SIP list", largest: 8_192, read: splitList },
  { name: "SIP URI", largest: 8_192, begins: ["", "sip:", "sip:a@", "sip:a@b;", "sip:a@b?", "tel:"], read: parseUri },
  { name: "SIP Via", largest: 8_192, begins: ["", "SIP/2.0/UDP ", "SIP/2.0/UDP a;", "SIP/2.0/UDP [::1]"], read: parseVia },
  { name: "SDP", largest: 16_384, begins: ["", SDP, `${SDP}a=`, `${SDP}a=rtpmap:`, "v=", "o="], read: (text) => acceptOffer(text, LOCAL) },
  {
    name: "JSON reader",
    begins: ["", '"', "[", '["', '{"a":'],
    read: (text) => parseJson(text, { duplicateKeys: "refuse", numbers: "text" }),
  },
  {
    name: "card scanner",
    begins: ["", '{"card":{"number":"', '{"card":'],
    read: (text) => readCardBody(utf8(text), { nowMs: 0, cvvNeeded: true, acceptedBrands: [] }),
  },
  { name: "telephone number", begins: ["", "+1"], read: parseE164 },
  { name: "callback", begins: ["", "sip:", "sip:a@", "sip:a@b;", "tel:+"], read: parseCallback },
  { name: "amount text", begins: ["", "+", "0.", "10."], read: parseAmountText },
  { name: "number token", begins: ["", "1.", "1e"], read: parseNumberToken },
  { name: "UUID fault", read: uuidFault },
  {
    name: "X-Forwarded-For",
    largest: 16_384,
    begins: ["", "127.0.0.1,", "::"],
    read: (text) => clientOf({ socket: { remoteAddress: "127.0.0.1" }, headers: { "x-forwarded-for": text } } as never),
  },
  { name: "gateway JSON", begins: ["", '{"a":'], read: (text) => readJson(utf8(text)) },
  { name: "gateway XML", begins: ["", "<a>", "<a", "<a b='", '<?xml version="1.0"?>'], read: (text) => readXml(utf8(text)) },
  { name: "gateway form", begins: ["", "a="], read: (text) => readForm(utf8(text)) },
  { name: "gateway lines", begins: ["", "a="], read: (text) => readLines(utf8(text)) },
  { name: "gateway tagged values", begins: ["", "a=", "a[4]="], read: (text) => readTagged(utf8(text)) },
  { name: "vendor's words", read: (text) => words(text) },
  { name: "card number in a vendor's text", read: (text) => holdsNumber(text, card) },
  { name: "ASCII text", read: (text) => asciiText(text, 60) },
];

/** Best of several runs, in milliseconds of this thread's own CPU time: a busy machine adds nothing. */
function timed({ read }: Reader, input: string): number {
  let best = Infinity;
  for (let run = 0; run < RUNS; run++) {
    const before = process.threadCpuUsage();
    try {
      read(input);
    } catch {
      // A refusal is an answer like any other.
    }
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

function inputOf(begin: string, pattern: string, end: string, length: number): string {
  return begin + pattern.repeat(Math.max(1, Math.floor((length - begin.length - end.length) / pattern.length))) + end;
}

interface Row {
  reader: string;
  pattern: string;
  ms: number;
  growth: number;
}

const { values } = parseArgs({ options: { size: { type: "string", default: "65536" }, all: { type: "boolean", default: false } } });
const rows = READERS.map((reader): Row => {
  const length = Math.min(Number(values.size), reader.largest ?? Infinity);
  const found = Object.entries(PATTERNS).flatMap(([pattern, text]) =>
    (reader.begins ?? [""]).flatMap((begin) =>
      ENDS.map((end): Row => {
        const ms = timed(reader, inputOf(begin, text, end, length));
        const growth = ms < NOISE_MS ? 0 : ms / timed(reader, inputOf(begin, text, end, length / 4));
        return {
          reader: reader.name,
          pattern: `${begin && `${JSON.stringify(begin.slice(-12))} and `}${pattern}${end && ` ${JSON.stringify(end)}`}`,
          ms,
          growth,
        };
      }),
    ),
  );
  const sorted = found.sort((a, b) => b.ms - a.ms);
  for (const row of sorted) if (values.all || row === sorted[0]) print(row);
  return sorted[0]!;
});

function print({ reader, pattern, ms, growth }: Row): void {
  console.log(
    `${reader.padEnd(32)} ${ms.toFixed(2).padStart(9)} ms  ${growth === 0 ? "   -" : `x${growth.toFixed(1)}`.padStart(5)}  ${pattern}`,
  );
}

const [worst] = rows.toSorted((a, b) => b.ms - a.ms);
const over = rows.filter(({ ms }) => ms > LIMIT_MS).length;
console.log(
  `hostile-input: worst ${worst!.ms.toFixed(2)} ms (${worst!.reader}: ${worst!.pattern}) of ${rows.length} readers at ${values.size} characters; ${over} over ${LIMIT_MS} ms`,
);
