import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/**
 * A recogniser as an operator runs it: a WebSocket server (RFC 6455, the server's half alone) that speaks the protocol of Vosk's. It knows
 * some utterances by their sound, and recognises one where it hears it: the audio has to come as it was spoken.
 */

export interface Utterance {
  text: string;
  /** As it is spoken: 8 kHz, 16-bit. */
  samples: Int16Array;
}

export interface ServerOptions {
  known: readonly Utterance[];
  /** Told with each word; null: words are not told one by one. */
  confidence?: number | null;
  /** The connection stays open after the last result, as with some servers. */
  staysOpen?: boolean;
  /** What it answers in place of a transcript. */
  answer?: string;
  /** The connection breaks when it should answer an utterance. */
  breaks?: () => boolean;
}

/** What came over one connection. */
export interface Connection {
  authorization: string | undefined;
  config: unknown;
  /** How many. */
  samples: number;
}

export interface RecogniserServer {
  url: string;
  connections: Connection[];
  close(): Promise<void>;
}

/** RFC 6455 section 1.3. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [TEXT, BINARY, CLOSE] = [1, 2, 8];
/** What Vosk's server compares the last message with, to the letter. */
const END = '{"eof" : 1}';

export async function startRecogniserServer(options: ServerOptions): Promise<RecogniserServer> {
  const connections: Connection[] = [];
  const sockets = new Set<Duplex>();
  const server = createServer((_, response) => void response.writeHead(426).end());
  server.on("upgrade", (request, socket: Duplex) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    accept(request, socket);
    connections.push(serve(request, socket, options));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function accept(request: IncomingMessage, socket: Duplex): void {
  const accepted = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${GUID}`).digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`,
  );
}

function serve(request: IncomingMessage, socket: Duplex, options: ServerOptions): Connection {
  const connection: Connection = { authorization: request.headers.authorization, config: null, samples: 0 };
  const send = (message: object | string) =>
    socket.write(frame(TEXT, Buffer.from(typeof message === "string" ? message : JSON.stringify(message))));
  const known = options.known.map(({ text, samples }) => ({ text, spoken: utteranceIn(loudnessOf(samples)) }));
  const loudness: number[] = [];
  const recognise = () => {
    const heard = utteranceIn(loudness);
    const [best] = known
      .map(({ text, spoken }) => ({ text, likeness: likenessOf(heard, spoken) }))
      .toSorted((a, b) => b.likeness - a.likeness);
    return best && best.likeness >= ALIKE ? best.text : "";
  };
  const result = (text: string) => {
    const { confidence = 1 } = options;
    if (confidence === null || text === "") return { text };
    return { result: text.split(" ").map((word) => ({ word, conf: confidence, start: 0, end: 0 })), text };
  };
  readFrames(socket, (opcode, data) => {
    if (opcode === CLOSE) socket.end(frame(CLOSE, data));
    if (opcode === BINARY) {
      loudness.push(...loudnessOf(new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength))));
      connection.samples += data.length / 2;
      send({ partial: recognise() });
    }
    if (opcode !== TEXT) return;
    const text = data.toString();
    if (text !== END) connection.config = (JSON.parse(text) as { config: unknown }).config;
    else if (options.breaks?.()) socket.destroy();
    else {
      send(options.answer ?? result(recognise()));
      if (!options.staysOpen) socket.write(frame(CLOSE, Buffer.from([0x03, 0xe8])));
    }
  });
  return connection;
}

/** One unmasked frame. */
function frame(opcode: number, data: Buffer): Buffer {
  const head =
    data.length < 126 ? Buffer.from([0x80 | opcode, data.length]) : Buffer.from([0x80 | opcode, 126, data.length >> 8, data.length & 0xff]);
  return Buffer.concat([head, data]);
}

/** Frames of a client, which masks them and sends none in parts. */
function readFrames(socket: Duplex, onFrame: (opcode: number, data: Buffer) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const short = (bytes[1] ?? 0) & 0x7f;
      const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
      if (bytes.length < 6 + wide) return;
      const length = wide === 0 ? short : wide === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
      const at = 6 + wide;
      if (bytes.length < at + length) return;
      const mask = bytes.subarray(at - 4, at);
      const data = Buffer.from(bytes.subarray(at, at + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
      const opcode = (bytes[0] ?? 0) & 0x0f;
      bytes = bytes.subarray(at + length);
      onFrame(opcode, data);
    }
  });
}

/** The loudness of the same utterance is nearly the same, frame by frame. */
const ALIKE = 0.8;
const FRAME = 160;
const MOST_SHIFT = 5;

/** Up to 1, when these are of the same utterance. */
function likenessOf(heard: readonly number[], spoken: readonly number[]): number {
  if (Math.abs(heard.length - spoken.length) > 2 * MOST_SHIFT) return 0;
  const shifts = Array.from({ length: 2 * MOST_SHIFT + 1 }, (_, at) => at - MOST_SHIFT);
  return Math.max(...shifts.map((shift) => correlation(heard.slice(Math.max(0, shift)), spoken.slice(Math.max(0, -shift)))));
}

/** Of each 20 ms. */
function loudnessOf(samples: Int16Array): number[] {
  return Array.from({ length: Math.floor(samples.length / FRAME) }, (_, at) =>
    Math.sqrt(samples.subarray(at * FRAME, (at + 1) * FRAME).reduce((sum, sample) => sum + sample * sample, 0) / FRAME),
  );
}

/** Without silence: a busy machine's stream stands still between words. */
function utteranceIn(loudness: readonly number[]): number[] {
  const least = Math.max(50, Math.max(...loudness) / 30);
  return loudness.filter((level) => level > least);
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const length = Math.min(a.length, b.length);
  if (length < 10) return 0;
  const mean = (values: readonly number[]) => values.slice(0, length).reduce((sum, value) => sum + value, 0) / length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [both, squaresA, squaresB] = [0, 0, 0];
  for (let at = 0; at < length; at++) {
    const [x, y] = [(a[at] ?? 0) - meanA, (b[at] ?? 0) - meanB];
    both += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return both / Math.sqrt(squaresA * squaresB || 1);
}
