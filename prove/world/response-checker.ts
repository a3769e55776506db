import { textOf } from "../database/index.ts";
import { isTerminal } from "#src/sessions/index.ts";
import { MAX_TRIES } from "#src/widget/tries.ts";
import type { HttpResponse, ExchangeObserver } from "./http-entry-point.ts";
import type { Post, Shopper } from "./shopper.ts";
import { PAID, stateOf, type Track } from "./track.ts";
import type { WorldState } from "./state.ts";

/** What a browser was told, held against the session's row as it was while the service had the request. */

interface SessionSnapshot {
  revision: number;
  state: string;
  /** A call has it. */
  isInCall: boolean;
  isOver: boolean;
}

/** A post that counted as a try: its nonce is used up. */
const TRIED: ReadonlySet<number | null> = new Set([200, 402, 422]);
const OPEN_AT_THE_GATEWAY: ReadonlySet<string> = new Set(["charging", "unknown"]);

export class ResponseChecker {
  readonly #world: WorldState;

  constructor(world: WorldState) {
    this.#world = world;
  }

  /** Follows one post of a card. */
  follow(shopper: Shopper, post: Post): ExchangeObserver {
    const { track } = shopper;
    let before: SessionSnapshot;
    let rivals: Post[] = [];
    return {
      onArrival: () => {
        before = this.#moment(track.id);
        rivals = shopper.posts.filter(({ isUnderWay }) => isUnderWay);
        post.isUnderWay = true;
        this.#world.trace(track.id, () => `${post.process.owner} is posted a card`);
      },
      onAnswer: (answer) => {
        post.status = answer.status;
        this.#world.trace(track.id, () => `${post.process.owner} answers ${answer.status} ${answer.text.slice(0, 120)}`);
        const after = this.#moment(track.id);
        this.#check(shopper, post, answer, before, after);
        this.#count(post, answer, before, rivals);
        if (track.channel === "voice") this.#countLink(shopper, post, before, after);
      },
    };
  }

  /** Follows a look at the page or at the session. */
  followRead(track: Track): ExchangeObserver {
    let before: SessionSnapshot;
    return {
      onArrival: () => (before = this.#moment(track.id)),
      onAnswer: ({ status, text }) => {
        const after = this.#moment(track.id);
        if (status >= 500 || before.revision !== after.revision) return;
        if (after.state === "final" && status !== 410) this.#break("R-283", track.id, `an ended session was shown as open: ${status}`);
        const isProcessing = !text.startsWith("{") || (JSON.parse(text) as { processing?: boolean }).processing !== false;
        if (OPEN_AT_THE_GATEWAY.has(after.state) && (status !== 200 || !isProcessing))
          this.#break("R-283", track.id, `while ${after.state} the frame was not told to wait: ${status}`);
      },
    };
  }

  /** A telephone's session was asked for in a browser. */
  followStray(track: Track): ExchangeObserver {
    return {
      onArrival: () => {},
      onAnswer: ({ status }) => {
        if (status === 404) this.#world.counters.occurred("a card was posted to a voice session: 404");
        else if (status < 500) this.#break("R-281", track.id, `a browser that asked for a voice session was answered ${status}`);
      },
    };
  }

  #check({ track, posts }: Shopper, post: Post, answer: HttpResponse, before: SessionSnapshot, after: SessionSnapshot): void {
    const { status } = answer;
    const breaks = (invariant: string, what: string) => this.#break(invariant, track.id, what);
    if (status >= 500) return;
    const row = this.#world.rowOf(track.id)!;
    const result = answer.header("x-widget-result")?.split(";")[0] ?? null;
    const isStill = before.revision === after.revision;
    if (isStill && OPEN_AT_THE_GATEWAY.has(after.state) && status !== 409) breaks("R-283", `${status} while ${after.state}`);
    if (isStill && before.state === "final" && status !== 410) breaks("R-283", `${status} after the end`);
    // Its call goes on, but the page takes no card any more.
    const isUsedUp = track.channel === "voice" && this.#world.triesOf(track.id).nonces.length >= MAX_TRIES;
    if (status === 410 && !after.isOver && !isUsedUp) breaks("R-283", `410 although the session is ${after.state}`);
    if (result !== null) track.results.add(result);
    if (status === 410 && result === null && !isUsedUp) breaks("R-283", "410 without a result for whoever has a nonce");
    if (status === 409 && isStill && after.state === "PENDING" && before.isOver) breaks("R-283", "409 although its time is over");
    if (TRIED.has(status) && posts.some((other) => other !== post && other.nonce === post.nonce && TRIED.has(other.status)))
      breaks("R-282", "one nonce was good for two tries");
    if (status === 403 && !this.#world.triesOf(track.id).nonces.includes(post.nonce.split(".")[0]!))
      breaks("R-371", "a nonce that was never used was refused");
    if (status === 404) breaks("I1", "a session that was created is missing");
    if (status !== 200 && status !== 402) return;
    const told = JSON.parse(answer.text) as { status?: string; retryable?: boolean };
    if (status === 200 && told.status !== row["status"]) breaks("I3", `told ${told.status}, and the session is ${textOf(row["status"])}`);
    // A call may have paid since the page's card was declined.
    const mayBePaidElsewhere = track.channel === "voice" && told.retryable === true;
    if (status === 402 && PAID.has(textOf(row["status"])) && !mayBePaidElsewhere)
      breaks("R-283", "told that the card was declined, and it is paid");
    if (status === 402 && told.retryable === false && !after.isOver) breaks("R-283", `told that it is over, and it is ${after.state}`);
  }

  /** What this answer proves to have happened. */
  #count(post: Post, answer: HttpResponse, before: SessionSnapshot, rivals: readonly Post[]): void {
    const { counters } = this.#world;
    const { status } = answer;
    const result = answer.header("x-widget-result")?.split(";")[0];
    if (status === 503 && post.process.isDraining) counters.occurred("a draining process refused a card");
    if (status === 409 || status === 403) {
      const [rival] = rivals;
      if (rival) {
        counters.occurred(
          rival.nonce === post.nonce ? "a card was posted twice at once: one was refused" : "two tabs paid at once: one was refused",
        );
        if (rival.process !== post.process) counters.occurred("two processes were posted a card at once: one was refused");
      }
    }
    if (post.isRepeat && status === 409) counters.occurred("a card's answer was lost and it was posted again: 409");
    if (post.isRepeat && status === 410 && result)
      counters.occurred("a card's answer was lost and it was posted again: 410, with the result");
    if (result === "cancelled" && before.state !== "final") counters.occurred("a cancel was obeyed while a card was on its way");
    if (status === 410 && before.state === "PENDING" && before.isOver)
      counters.occurred("a card came after the time was over, not yet swept");
  }

  /** What a post to the page of a voice session's link proves to have happened. */
  #countLink({ track, posts }: Shopper, { status }: Post, before: SessionSnapshot, after: SessionSnapshot): void {
    const { counters, database } = this.#world;
    const { isInCall } = before;
    const wasOpen = before.state === "collecting" || before.state === "PENDING";
    if (status === 200) {
      counters.occurred(isInCall ? "a link was paid while its caller waited" : "a link was paid without a call");
      const tried = posts.filter((post) => TRIED.has(post.status)).length;
      const attempts = database.committed("payment_attempts", ["session_id", track.id]).length;
      if (attempts > tried) counters.occurred("a link was paid after the call's card was declined");
    }
    if (status === 402) counters.occurred(isInCall ? "a link's card was declined while its caller waited" : "a link's card was declined");
    if (status === 409 && isInCall && wasOpen && OPEN_AT_THE_GATEWAY.has(after.state))
      counters.occurred("a call and a link's card at once: the card of the call was charged");
    if (status === 410 && before.state === "collecting" && isInCall) counters.occurred("a caller left while a link's card was on its way");
    if (status === 410 && before.state === "PENDING" && before.isOver) counters.occurred("a link's card came after the time was over");
    if (status === 410 && before.state === "final") counters.occurred("a link's card came after the end");
  }

  #moment(id: string): SessionSnapshot {
    const row = this.#world.rowOf(id);
    const status = textOf(row?.["status"]);
    const isOverdue = Number(row?.["expires_at"]) <= this.#world.scheduler.now;
    // A call keeps its session past its time.
    const isCollecting = stateOf(row) === "PENDING" || (stateOf(row) === "collecting" && row?.["call_id"] === null);
    return {
      revision: Number(row?.["revision"]),
      state: stateOf(row),
      isInCall: typeof row?.["call_id"] === "string",
      isOver: isTerminal(status) || (isCollecting && isOverdue),
    };
  }

  #break(invariant: string, session: string, what: string): void {
    this.#world.break(invariant, session, what);
  }
}
