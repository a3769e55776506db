import type { FinishReason, PromptName, Situation } from "#src/conversation/index.ts";
import type { Progress, Step } from "#src/sessions/index.ts";

/** What the operator's funnel counts at a step: callers who come to it, who are asked again, who get no further. */
export type StepCount = "reached" | "repeated" | "left";

const STEP_OF: Readonly<Record<NonNullable<Situation["asks"]>, Step>> = {
  number: "asking_number",
  expiry: "asking_expiry",
  cvv: "asking_cvv",
  zip: "asking_zip",
  name: "asking_name",
  confirm: "confirming",
};
/** Said while a card is at the gateway. */
export const WAITING: ReadonlySet<PromptName> = new Set(["one_moment", "still_working"]);
/** Said at a step without asking anything. */
const ASKS_NOTHING: ReadonlySet<PromptName> = new Set([...WAITING, "cleared", "name_unended"]);
/** Ends that leave the payment undone for the caller's part. */
const LEFT: ReadonlySet<FinishReason> = new Set<FinishReason>(["hung_up", "abandoned", "exhausted"]);

/** Where a caller is in the collection of his card, told from what he is told: steps and tries, never an answer. */
export class Steps {
  readonly #tell: (progress: Progress | null) => void;
  readonly #count: (step: Step, what: StepCount) => void;
  #at: Progress | null = null;

  constructor(tell: (progress: Progress | null) => void, count: (step: Step, what: StepCount) => void) {
    this.#tell = tell;
    this.#count = count;
  }

  /** A prompt begins. */
  prompt(prompt: PromptName, { asks, attempt }: Situation): void {
    const step = asks ? STEP_OF[asks] : WAITING.has(prompt) ? "charging" : null;
    // The last sentence: `end` tells how it ends.
    if (!step) return;
    const before = this.#at;
    if (step !== before?.step) this.#count(step, "reached");
    else if (!ASKS_NOTHING.has(prompt)) this.#count(step, "repeated");
    if (step === before?.step && attempt === before.try) return;
    this.#at = { step, try: attempt };
    this.#tell(this.#at);
  }

  /** How the call ends is decided. */
  end(reason: FinishReason): void {
    if (!this.#at) return;
    if (LEFT.has(reason)) this.#count(this.#at.step, "left");
    this.#at = null;
    this.#tell(null);
  }
}
