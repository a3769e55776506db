import { HASH, type DtmfDigit } from "#src/media/index.ts";
import type { CallDialog, IncomingCall } from "#src/sip/index.ts";
import { CARDS, MISTYPED } from "./cards.ts";
import type { Recognised } from "./speech-input.ts";
import { DESCRIPTION, type CallSetup, inviteOf } from "./invite.ts";
import type { ModelLeg } from "./leg.ts";
import type { ServiceProcess } from "./process.ts";
import type { Track, TrackedShopper } from "./track.ts";
import type { WorldState } from "./state.ts";

/** A caller with a telephone: hears prompts, presses keys or speaks, makes mistakes, hangs up. */

const CANCELS_EARLY = 0.03;
const NEVER_ACKNOWLEDGES = 0.03;
const MISTYPES = 0.04;
const FALLS_SILENT = 0.02;
const SPEAKS = 0.1;
const SAYS_MANGO = 0.05;
/** The page of the session's link is sent a card in the moment in which the call has its own. */
const PAYS_BY_LINK_TOO = 0.4;
/** After a decline the caller pays by the link instead, and keys nothing meanwhile. */
const TURNS_TO_THE_LINK = 0.4;
const UTTERANCE_MS = 700;

const MANGO: Recognised = { kind: "test_word" };

/** An answer: what the caller does with the telephone. */
type Act = (leg: ModelLeg) => void;

export interface CallerWorld extends WorldState {
  readonly calls: { answered(caller: Caller): void; refused(caller: Caller, status: number): void };
}

export class Caller {
  readonly setup: CallSetup;
  /** Null until a call that named no session has taken one. */
  track: Track | null;
  readonly #world: CallerWorld;
  readonly #process: ServiceProcess;
  readonly #call: { cancelled: boolean };
  #dialog: { ended: boolean; onBye: ((reason: "bye") => void) | null } | null = null;
  readonly began: number;

  /** `redial`: the network's next way when this process takes no calls any more. */
  constructor(world: CallerWorld, process: ServiceProcess, setup: CallSetup, track: Track | null, redial: () => void) {
    const { random } = world;
    this.#world = world;
    this.track = track;
    this.#process = process;
    this.began = world.scheduler.now;
    this.setup = setup;
    const call = {
      callId: setup.callId,
      source: { address: "198.51.100.7" },
      request: inviteOf(setup),
      offer: DESCRIPTION,
      cancelled: false,
      // Its provisional responses need no PRACK.
      ready: async () => {},
      answer: (description: string) => this.#answered(description),
      reject: (status: number) => {
        world.calls.refused(this, status);
        if (status !== 503 || !process.isDraining) return;
        world.counters.occurred("a draining process refused a call");
        world.scheduler.after(random.between(50, 300), redial);
      },
    };
    this.#call = call;
    process.voice.onInvite(call as unknown as IncomingCall);
    if (random.chance(CANCELS_EARLY)) {
      process.after(random.between(0, 20), () => {
        if (!this.#dialog) call.cancelled = true;
      });
    }
  }

  get isUp(): boolean {
    return this.#process.isAlive && this.#dialog !== null && !this.#dialog.ended;
  }

  hangUp(): void {
    if (!this.#dialog) this.#call.cancelled = true;
    else if (!this.#dialog.ended) {
      this.#dialog.ended = true;
      this.#dialog.onBye?.("bye");
    }
  }

  async #answered(description: string): Promise<CallDialog> {
    const { random } = this.#world;
    this.#world.calls.answered(this);
    const port = Number(/m=audio (\d+)/.exec(description)?.[1]);
    const leg = this.#process.legs.get(port);
    if (leg) leg.caller = this;
    if (random.chance(NEVER_ACKNOWLEDGES)) {
      await this.#process.sleep(32_000);
      throw new Error("no ACK");
    }
    const dialog = {
      ended: false,
      onBye: null,
      onKey: null,
      onAnswer: null,
      onReinvite: null,
      remoteSdp: null,
      bye: async () => {
        dialog.ended = true;
      },
    };
    this.#dialog = dialog;
    await this.#process.sleep(random.between(5, 200));
    return dialog as unknown as CallDialog;
  }

  /** Hears the last words of a prompt, or interrupts it, and answers what was asked. */
  onPrompt(words: string, leg: ModelLeg): void {
    const { random } = this.#world;
    if (random.chance(FALLS_SILENT)) return;
    const act = this.#answerTo(words);
    if (act === null) return;
    const patience = random.chance(0.3) ? random.between(300, 900) : random.between(1500, 6000);
    this.#process.after(patience, () => {
      if (this.#dialog?.ended === false) act(leg);
    });
  }

  #answerTo(words: string): Act | null {
    const { random } = this.#world;
    const digits = (text: string) => Array.from(text, Number);
    const shopper = this.track?.shopper ?? null;
    if (/card number/.test(words)) {
      if (shopper && this.#wasDeclined() && random.chance(TURNS_TO_THE_LINK)) return () => shopper.postAgain();
      const meant = random.weighted(CARDS);
      const number = random.chance(MISTYPES) ? MISTYPED : meant;
      return this.#give([...digits(number), HASH], spoken(digits(number)));
    }
    if (/expiry date/.test(words)) return this.#give(digits("1230"), { kind: "expiry", month: 12, year: 2030, certain: true });
    if (/security code/.test(words)) return this.#give(digits("123"), spoken(digits("123")));
    if (/zip code/.test(words)) return this.#give(digits("94105"), spoken(digits("94105")));
    if (!/press one/i.test(words)) return null;
    if (shopper && random.chance(PAYS_BY_LINK_TOO)) return this.#payTwice(shopper);
    if (random.chance(SAYS_MANGO)) return this.#sayMangoAndYes();
    return random.chance(MISTYPES) ? this.#give([2], { kind: "no" }) : this.#give([1], { kind: "yes" });
  }

  #wasDeclined(): boolean {
    const attempts = this.#world.database.committed("payment_attempts", ["session_id", this.track!.id]);
    return attempts.some(({ outcome }) => outcome === "declined");
  }

  #payTwice(shopper: TrackedShopper): Act {
    const { random } = this.#world;
    // A card of a page has a longer way to the gateway.
    const [key, post] = [random.between(5, 20), random.between(0, 6)];
    return (leg) => {
      this.#process.after(key, () => leg.on.dtmfDigit(1));
      this.#process.after(post, () => shopper.postAgain());
    };
  }

  #give(keys: readonly DtmfDigit[], spokenAnswer: Recognised): Act {
    if (this.#world.random.chance(SPEAKS)) return (leg) => leg.speak(UTTERANCE_MS, [spokenAnswer]);
    // A run of keys is one event: what happens between two of them is the dialog's own tests' matter.
    return (leg) => keys.forEach((key) => leg.on.dtmfDigit(key));
  }

  /** The answer that completes the card, and the test word in the same breath, or while the key is pressed. */
  #sayMangoAndYes(): Act {
    const { random, scheduler } = this.#world;
    const isMangoFirst = random.chance(0.5);
    const isKeyed = random.chance(0.3);
    return (leg) => {
      if (this.track) this.track.mangoAt = scheduler.now + UTTERANCE_MS;
      const press = () => leg.on.dtmfDigit(1);
      if (isKeyed && !isMangoFirst) this.#process.after(UTTERANCE_MS, press);
      leg.speak(UTTERANCE_MS, isKeyed ? [MANGO] : isMangoFirst ? [MANGO, { kind: "yes" }] : [{ kind: "yes" }, MANGO]);
      if (isKeyed && isMangoFirst) this.#process.after(UTTERANCE_MS, press);
    };
  }
}

const spoken = (digits: readonly number[]): Recognised => ({ kind: "digits", digits: Uint8Array.from(digits), final: true, certain: true });
