import { SAMPLES_PER_MS } from "./clip.ts";
import { type RtpPacket, timestampDelta } from "./rtp.ts";

/** libuv reads so many datagrams of a socket in one turn of the event loop; more wait for the next. */
const DATAGRAMS_PER_TURN = 32;
/** Turns in which two seconds of a stream are read. */
const CATCH_UP_TURNS = 4;
/** A stream whose timestamps say that its packets are older than this, ms, counts them otherwise than RFC 3550 does. */
const IMPLAUSIBLE_MS = 1_000;

/**
 * The turns in which a thread reads its sockets. A datagram that is read in one turn came after the end of the turn before, however
 * long the thread was held up in between.
 */
export class ReadingTurns {
  /** Counts the turns in which something was read. */
  number = 0;
  /** When the last whole turn ended, monotonic ms. */
  endedAt = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;
  readonly #atTurnEnd: (task: () => void) => void;
  #isOpen = false;

  /** `atTurnEnd` runs a task once all datagrams of this turn have been read. */
  constructor(now: () => number, atTurnEnd: (task: () => void) => void) {
    this.#now = now;
    this.#atTurnEnd = atTurnEnd;
  }

  /** Something is being done in the present turn. */
  note(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#atTurnEnd(() => {
      this.#isOpen = false;
      this.number++;
      this.endedAt = this.#now();
    });
  }

  /** Calls `task` when everything that had come before this call has been read, up to two seconds of a stream. */
  afterAllRead(task: () => void): void {
    let turns = CATCH_UP_TURNS;
    const next = () => (--turns > 0 ? this.#atTurnEnd(next) : task());
    this.#atTurnEnd(next);
  }
}

/**
 * When the packets of one leg came, as far as a thread that was held up can know: after the turn in which its sockets were last
 * read, and within that by the stream's own timestamps, counted from the packet that came with the least delay.
 */
export class ArrivalTimes {
  readonly #turns: ReadingTurns;
  #turn = -1;
  #readInTurn = 0;
  #readUntil = Number.NEGATIVE_INFINITY;
  /** The packet with the least delay so far. */
  #earliest: { ssrc: number; timestamp: number; at: number } | null = null;

  constructor(turns: ReadingTurns) {
    this.#turns = turns;
  }

  /** What came before this, monotonic ms, was read before the present turn. */
  get readUntil(): number {
    return this.#readUntil;
  }

  /** A datagram of the leg is being read. */
  noteRead(): void {
    this.#turns.note();
    if (this.#turns.number !== this.#turn) {
      // A full turn may have left datagrams behind.
      if (this.#readInTurn < DATAGRAMS_PER_TURN) this.#readUntil = this.#turns.endedAt;
      this.#turn = this.#turns.number;
      this.#readInTurn = 0;
    }
    this.#readInTurn++;
  }

  /** When the packet that is read at `now` came, monotonic ms; for a keypad event when its digit went down. */
  of({ ssrc, timestamp }: Pick<RtpPacket, "ssrc" | "timestamp">, now: number): number {
    const earliest = this.#earliest;
    if (earliest?.ssrc === ssrc) {
      const at = earliest.at + timestampDelta(timestamp, earliest.timestamp) / SAMPLES_PER_MS;
      if (at < now && at >= this.#readUntil - IMPLAUSIBLE_MS) return Math.max(at, this.#readUntil);
    }
    this.#earliest = { ssrc, timestamp, at: now };
    return now;
  }
}
