import { Agent, WebSocket } from "undici";
import { SAMPLE_RATE_HZ } from "#src/kernel/g711.ts";
import { type HeardWord, RecogniserFault, type StreamingRecogniser, type Transcription } from "./streaming-recogniser.ts";
import { wordsOf } from "./transcript.ts";

/** From the beginning of an utterance to an open connection. */
const CONNECT_MS = 5_000;
/** From the end of an utterance to its transcript. */
const ANSWER_MS = 5_000;
/** Some servers leave the connection open after the last result: it is the last one when none follows for so long. */
const REST_MS = 300;
/** Samples in one message: 100 ms. */
const BATCH = SAMPLE_RATE_HZ / 10;
const LONGEST_MESSAGE = 65_536;

const CONFIG = JSON.stringify({ config: { sample_rate: SAMPLE_RATE_HZ, words: true, max_alternatives: 0 } });
/** With its two spaces: servers compare the text. */
const END = '{"eof" : 1}';

/**
 * A recogniser behind a WebSocket, by the protocol of Vosk's server (docs/operations.md): a connection for each utterance. Proxies of the
 * environment and redirects are not followed: what callers say goes where the operator has said, or nowhere.
 */
export function createWebSocketRecogniser({ url, key }: { url: string; key: string | null }): StreamingRecogniser {
  const dispatcher = new Agent();
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  return { begin: () => new SocketTranscription(new WebSocket(url, { dispatcher, headers })) };
}

class SocketTranscription implements Transcription {
  readonly #socket: WebSocket;
  readonly #transcript = Promise.withResolvers<readonly HeardWord[]>();
  /** Words of the results so far, and of what is being said since the last one. */
  readonly #words: HeardWord[] = [];
  #partial: readonly HeardWord[] = [];
  /** Samples that are still to be sent. */
  #samples: Int16Array<ArrayBuffer>[] = [];
  #isOver = false;
  #hasResult = false;
  #timer: NodeJS.Timeout;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    // A fault is told to whoever asks for the transcript; nobody may be asking yet.
    this.#transcript.promise.catch(() => {});
    this.#timer = setTimeout(() => this.#fail("did not answer"), CONNECT_MS);
    let wasOpen = false;
    socket.addEventListener("open", () => {
      wasOpen = true;
      clearTimeout(this.#timer);
      socket.send(CONFIG);
      this.#send();
      if (this.#isOver) this.#end();
    });
    socket.addEventListener("message", ({ data }) => this.#take(data));
    // What went wrong is not passed on: it could quote a message.
    socket.addEventListener("error", () => this.#fail(wasOpen ? "broke the connection" : "cannot be reached"));
    socket.addEventListener("close", () => (this.#hasResult && this.#isOver ? this.#settle() : this.#fail("closed the connection")));
  }

  feed(samples: Float32Array): void {
    this.#samples.push(Int16Array.from(samples, (sample) => Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)))));
    if (this.#waiting >= BATCH) this.#send();
  }

  peek(): readonly HeardWord[] {
    return [...this.#words, ...this.#partial];
  }

  finish(): Promise<readonly HeardWord[]> {
    this.#isOver = true;
    if (this.#isOpen) {
      this.#send();
      this.#end();
    }
    return this.#transcript.promise;
  }

  cancel(): void {
    this.#fail("was not waited for");
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  get #waiting(): number {
    return this.#samples.reduce((sum, { length }) => sum + length, 0);
  }

  #send(): void {
    if (!this.#isOpen || this.#samples.length === 0) return;
    const all = new Int16Array(this.#waiting);
    let at = 0;
    for (const part of this.#samples.splice(0)) {
      all.set(part, at);
      at += part.length;
      part.fill(0);
    }
    // The client has made a masked copy when this returns.
    this.#socket.send(all);
    all.fill(0);
  }

  #end(): void {
    // What was a result before answers a part of the utterance.
    this.#hasResult = false;
    this.#socket.send(END);
    this.#timer = setTimeout(() => this.#fail("did not answer"), ANSWER_MS);
  }

  #take(data: unknown): void {
    const message = typeof data === "string" && data.length <= LONGEST_MESSAGE ? parse(data) : null;
    if (!message) return this.#fail("answered in another protocol");
    if (message.partial !== null) this.#partial = wordsOf(message.partial);
    if (message.result === null) return;
    this.#words.push(...message.result);
    this.#partial = [];
    this.#hasResult = true;
    if (!this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle(), REST_MS);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#transcript.resolve(this.#words);
    this.#socket.close();
  }

  #fail(how: string): void {
    clearTimeout(this.#timer);
    for (const part of this.#samples.splice(0)) part.fill(0);
    this.#transcript.reject(new RecogniserFault(`the recogniser ${how}`));
    this.#socket.close();
  }
}

interface Message {
  partial: string | null;
  result: HeardWord[] | null;
}

/** A message of the server; null when it is none. */
function parse(data: string): Message | null {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    return null;
  }
  if (typeof json !== "object" || json === null) return null;
  const { partial, text, result } = json as Record<string, unknown>;
  return {
    partial: typeof partial === "string" ? partial : null,
    result: typeof text === "string" ? (wordsWithConfidence(result) ?? wordsOf(text)) : null,
  };
}

/** The words of `result`, where each says how sure the server is of it. */
function wordsWithConfidence(result: unknown): HeardWord[] | null {
  if (!Array.isArray(result)) return null;
  const words = (result as unknown[]).map((entry) => {
    const { word, conf } = (entry ?? {}) as Record<string, unknown>;
    return typeof word === "string" && typeof conf === "number" && conf >= 0 && conf <= 1 ? wordsOf(word, conf) : null;
  });
  return words.includes(null) ? null : words.flatMap((each) => each ?? []);
}
