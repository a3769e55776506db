import { createCodeEntry } from "#src/conversation/index.ts";
import { spokenLanguage } from "#src/kernel/language.ts";
import { type DtmfDigit, type KeyPath, KeySource } from "#src/media/index.ts";
import type { Log } from "#src/platform/index.ts";
import type { IncomingCall } from "#src/sip/index.ts";
import type { Project } from "#src/projects/index.ts";
import { type Admission, type CallMedia, describe } from "./admit.ts";
import { ConversationDriver } from "./conversation-driver.ts";
import { SpeechInput } from "./speech-input.ts";
import type { NamedProject } from "./match.ts";
import type { CallDeps } from "./types.ts";

/** Three questions and their silences take less, even with a project's own words. */
const LONGEST_MS = 3 * 60_000;

/** A call that named no session, whose caller is to be asked for a short code: nothing is answered yet. */
export interface CodeQuestion extends CallMedia {
  project: Project;
}

/** Opens the call's media; null: the caller may not be asked. Only for an offer that can be answered. */
export async function openCodeQuestion(call: IncomingCall, { id }: NamedProject, deps: CallDeps): Promise<CodeQuestion | null> {
  const { database, projects, media, shortCodes } = deps;
  const project = await projects.projectById(database.db, id);
  if (!project || !shortCodes.mayAsk(project, call.source.address)) return null;
  const leg = await media.open({ signallingHost: call.source.address });
  if (!call.cancelled) return { project, leg, ...describe(call, deps, leg.port) };
  await leg.close();
  return null;
}

/** Asks the caller of an answered call for a short code, and claims the session that it names. */
export class CodeAsking {
  /** The call with its session; null: the caller has named none. Never rejects. */
  readonly admitted: Promise<Admission | null>;
  readonly #question: CodeQuestion;
  readonly #call: Pick<IncomingCall, "callId" | "source">;
  readonly #deps: CallDeps;
  readonly #log: Log;
  readonly #conversation: ConversationDriver;
  readonly #keys: KeySource;
  #claiming: Promise<unknown> = Promise.resolve();
  #admission: Admission | null = null;

  constructor(question: CodeQuestion, call: Pick<IncomingCall, "callId" | "source">, deps: CallDeps, log: Log) {
    this.#question = question;
    this.#call = call;
    this.#deps = deps;
    this.#log = log;
    this.#keys = new KeySource(deps.clock);
    const finished = Promise.withResolvers<void>();
    this.#conversation = this.#converse(finished.resolve);
    const cancelLimit = deps.clock.after(LONGEST_MS, () => this.hangUp());
    this.admitted = finished.promise.then(async () => {
      cancelLimit();
      // Whoever hangs up while his code is looked up may hold a session all the same.
      await this.#claiming;
      return this.#admission;
    });
  }

  /** The caller hears us. */
  begin(): void {
    this.#conversation.feed({ type: "answered" });
  }

  /** A key of the caller's. `at`: when it was pressed, monotonic ms; absent: now. */
  press(digit: DtmfDigit, path: KeyPath, at?: number): void {
    if (this.#keys.accepts(path)) this.#conversation.press(digit, at);
  }

  hangUp(): void {
    this.#conversation.feed({ type: "hung_up" });
  }

  #converse(onFinished: () => void): ConversationDriver {
    const { project, leg } = this.#question;
    const { prompts, clock, settings } = this.#deps;
    const noCard = () => Promise.reject(new Error("no card is asked for"));
    const conversation = new ConversationDriver({
      machine: createCodeEntry({
        language: spokenLanguage(project.language, settings.languages),
        wordings: project.voice.prompts,
        recordings: project.voice.recordings,
        timeouts: project.voice.timeouts,
      }),
      playback: leg,
      speechInput: new SpeechInput({ audio: leg, recogniser: null, testWord: false, feed: () => {} }),
      prompts,
      clock,
      settle: noCard,
      skip: noCard,
      lookUpCode: (code) => {
        const looking = this.#claim(code);
        this.#claiming = looking;
        return looking;
      },
      onPrompt: (prompt) => this.#log.debug("prompt", { prompt }),
      onClosing: () => {},
      onFinish: onFinished,
    });
    leg.on.dtmfDigit = (digit, at) => this.press(digit, "rtp", at);
    leg.on.played = (id) => conversation.played(id);
    leg.on.mediaLost = () => this.hangUp();
    return conversation;
  }

  /** A session that another call has taken meanwhile is as unknown to this caller as any. */
  async #claim(code: string): Promise<"session" | "none" | "closed"> {
    const { shortCodes, sessions, projects, settings } = this.#deps;
    const question = this.#question;
    try {
      const found = await shortCodes.find(question.project, code, this.#call.source.address);
      if (typeof found === "string") return found === "closed" ? "closed" : "none";
      const claim = await sessions.claim(found.sessionId, { owner: settings.owner, callId: this.#call.callId });
      if (claim.kind !== "claimed") return "none";
      this.#admission = { ...question, session: claim.session, project: projects.fromJson(claim.project), rule: "short code" };
      return "session";
    } catch (error) {
      this.#log.error("code_not_looked_up", { error });
      return "none";
    }
  }
}
