import { assemble, contentLength, type Head, MAX_MESSAGE_BYTES, type Parsed, parseHead } from "./parse.ts";
import { SipSyntaxError } from "./syntax-error.ts";

const CR = 0x0d;
const LF = 0x0a;
const HEAD_END = "\r\n\r\n";
/** RFC 5626 section 4.4.1: two CRLF between messages are a ping, answered with one. */
const PING_LENGTH = 4;

export type Frame =
  | { kind: "message"; parsed: Parsed }
  | { kind: "ping" }
  /** Where the next message begins can no longer be told: answer `parsed` if it can be answered, then close (RFC 3261 section 18.3). */
  | { kind: "lost"; parsed: Parsed };

/** Cuts a byte stream into SIP messages by Content-Length (RFC 3261 section 18.3), however the stream was segmented. */
export class StreamFramer {
  #buffer = Buffer.alloc(4_096);
  /** What has not been used yet lies between these two. */
  #start = 0;
  #end = 0;
  /** How far the search for the end of the head has come, so that a head in one-byte segments is searched once. */
  #searched = 0;
  /** The head whose body is still coming, so that it is read once too. */
  #head: { head: Head; bodyLength: number } | null = null;
  #blankBytes = 0;
  #lost = false;

  /** Whether a message has begun that is not complete. */
  get pending(): boolean {
    return this.#head !== null || this.#end > this.#start;
  }

  /** Takes what was received and returns the frames it completes. After a lost frame nothing more comes. */
  feed(chunk: Uint8Array): Frame[] {
    if (this.#lost) return [];
    this.#append(chunk);
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame && !this.#lost; frame = this.#next()) {
      this.#lost = frame.kind === "lost";
      frames.push(frame);
    }
    if (this.#lost) this.#use(this.#end - this.#start);
    this.#compact();
    return frames;
  }

  #next(): Frame | null {
    return this.#head ? this.#body(this.#head.head, this.#head.bodyLength) : this.#message();
  }

  #message(): Frame | null {
    if (this.#useBlankLines()) return { kind: "ping" };
    const from = Math.max(this.#start, this.#searched - HEAD_END.length);
    const end = this.#buffer.subarray(0, this.#end).indexOf(HEAD_END, from, "latin1");
    this.#searched = this.#end;
    if (end < 0) return this.#end - this.#start > MAX_MESSAGE_BYTES ? this.#oversize(this.#end) : null;
    const head = parseHead(this.#buffer.toString("latin1", this.#start, end));
    const bodyLength = contentLength(head);
    if (bodyLength === null) {
      head.problem ??= new SipSyntaxError("no Content-Length on a stream");
      return { kind: "lost", parsed: assemble(head, new Uint8Array(0)) };
    }
    if (end + HEAD_END.length - this.#start + bodyLength > MAX_MESSAGE_BYTES) return this.#oversize(end);
    this.#use(end + HEAD_END.length - this.#start);
    this.#head = { head, bodyLength };
    return this.#body(head, bodyLength);
  }

  #body(head: Head, length: number): Frame | null {
    if (this.#end - this.#start < length) return null;
    const body = Buffer.from(this.#buffer.subarray(this.#start, this.#start + length));
    this.#use(length);
    this.#head = null;
    this.#searched = this.#start;
    return { kind: "message", parsed: assemble(head, body) };
  }

  #oversize(headEnd: number): Frame {
    const head = parseHead(this.#buffer.toString("latin1", this.#start, headEnd));
    head.problem = new SipSyntaxError("message too large", 513);
    return { kind: "lost", parsed: assemble(head, new Uint8Array(0)) };
  }

  /** Takes the CRLFs in front of a message (section 7.5); true when they add up to a ping. A lone CR waits for its LF. */
  #useBlankLines(): boolean {
    while (this.#end - this.#start >= 2) {
      if (this.#buffer[this.#start] !== CR || this.#buffer[this.#start + 1] !== LF) {
        this.#blankBytes = 0;
        return false;
      }
      this.#use(2);
      this.#blankBytes += 2;
      if (this.#blankBytes < PING_LENGTH) continue;
      this.#blankBytes = 0;
      return true;
    }
    return false;
  }

  #append(chunk: Uint8Array): void {
    const needed = this.#end + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(needed, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#end);
      this.#buffer.fill(0);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end = needed;
  }

  /** Moves past the first `count` bytes and overwrites them: a body may hold keypad digits. */
  #use(count: number): void {
    this.#buffer.fill(0, this.#start, this.#start + count);
    this.#start += count;
  }

  /** Moves what is left to the front, once per segment. */
  #compact(): void {
    this.#buffer.copyWithin(0, this.#start, this.#end);
    this.#buffer.fill(0, this.#end - this.#start, this.#end);
    this.#searched = Math.max(0, this.#searched - this.#start);
    this.#end -= this.#start;
    this.#start = 0;
  }
}
