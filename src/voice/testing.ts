/** Stand-ins for the tests of this module: calls, media and a user agent without sockets, over a real database. */
import { setImmediate } from "node:timers/promises";
import { Secret } from "#src/kernel/secret.ts";
import { systemRandom } from "#src/kernel/random.ts";
import {
  type LegHandlers,
  type LegStats,
  type MediaEngine,
  type MediaLeg,
  NO_STATS,
  type PlayPart,
  type RemoteMedia,
} from "#src/media/index.ts";
import { FakeGateway, testProcess, type TestProcess } from "#src/payments/testing.ts";
import { Background, createKeyring, firstKeys, silentLog } from "#src/platform/index.ts";
import { createProjects } from "#src/projects/index.ts";
import { type Fixture, sessionsFixture } from "#src/sessions/testing.ts";
import type { CallDialog, IncomingCall, OutgoingCall, UserAgent } from "#src/sip/index.ts";
import { inviteRequest } from "#src/sip/testing.ts";
import { ShortCodes } from "./short-codes.ts";
import { createPrompts } from "./prompts.ts";
import { createTrunks } from "#src/checkout/index.ts";
import type { CallDeps } from "./types.ts";

export const OFFER = "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n";

/** Stands for audio that is no words. */
export const TONE = "(tone)";

/** Happenings that are awaited by name. */
export class Events {
  readonly seen: string[] = [];
  readonly #waiting: { what: string; resolve: () => void }[] = [];

  note(what: string): void {
    this.seen.push(what);
    for (const waiter of this.#waiting.splice(0)) {
      if (waiter.what === what) waiter.resolve();
      else this.#waiting.push(waiter);
    }
  }

  /** Until it has happened, now or earlier. */
  until(what: string): Promise<void> {
    if (this.seen.includes(what)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ what, resolve }));
  }
}

/** One media leg: plays everything at once. */
export class TestLeg implements MediaLeg {
  readonly port: number;
  readonly on: LegHandlers = { dtmfDigit() {}, speechStarted() {}, played() {}, mediaLost() {}, earlyAudio() {}, audio() {} };
  readonly remotes: RemoteMedia[] = [];
  /** Words of all that was played, in order. */
  readonly played: string[] = [];
  #begun = "";
  isClosed = false;
  /** From these words on the peer holds: nothing that is played comes to its end. */
  holdsAt: RegExp | null = null;
  /** Something was played and not stopped: a caller may be hearing it still. */
  isPlaying = false;
  /** Called with the words of each playback, after it has ended. */
  onPlayed: (words: string) => void = () => {};

  constructor(port: number) {
    this.port = port;
  }

  start(remote: RemoteMedia): void {
    this.remotes.push(remote);
  }

  update(remote: RemoteMedia): void {
    this.remotes.push(remote);
  }

  play(id: string, parts: PlayPart[]): void {
    // A clip is named by its language and its words; the pauses between sentences are clips of their own.
    const heard = parts.flatMap((part) => ("clip" in part ? [part.clip.replace(/^en-US /, "")] : "ulaw" in part ? [TONE] : []));
    const spoken = heard.filter((clip) => clip !== "pause");
    const said = spoken.filter((word, index) => word !== TONE || spoken[index - 1] !== TONE).join(" ");
    // The beginning of a prompt whose rest is still being rendered: heard with the rest.
    if (id.endsWith(" begun")) {
      this.#begun = `${said} `;
      return;
    }
    const words = `${this.#begun}${said}`;
    this.#begun = "";
    this.isPlaying = true;
    this.played.push(words);
    if (this.holdsAt?.test(words)) return;
    queueMicrotask(() => {
      if (this.isClosed) return;
      this.on.played(id);
      this.onPlayed(words);
    });
  }

  stopPlayback(): void {
    this.isPlaying = false;
    this.#begun = "";
  }

  watchVoice(): void {}
  /** A silence on the wire would be reported. */
  isMediaWatched = true;

  watchMedia(on: boolean): void {
    this.isMediaWatched = on;
  }

  listen(): void {}
  stopListening(): void {}
  sendDtmf(): void {}
  /** Digits that went on to the other end of the bridge. */
  readonly relayed: number[] = [];

  relayDigit(digit: number): void {
    this.relayed.push(digit);
  }

  caughtUp(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<LegStats> {
    this.isClosed = true;
    return Promise.resolve(NO_STATS);
  }
}

export class TestMedia implements Pick<MediaEngine, "open" | "bridge" | "relayEarlyMedia" | "loadClip" | "unloadClip"> {
  readonly legs: TestLeg[] = [];
  readonly #bridges = new Events();
  readonly bridges: (readonly [MediaLeg, MediaLeg])[] = [];

  loadClip(): void {}
  unloadClip(): void {}

  /** Whose early media whose peer hears. */
  readonly early: (readonly [from: MediaLeg, to: MediaLeg])[] = [];

  relayEarlyMedia(from: MediaLeg, to: MediaLeg): void {
    this.early.push([from, to]);
  }

  /** The legs that are joined, as soon as some are. */
  async bridged(): Promise<TestMedia["bridges"]> {
    await this.#bridges.until("bridged");
    return this.bridges;
  }

  open(): Promise<TestLeg> {
    const leg = new TestLeg(20_000 + 2 * this.legs.length);
    this.legs.push(leg);
    return Promise.resolve(leg);
  }

  bridge(a: MediaLeg, b: MediaLeg): void {
    this.bridges.push([a, b]);
    this.#bridges.note("bridged");
  }
}

/** An answered call's dialog. */
export class TestDialog {
  readonly events = new Events();
  ended = false;
  isTakenOver = false;
  remoteSdp: string | null = null;
  onBye: CallDialog["onBye"] = null;
  onReinvite: CallDialog["onReinvite"] = null;
  onAnswer: CallDialog["onAnswer"] = null;
  onDtmfDigit: CallDialog["onDtmfDigit"] = null;

  /** The peer hangs up. */
  hangUp(why: "bye" | "session-expired" = "bye"): void {
    this.ended = true;
    this.onBye?.(why);
  }

  bye(): Promise<void> {
    this.ended = true;
    this.events.note("bye");
    return Promise.resolve();
  }
}

/** An INVITE that came in. */
export class TestCall {
  readonly callId: string;
  readonly request: IncomingCall["request"];
  readonly source: IncomingCall["source"];
  readonly offer: string | null;
  readonly dialog = new TestDialog();
  readonly events = new Events();
  cancelled = false;
  /** What it was refused with. */
  status: number | null = null;
  headers: readonly (readonly [string, string])[] = [];
  warning: string | null = null;
  answerSdp: string | null = null;
  /** Until the 200 may be sent; rejects when the call is over before. */
  isReady: Promise<void> = Promise.resolve();
  /** Until the ACK comes; rejects when none does. */
  acknowledged: Promise<string | null> = Promise.resolve(null);

  constructor({
    offer = OFFER,
    transport = "udp",
    ...invite
  }: Parameters<typeof inviteRequest>[0] & { offer?: string | null; transport?: IncomingCall["source"]["transport"] } = {}) {
    this.source = { address: "198.51.100.7", port: 5060, transport, isTrunk: true };
    this.request = inviteRequest(invite);
    this.callId = this.request.callId;
    this.offer = offer;
  }

  async ready(): Promise<void> {
    await this.isReady;
  }

  async answer(sdp: string, made: (dialog: CallDialog) => void = () => {}): Promise<CallDialog> {
    this.answerSdp = sdp;
    made(this.dialog as unknown as CallDialog);
    this.events.note("answered");
    this.dialog.remoteSdp = this.offer ?? (await this.acknowledged);
    await this.acknowledged;
    return this.dialog as unknown as CallDialog;
  }

  reject(
    status: number,
    { headers = [], warning = null }: { headers?: readonly (readonly [string, string])[]; warning?: string | null } = {},
  ): void {
    this.status = status;
    this.headers = headers;
    this.warning = warning;
    this.events.note("rejected");
  }

  /** As the modules see it. */
  get incoming(): IncomingCall {
    return this as unknown as IncomingCall;
  }
}

type Invitation = Parameters<CallDeps["userAgent"]["invite"]>[0];

/** Places calls that the test answers. */
export class TestUserAgent implements Pick<UserAgent, "mayReach"> {
  readonly invitations: Invitation[] = [];
  readonly events = new Events();
  readonly dialog = new TestDialog();
  /** Addresses that may not be reached. */
  readonly unreachable = new Set<string>();
  #answer = Promise.withResolvers<{ dialog: CallDialog; sdp: string; isOffer: boolean }>();
  /** The latest call that was placed. */
  #outgoing: OutgoingCall | null = null;

  constructor() {
    // The test may refuse before anybody waits for the answer.
    this.#answer.promise.catch(() => {});
  }

  invite = (options: Invitation): OutgoingCall => {
    this.invitations.push(options);
    this.events.note("invited");
    const cancel = () => {
      this.events.note("cancelled");
      this.refuse(487);
    };
    this.#outgoing = { answered: this.#answer.promise, cancel, onEarlyAnswer: null } as unknown as OutgoingCall;
    return this.#outgoing;
  };

  mayReach = (address: string): Promise<boolean> => Promise.resolve(!this.unreachable.has(address));

  /** A branch of the target's rings, and has described its side. */
  describeEarly(sdp: string = OFFER): void {
    this.#outgoing?.onEarlyAnswer?.(sdp);
  }

  /** The target describes its side anew before it answers; what that is answered with. */
  reoffer(sdp: string): string | null {
    return this.#outgoing?.onReoffer?.(sdp) ?? null;
  }

  /** The target answers the call with this session description, or with that of its last offer. */
  pickUp(sdp: string = OFFER, isOffer = false): void {
    this.#answer.resolve({ dialog: this.dialog as unknown as CallDialog, sdp, isOffer });
  }

  /** Whoever called has seen the answer. */
  async answered(): Promise<void> {
    await this.#answer.promise;
    await setImmediate();
  }

  /** `contacts`: where it is to be called instead; the call to there has an answer of its own. */
  refuse(status: number, contacts: readonly string[] = []): void {
    const { reject } = this.#answer;
    if (contacts.length > 0) {
      this.#answer = Promise.withResolvers();
      this.#answer.promise.catch(() => {});
    }
    reject(Object.assign(new Error("refused"), { status, contacts }));
  }
}

export interface VoiceFixture extends Fixture {
  deps: CallDeps;
  media: TestMedia;
  userAgent: TestUserAgent;
  gateway: FakeGateway;
  process: TestProcess;
  /** Another organisation with one project; returns their ids. */
  organization(slug: string): Promise<{ organizationId: string; projectId: string }>;
  addNumber(number: string, projectId: string): Promise<void>;
}

/** Everything that a call needs, with one organisation and project in the database. */
export async function voiceFixture(settings: Partial<CallDeps["settings"]> = {}): Promise<VoiceFixture> {
  const fixture = await sessionsFixture();
  const { database, sessions } = fixture;
  const { db } = database;
  const gateway = new FakeGateway();
  const process = testProcess(fixture, gateway.gateway());
  const media = new TestMedia();
  const userAgent = new TestUserAgent();
  const keys = firstKeys(createKeyring([new Uint8Array(32).fill(7)]));
  const deps: CallDeps = {
    database,
    sessions,
    projects: createProjects({ database, keys, random: systemRandom, gateways: {}, simulatorsUrl: () => null }),
    payments: process.payments,
    userAgent,
    media,
    prompts: createPrompts({
      endpoint: null,
      recording: () => Promise.reject(new Error("none")),
      voice: { render: () => Promise.resolve(new Uint8Array(1)) },
      media,
    }),
    shortCodes: new ShortCodes({ database, sessions, clock: process.clock, log: silentLog, countCode: () => {} }),
    recogniser: null,
    background: new Background(),
    clock: process.clock,
    random: systemRandom,
    log: silentLog,
    countStep: () => {},
    countCode: () => {},
    settings: {
      owner: "process-1",
      languages: ["en-US"],
      mediaHost: "192.0.2.1",
      srtpRequired: false,
      publicHost: "till.example",
      phoneNumber: "+15550009999",
      trunks: createTrunks({ sipTrunks: ["192.0.2.64/26"], sipOutbound: new Secret("sip:shop:geheim@trunk.example") }, async () => []),
      transfers: { atOnce: 50, perDay: 500 },
      ...settings,
    },
  };
  return {
    ...fixture,
    deps,
    media,
    userAgent,
    gateway,
    process,
    async organization(slug) {
      const [organizationId, projectId] = [systemRandom.uuid(), systemRandom.uuid()];
      await db.insertInto("organizations").values({ id: organizationId, slug, name: slug }).execute();
      const project = { slug: "shop", name: "Shop", currency: "USD", language: "en-US", country: "US" };
      await db
        .insertInto("projects")
        .values({ ...project, id: projectId, organization_id: organizationId })
        .execute();
      return { organizationId, projectId };
    },
    addNumber: async (number, projectId) => void (await db.insertInto("phone_numbers").values({ number, project_id: projectId }).execute()),
  };
}
