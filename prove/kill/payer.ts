import { openTelephone, type Telephone } from "#softphone/caller.ts";
import type { Turn } from "#softphone/script.ts";
import { inviteAndCancel } from "./invite-and-cancel.ts";
import type { Behaviour, Track } from "./track.ts";

/** Somebody on the telephone who does with a session what its plan says. */
export interface Payer {
  /** Resolves when this payer is through; `signal` is aborted when the service has died. Never rejects. */
  pay(track: Track, signal: AbortSignal): Promise<void>;
  /** Where a caller is handed back to; null when this channel has no such thing. */
  readonly callback: string | null;
  close(): Promise<void>;
}

/** As fast as keys can be told apart. */
const DTMF_TIMING = { onMs: 40, gapMs: 20 };
/** Expiry, security code, ZIP, "yes". */
const REST = "#1230#123#94105#1";
const HALF = 8;

const keyed = (card: string): Turn => ({ do: "dtmf", digits: card + REST });
const half = (card: string): Turn => ({ do: "dtmf", digits: card.slice(0, HALF) });
const greeted: Turn = { do: "wait for", text: "payment line" };
const charging: Turn = { do: "wait for", text: "One moment" };
const hangUp: Turn = { do: "hang up" };

/** What each caller does on the telephone; null: there is no call. */
const TURNS: Readonly<Record<Behaviour, ((card: string, second: string) => Turn[]) | null>> = {
  pays: (card) => [greeted, keyed(card)],
  "is handed back": (card) => [greeted, keyed(card)],
  "is declined for good": (card) => [greeted, keyed(card)],
  "pays and hangs up": (card) => [greeted, keyed(card), charging, hangUp],
  "loses the answer": (card) => [greeted, keyed(card), charging, hangUp],
  "is declined, then pays": (card, second) => [
    greeted,
    keyed(card),
    { do: "wait for", text: "another card" },
    keyed(second),
    charging,
    hangUp,
  ],
  "hangs up while keying": (card) => [greeted, half(card), hangUp],
  "cancels during the call": (card) => [greeted, half(card), { do: "wait", seconds: 5 }, hangUp],
  "gives up while it rings": () => [],
  "cancels before the call": null,
  "never calls": null,
  "waits for a silent vendor": null,
};

export async function openTelephonePayer(promptCache: string): Promise<Payer> {
  const telephone = await openTelephone(promptCache);
  void answerAgents(telephone);
  return {
    callback: telephone.address,
    async pay(track, signal) {
      const { behaviour, cards } = track.plan;
      const turns = TURNS[behaviour];
      if (!turns) return;
      track.trace("calls");
      try {
        if (behaviour === "gives up while it rings") {
          track.hasRungOff = true;
          return track.trace(`rang off: ${(await inviteAndCancel(track.sipUri)).join(", ")}`);
        }
        const { status, endedBy } = await telephone.call({
          target: track.sipUri,
          from: "sip:+15555550100@127.0.0.1",
          // Its side takes no REFER and answers 603: then it is called.
          headers: behaviour === "is handed back" ? [["Allow", "REFER"]] : [],
          turns: turns(cards[0] ?? "", cards[1] ?? ""),
          dtmfTiming: DTMF_TIMING,
          signal,
          onEvent: (what) => track.trace(what),
        });
        if (status === 487) track.hasRungOff = true;
        track.trace(signal.aborted ? "the line is dead" : `call over: ${status}, by the ${endedBy}`);
      } catch (error) {
        track.trace(`call failed: ${(error as Error).message}`);
      }
    },
    close: () => telephone.close(),
  };
}

/** Agents who take a caller back and soon hang up, one after another. */
async function answerAgents(telephone: Telephone): Promise<void> {
  for (;;) {
    const answered = await telephone.answerNext().catch(() => null);
    if (answered) setTimeout(() => void answered.hangUp().catch(() => undefined), 300).unref();
  }
}
