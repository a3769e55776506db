import type { ServerResponse } from "node:http";
import type { Clock } from "#src/kernel/clock.ts";
import { isTerminal, type Progress, type Session } from "#src/sessions/index.ts";
import { sessionView } from "./presenter.ts";

const HEARTBEAT_MS = 15_000;
/** Heartbeats in a row that may wait behind unread data: 30 s for a peer that went without a word. */
const MAX_STUCK_HEARTBEATS = 2;
/** A reader that lets more than this pile up is dropped. */
const MAX_BUFFERED_BYTES = 64 * 1024;
/** When a read failed, and when our clock says expired and the database's does not yet. */
const READ_AGAIN_MS = 250;

/**
 * One session as server-sent events (WHATWG HTML, section 9.2): unnamed, one at once and one for each change of its status, until
 * it is final; between them, named `progress` and without an id, the steps of its call, which a reader of unnamed events does
 * not see. The stream ends by itself; `onClosed` is called once, however it ended.
 */
export class SessionStream {
  readonly #response: ServerResponse;
  readonly #read: () => Promise<Session | null>;
  readonly #clock: Clock;
  readonly #timers = new Map<"heartbeat" | "read", () => void>();
  #shown: Session | null = null;
  /** Told before the stream has shown COLLECTING. */
  #early: Progress | null = null;
  #reading = false;
  #stale = false;
  #closed = false;
  #stuck = 0;

  /** `response` has its head written. */
  constructor(response: ServerResponse, read: () => Promise<Session | null>, clock: Clock, onClosed: () => void) {
    this.#response = response;
    this.#read = read;
    this.#clock = clock;
    response.once("close", () => {
      this.#stop();
      onClosed();
    });
    response.socket?.setKeepAlive(true, HEARTBEAT_MS);
    this.#heartbeatLater();
  }

  /** Shows a state that was read: nothing when its status is on the stream already, or when it is older than what is. */
  show(session: Session): void {
    const shown = this.#shown;
    if (this.#closed || (shown && (session.status === shown.status || session.revision < shown.revision))) return;
    this.#shown = session;
    const retry = shown ? "" : "retry: 1000\n";
    this.#write(`${retry}${sessionEvent(session)}`);
    const early = this.#early;
    this.#early = null;
    if (early) this.progress(early);
    if (isTerminal(session.status)) this.#end();
    else if (session.status === "PENDING") this.#readLater(session.expiresAt.getTime() - this.#clock.now());
  }

  /** The session's call has come to another step or try. */
  progress(progress: Progress): void {
    if (this.#shown?.status === "COLLECTING") this.#write(progressEvent(this.#shown.id, progress));
    else this.#early = progress;
  }

  /** The session may have changed: reads it, once more when it changes while being read. */
  changed(): void {
    this.#stale = true;
    if (!this.#reading) void this.#refresh();
  }

  /** Ends the stream between two events: the server is going down, or its key is no longer valid. */
  shutDown(): void {
    this.#write(": closing\n\n");
    this.#end();
  }

  async #refresh(): Promise<void> {
    this.#reading = true;
    try {
      while (this.#stale && !this.#closed) {
        this.#stale = false;
        const session = await this.#read();
        if (!session) continue;
        this.show(session);
        const due = session.expiresAt.getTime() <= this.#clock.now();
        if (session.status === "PENDING" && due) this.#readLater(READ_AGAIN_MS);
      }
    } catch {
      this.#readLater(READ_AGAIN_MS);
    } finally {
      this.#reading = false;
    }
  }

  #readLater(ms: number): void {
    this.#after("read", Math.max(ms, READ_AGAIN_MS), () => this.changed());
  }

  #heartbeatLater(): void {
    this.#after("heartbeat", HEARTBEAT_MS, () => {
      this.#stuck = this.#response.writableLength > 0 ? this.#stuck + 1 : 0;
      if (this.#stuck >= MAX_STUCK_HEARTBEATS) this.#drop();
      this.#write(":\n\n");
      this.#heartbeatLater();
    });
  }

  #after(name: "heartbeat" | "read", ms: number, task: () => void): void {
    if (this.#closed) return;
    this.#timers.get(name)?.();
    this.#timers.set(name, this.#clock.after(ms, task));
  }

  #write(text: string): void {
    if (this.#closed) return;
    const waiting = this.#response.writableLength;
    if (waiting > 0 && waiting + text.length > MAX_BUFFERED_BYTES) this.#drop();
    else this.#response.write(text);
  }

  #drop(): void {
    this.#stop();
    this.#response.destroy();
  }

  #end(): void {
    if (this.#closed) return;
    this.#stop();
    this.#response.end();
  }

  #stop(): void {
    this.#closed = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}

export function sessionEvent(session: Session): string {
  return `id: ${eventId(session)}\ndata: ${JSON.stringify(sessionView(session))}\n\n`;
}

/** Without an id: a reader's Last-Event-ID stays that of the state which it has seen. */
export function progressEvent(sessionId: string, { step, try: number }: Progress): string {
  return `event: progress\ndata: ${JSON.stringify({ session_id: sessionId, step, try: number })}\n\n`;
}

/**
 * An event's id: when its state was reached, ms after the session was made. It grows with each change and, unlike the
 * revision, stays when a final session's transfer is noted, so that whoever has seen the end is recognised.
 */
export function eventId({ createdAt, updatedAt, completedAt }: Session): string {
  return String((completedAt ?? updatedAt).getTime() - createdAt.getTime());
}
