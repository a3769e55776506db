import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type CallReport, openTelephone } from "#softphone/caller.ts";
import type { Turn } from "#softphone/script.ts";
import { createSynthesiser } from "#src/speech/index.ts";
import { headersOf, type Sipp, startSipp, withoutSipp } from "../peers/sipp.ts";
import { PROMPT_CACHE, ROOT } from "./installation.ts";
import { during, keyedPayment } from "./paying.ts";
import type { Shown } from "./processes.ts";
import { shared, startService } from "./service.ts";

/**
 * Callers taken back to an agent, SIPp, who answers, is busy, refuses, lets it ring or vanishes: by a call of ours and by REFER. A project with
 * `refer` takes both ways: this telephone's INVITE does not allow REFER, SIPp's does. All calls run at once, because one rings for a minute.
 */

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService({ project: { voice: { transfer: { mode: "refer" } } } }));
const scenario = (name: string) => readFileSync(`${ROOT}/test/peers/${name}.xml`, "utf8");

/** Words of ours that nobody is told here: whoever hears them hears the agent. */
const AGENT = "Thank you. Your card is stored.";
const agents = withoutSipp ? null : await shared(startAgents());

async function startAgents(): Promise<Sipp> {
  const voice = createSynthesiser({ cacheDir: PROMPT_CACHE });
  const speech = await voice.render(AGENT);
  await voice.stop();
  const files = { "agent.ulaw": Buffer.concat([new Uint8Array(8000).fill(0xff), speech]) };
  return await startSipp({ scenario: scenario("agent"), files, mediaPort: 42_000 });
}

type Behaviour = "answers" | "ends" | "busy" | "refuses" | "rings" | "vanishes";
const create = (agent: Behaviour) => service.create({ callback: `sip:${agent}@127.0.0.1:${agents!.port}`, memory: "order 118" });

/** What the agent's INVITE told of a session: null when none came. */
function told(sessionId: string): Record<string, string> | null {
  const invite = agents!.received("INVITE").find((message) => headersOf(message)["x-session-id"] === sessionId);
  if (invite === undefined) return null;
  const named = Object.entries(headersOf(invite)).filter(([name]) => /^x-(payment|memory)/.test(name) && name !== "x-payment_session_id");
  return Object.fromEntries(named);
}

const headers = (status: string, word: string, said: string, more: object = {}) => ({
  "x-payment-status": status,
  "x-memory": "order 118",
  "x-payment_status": word,
  "x-payment_amount": "49.95",
  "x-payment_currency": "USD",
  "x-payment_said": said,
  "x-payment_memory": "order%20118",
  ...more,
});
const PAID = headers("payment-success", "success", "paid", { "x-payment_card_brand": "visa", "x-payment_card_last4": "4242" });
const STOPPED = headers("abandoned", "abandoned", "not_completed");
const CANCELLED = headers("cancelled", "cancelled", "not_completed");

/** What the caller's side does with a REFER, and whether the agent is called by us after all. */
const REFERRED: readonly { name: string; set?: string; agent: Behaviour; status: string; reached: boolean }[] = [
  { name: "taken, and NOTIFY tells of the answer", agent: "answers", status: "completed", reached: false },
  {
    name: "taken, and the caller's side leaves without a word, as carriers do",
    set: "leaves",
    agent: "answers",
    status: "completed",
    reached: false,
  },
  { name: "taken, and NOTIFY tells of 486: nobody is called a second time", set: "busy", agent: "answers", status: "busy", reached: false },
  { name: "taken, and NOTIFY tells of 503: we call", set: "unavailable", agent: "ends", status: "completed", reached: true },
  { name: "refused with 603: we call", set: "refuses", agent: "ends", status: "completed", reached: true },
  { name: "refused with 603: we call, and the agent is busy", set: "refuses", agent: "busy", status: "busy", reached: true },
];

/** Asks for the operator. */
const OPERATOR: Turn[] = [{ do: "wait for a prompt" }, { do: "dtmf", digits: "**" }];
/** All that the caller has heard. Whoever answers or refuses at once cuts off the words of being connected. */
const said = ({ prompts }: CallReport) => prompts.join(" ");

async function handedBack(agent: Behaviour, turns: Turn[]): Promise<{ session: Shown; report: CallReport; told: ReturnType<typeof told> }> {
  const { session_id, sip_uri } = await create(agent);
  const report = await telephone.call({ target: sip_uri, turns, patienceMs: 90_000, listensFor: "You haven't been charged." });
  return { session: await service.session(session_id), report, told: told(session_id) };
}
const ends = ({ session, report }: { session: Shown; report: CallReport }) => [
  session["status"],
  session["transfer_status"],
  report.endedBy,
];

test(
  "by a call of ours or by REFER the caller reaches the agent, or hears why not, how the payment ended, and goodbye (R-320 to R-325)",
  { skip: withoutSipp, concurrency: true },
  async (t) => {
    const brief = [
      t.test("who answers is heard, and is hung up when the caller hangs up", async () => {
        const back = await handedBack("answers", [...keyedPayment(), { do: "wait for", text: AGENT.slice(11) }, { do: "hang up" }]);
        assert.deepEqual([ends(back), back.told], [["payment-success", "completed", "caller"], PAID]);
      }),
      t.test("an agent who hangs up takes the caller along", async () => {
        const back = await handedBack("ends", OPERATOR);
        assert.deepEqual([ends(back), back.told], [["abandoned", "completed", "service"], STOPPED]);
        assert.doesNotMatch(said(back.report), /Goodbye|Sorry/);
      }),
      t.test("busy, after a payment", async () => {
        const back = await handedBack("busy", keyedPayment());
        assert.deepEqual([ends(back), back.told], [["payment-success", "busy", "service"], PAID]);
        assert.match(said(back.report), /approved\. .*The line's busy\. .*approved\. .*call back later\. Goodbye\.$/);
      }),
      t.test("refused, after the merchant cancelled", async () => {
        const { session_id, sip_uri } = await create("refuses");
        const asked = Promise.withResolvers<void>();
        const calling = telephone.call({ target: sip_uri, turns: [], onEvent: (what) => what.startsWith("heard") && asked.resolve() });
        await during(calling, asked.promise);
        assert.equal((await service.request("POST", `/v1/sessions/${session_id}/cancel`)).status, 204);
        const back = { report: await calling, session: await service.session(session_id), told: told(session_id) };
        assert.deepEqual([ends(back), back.told], [["cancelled", "failed", "service"], CANCELLED]);
        assert.match(
          said(back.report),
          /has been cancelled\. .*couldn't connect you\. .*To try again, please call back later\. Goodbye\.$/,
        );
      }),
    ];
    const long = [
      t.test("unanswered for a minute, after the caller's wish", async () => {
        const back = await handedBack("rings", OPERATOR);
        assert.deepEqual([ends(back), back.told], [["abandoned", "no_answer", "service"], STOPPED]);
        assert.match(said(back.report), /connecting you back.*Nobody's answering\. .*To try again, please call back later\. Goodbye\.$/);
        assert.equal(back.report.heardSentence, true);
      }),
      t.test("an agent who vanishes lets the caller go when nothing has come for half a minute", async () => {
        const { session_id, sip_uri } = await create("vanishes");
        // From the last key on; the BYE that the agent never answers, for another half a minute, is not the caller's to wait for.
        const report = await telephone.call({
          target: sip_uri,
          turns: OPERATOR,
          patienceMs: 50_000,
        });
        const session = await service.session(session_id);
        assert.deepEqual([ends({ session, report }), told(session_id)], [["abandoned", "completed", "service"], STOPPED]);
      }),
    ];
    // No more than nine at once: those no load turns away.
    await Promise.all(brief);
    const referred = REFERRED.map(({ name, set, agent, status, reached }, index) =>
      t.test(`by REFER: ${name}`, async () => {
        const { session_id } = await create(agent);
        const caller = await startSipp({
          scenario: scenario("referred"),
          target: `127.0.0.1:${service.sip.port}`,
          mediaPort: 43_000 + 100 * index,
          args: ["-s", session_id, "-m", "1", "-timeout", "60", "-timeout_error", ...(set ? ["-set", set, "1"] : [])],
        });
        try {
          const failed = caller.ended.then((why) => assert.fail(`it ended before it was referred: ${why}`));
          await Promise.race([service.until(session_id, "COLLECTING"), failed]);
          failed.catch(() => {});
          assert.equal((await service.request("POST", `/v1/sessions/${session_id}/cancel`)).status, 204);
          assert.equal(await caller.ended, "");
          const [refer = ""] = caller.received("REFER");
          const to = new URLSearchParams(/\?(.*)>$/.exec(headersOf(refer)["refer-to"] ?? "")?.[1]);
          const inside = Object.fromEntries([...to].map(([header, value]) => [header.toLowerCase(), value]));
          const { "x-session-id": id, "x-payment_session_id": again, ...carried } = inside;
          assert.deepEqual([id, again, carried], [session_id, session_id, CANCELLED]);
          assert.match(headersOf(refer)["refer-to"] ?? "", new RegExp(`^<sip:${agent}@127\\.0\\.0\\.1:${agents!.port}\\?`));
          let session = await service.session(session_id);
          // The last NOTIFY may come behind a BYE: it is waited for.
          while (session["transfer_status"] === null) session = await service.session(session_id);
          assert.deepEqual([session["transfer_status"], told(session_id)], [status, reached ? CANCELLED : null]);
        } finally {
          await caller.close();
        }
      }),
    );
    await Promise.all([...long, ...referred]);
  },
);
