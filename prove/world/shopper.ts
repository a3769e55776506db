import type { ExchangeObserver, HttpRequest, HttpResponse } from "./http-entry-point.ts";
import { CARDS, MISTYPED } from "./cards.ts";
import type { ServiceProcess } from "./process.ts";
import type { Track } from "./track.ts";
import type { WorldState } from "./state.ts";

/** A shopper in front of the widget's frame, or of the page that a voice session's link leads to: types cards, clicks twice, has two tabs, loses answers, asks again, leaves. */

const MISTYPES = 0.05;
const LOSES_THE_ANSWER = 0.12;
const CLICKS_TWICE = 0.15;
const LEAVES_AFTER_A_DECLINE = 0.1;
/** The merchant cancels in the moment in which a card is posted. */
const CANCELLED_MEANWHILE = 0.05;
const FIRST_LOOK_MS = 2000;
const LONGEST_LOOK_MS = 60_000;

/** One charge that was posted. */
export interface Post {
  nonce: string;
  process: ServiceProcess;
  /** Posted again because the answer to the one before was lost. */
  isRepeat: boolean;
  /** In the service's hands. */
  isUnderWay: boolean;
  status: number | null;
}

/** What a tab does next: nothing any more, another try, or look what became of this one. */
type Next = "over" | "again" | "look" | "repeat";

export interface ShopperWorld extends WorldState {
  readonly supervisor: { serving(): ServiceProcess | null };
  readonly workload: { cancel(track: Track): void };
  readonly responses: { follow(shopper: Shopper, post: Post): ExchangeObserver; followRead(track: Track): ExchangeObserver };
}

export class Shopper {
  readonly track: Track;
  /** Everything this shopper posted, in its order. */
  readonly posts: Post[] = [];
  readonly #world: ShopperWorld;
  readonly #tabs: Tab[] = [];
  hasLeft = false;

  constructor(world: ShopperWorld, track: Track) {
    this.#world = world;
    this.track = track;
  }

  /** Opens the page in so many tabs and pays in all of them in the same moment. */
  visit(tabs = 1): void {
    const { random } = this.#world;
    const think = random.between(500, 15_000);
    for (let index = 0; index < tabs; index++) void this.#pay(think + random.between(0, 4));
  }

  /** Opens the page in time and posts the card at this time, ms since the epoch. */
  visitAt(time: number): void {
    const { scheduler, random } = this.#world;
    scheduler.after(time - 3000 - scheduler.now, () => void this.#pay(() => time - scheduler.now - random.between(10, 60)));
  }

  /** Posts once more, whatever is going on: the same page's card again, or another page's. */
  postAgain(): void {
    const { random } = this.#world;
    const tab = random.pick(this.#tabs.filter(({ nonce }) => nonce !== null));
    if (tab && random.chance(0.7)) void tab.post().then((next) => (next === "look" ? tab.look() : next));
    else void this.#pay(0);
  }

  get isPosting(): boolean {
    return this.posts.some(({ isUnderWay, process }) => isUnderWay && process.isAlive);
  }

  /** Closes every tab: nobody waits for an answer any more. */
  leave(): void {
    this.hasLeft = true;
  }

  /** This process has a post of this shopper's in its hands. */
  isServedBy(owner: string): boolean {
    return this.posts.some(({ isUnderWay, process }) => isUnderWay && process.owner === owner);
  }

  async #pay(think: number | (() => number)): Promise<void> {
    const world = this.#world;
    const { random } = world;
    const tab = new Tab(world, this);
    if (!(await tab.open())) return;
    this.#tabs.push(tab);
    await world.sleep(typeof think === "number" ? think : think());
    for (let next: Next = "again"; next === "again" && !this.hasLeft; await world.sleep(this.#hesitation())) {
      next = random.chance(CLICKS_TWICE) ? await this.#clickTwice(tab) : await tab.post();
      if (next === "repeat") next = await this.#repeat(tab);
      if (next === "look") next = await tab.look();
      if (next === "again" && random.chance(LEAVES_AFTER_A_DECLINE)) return;
    }
  }

  /** Until the next card: a while, or until the session's time is over. */
  #hesitation(): number {
    const { random, scheduler } = this.#world;
    const left = Number(this.#world.rowOf(this.track.id)!["expires_at"]) - scheduler.now;
    return left > 0 && random.chance(0.15) ? left + random.between(-60, 1500) : random.between(1000, 8000);
  }

  async #clickTwice(tab: Tab): Promise<Next> {
    const world = this.#world;
    const second = world.sleep(world.random.between(0, 5)).then(() => tab.post());
    const [first, other] = await Promise.all([tab.post(), second]);
    return first === "look" || first === "repeat" ? other : first;
  }

  /** The answer was lost: the same post again; or another in the moment in which a dead process's try stops keeping others out. */
  async #repeat(tab: Tab): Promise<Next> {
    const world = this.#world;
    const { random, scheduler } = world;
    const free = world.triesOf(this.track.id).busyUntil;
    const isPatient = free > scheduler.now && random.chance(0.5) && (await tab.refresh());
    await world.sleep(isPatient ? free - scheduler.now - random.between(0, 45) : random.between(0, 2000));
    if (isPatient) world.counters.occurred("a card was posted in the moment in which a dead process's try ends");
    const next = await tab.post({ isRepeat: true });
    return next === "repeat" ? "look" : next;
  }
}

/** One page, as `src/widget/browser/form.ts` behaves in it. */
class Tab {
  nonce: string | null = null;
  readonly #world: ShopperWorld;
  readonly #shopper: Shopper;

  constructor(world: ShopperWorld, shopper: Shopper) {
    this.#world = world;
    this.#shopper = shopper;
  }

  /** False: there was no form to fill in. */
  async open(): Promise<boolean> {
    const answer = await this.#ask({ method: "GET", path: this.#shopper.track.page });
    this.nonce = /<meta name="widget-nonce" content="([^"]+)">/.exec(answer?.text ?? "")?.[1] ?? null;
    return this.nonce !== null;
  }

  async post({ isRepeat = false } = {}): Promise<Next> {
    const world = this.#world;
    const { random } = world;
    const process = world.supervisor.serving();
    if (!process || this.nonce === null) return "look";
    const post: Post = { nonce: this.nonce, process, isRepeat, isUnderWay: false, status: null };
    this.#shopper.posts.push(post);
    if (random.chance(CANCELLED_MEANWHILE)) world.scheduler.after(random.between(0, 60), () => world.workload.cancel(this.#shopper.track));
    const asked = chargeOf(this.#shopper.track.id, post.nonce, random.chance(MISTYPES) ? MISTYPED : random.weighted(CARDS));
    const answer = await process.http.ask(asked, world.responses.follow(this.#shopper, post));
    post.isUnderWay = false;
    if (!answer || random.chance(LOSES_THE_ANSWER)) return random.chance(0.6) ? "repeat" : "look";
    this.nonce = answer.header("x-widget-nonce") ?? this.nonce;
    if (answer.status === 402 && (JSON.parse(answer.text) as { retryable: boolean }).retryable) return "again";
    if (answer.status === 422) return "again";
    return [200, 402, 404, 410].includes(answer.status) ? "over" : "look";
  }

  /** Looks until it is known what became of the try. */
  async look(): Promise<Next> {
    const world = this.#world;
    for (let wait = FIRST_LOOK_MS; !this.#shopper.hasLeft; wait = Math.min(wait * 1.5, LONGEST_LOOK_MS)) {
      const answer = await this.#read();
      if (answer?.status === 404 || answer?.status === 410) return "over";
      if (answer?.status === 200) {
        this.nonce = answer.header("x-widget-nonce") ?? this.nonce;
        if (!(JSON.parse(answer.text) as { processing: boolean }).processing) return "again";
      }
      await world.sleep(wait);
    }
    return "over";
  }

  /** A fresh nonce for the page that is open. */
  async refresh(): Promise<boolean> {
    const answer = await this.#read();
    this.nonce = answer?.header("x-widget-nonce") ?? this.nonce;
    return answer?.status === 200;
  }

  #read(): Promise<HttpResponse | null> {
    const { id } = this.#shopper.track;
    return this.#ask({ method: "GET", path: `/v1/widget-sessions/${id}`, headers: { "x-widget-nonce": this.nonce ?? "" } });
  }

  async #ask(asked: HttpRequest): Promise<HttpResponse | null> {
    const world = this.#world;
    const process = world.supervisor.serving();
    if (!process) return null;
    return await process.http.ask(asked, world.responses.followRead(this.#shopper.track));
  }
}

/** A card as the frame posts it. */
export function chargeOf(sessionId: string, nonce: string, number: string): HttpRequest {
  return {
    method: "POST",
    path: `/v1/widget-sessions/${sessionId}/charge`,
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", "x-widget-nonce": nonce },
    body: JSON.stringify({ card: { number, exp_month: "12", exp_year: "2030", cvv: "123", postal_code: "94105" } }),
  };
}
