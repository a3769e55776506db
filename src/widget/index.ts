import { AppError } from "#src/kernel/errors.ts";
import { Background } from "#src/platform/index.ts";
import { isTerminal, type Session } from "#src/sessions/index.ts";
import { chargeOnce, isPaidByPage } from "./charge.ts";
import { createFrame, type Frame } from "./frame/frame.ts";
import { stripScriptsAside } from "./frame/scripts.ts";
import { createNonces } from "./nonce.ts";
import { MAX_TRIES, triesOf } from "./tries.ts";
import type { Charge, ChargeResult, Found, WidgetDeps } from "./types.ts";

export type { ChargeResult, Found, Opened, WidgetDeps } from "./types.ts";
export { loaderSnippet } from "./frame/snippet.ts";
export { stripScripts } from "./frame/scripts.ts";
export { type CardFaultKind, type CardFault, readCardBody } from "./card-body.ts";

export interface Widget {
  /**
   * The session behind a frame's address; `missing` for one that is unknown, or a call's. A voice session whose project
   * offers a link is found by whoever shows the link's token, or a nonce of the page that it leads to.
   */
  find(sessionId: string, shown?: { nonce?: string | undefined; token?: string | undefined }): Promise<Found>;
  /** Whether the nonce was issued for this session; it may be used already. */
  knows(sessionId: string, nonce: string | undefined): boolean;
  /**
   * One try to pay, counted in the database whatever becomes of it. The caller wipes the card. It goes on when the browser
   * has left. Throws AppError `unavailable` when nothing could be written: then nothing was sent.
   */
  charge(charge: Charge): Promise<ChargeResult>;
  /** The address of the page on which this session is paid. */
  urlFor(sessionId: string): string;
  /** The link by which this voice session may be paid, while it may be: with the project's switch, and until it is final. */
  linkFor(session: Pick<Session, "id" | "offersLink" | "status">): string | null;
  /** What the browser is given: the page, its script and its style. Made when it is first asked for, and kept. */
  frame(): Promise<Frame>;
  /** Refuses new charges; those that run go on. */
  drain(): void;
  /** Resolves when no charge is left. */
  idle(): Promise<void>;
}

/** Payment sessions in the browser: what the frame may ask, and its one way to charge. */
export function createWidget(deps: WidgetDeps): Widget {
  const { database, sessions, projects } = deps;
  const nonces = createNonces(deps.key, deps.random);
  const background = new Background();
  let isDraining = false;

  async function find(
    sessionId: string,
    { nonce, token }: { nonce?: string | undefined; token?: string | undefined } = {},
  ): Promise<Found> {
    const session = await sessions.find(database.db, sessionId);
    const hasLink = nonces.isToken(sessionId, token) || nonces.read(sessionId, nonce) !== null;
    if (!session || !isPaidByPage(session, hasLink)) return { kind: "missing" };
    const project = await projects.projectById(database.db, session.projectId);
    if (!project) return { kind: "missing" };
    if (isTerminal(session.status)) {
      const isKnown = nonces.read(sessionId, nonce) !== null;
      return { kind: "ended", session, project, result: isKnown ? nonces.result(sessionId, session.status, session.errorCode) : null };
    }
    const { used, busy } = await triesOf(database.db, sessionId, null);
    const processing = busy || (session.phase !== null && session.phase !== "collecting");
    // The link is used up, though not the session: its call goes on.
    if (session.channel === "voice" && used >= MAX_TRIES && !processing) return { kind: "ended", session, project, result: null };
    return { kind: "open", session, project, processing, triesLeft: MAX_TRIES - used, nonce: nonces.issue(sessionId) };
  }

  return {
    find,
    knows: (sessionId, nonce) => nonces.read(sessionId, nonce) !== null,
    charge(charge) {
      if (isDraining) return Promise.reject(new AppError("unavailable"));
      return background.run(chargeOnce(deps, nonces, charge));
    },
    urlFor: (sessionId) => `${deps.publicUrl()}/widget/${sessionId}`,
    linkFor: ({ id, offersLink, status }) =>
      offersLink && !isTerminal(status) ? `${deps.publicUrl()}/widget/${id}?t=${nonces.token(id)}` : null,
    frame: once(async () =>
      createFrame(() => new URL(deps.publicUrl()).pathname.replace(/\/$/, ""), await (deps.scripts ?? stripScriptsAside)()),
    ),
    drain: () => void (isDraining = true),
    idle: () => background.idle(),
  };
}

/** The result of `make` for everybody who asks, tried again after it failed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    if (!made) (made = make()).catch(() => (made = null));
    return made;
  };
}
