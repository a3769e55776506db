import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { JsonError, JsonNumber, parseJson, type JsonValue } from "#src/kernel/json.ts";
import { itemAt, FAULTS, Invalid } from "./schemas/faults.ts";

/**
 * Bodies are read by the routes that want one, after the key was checked: Fastify's own parser would read them before
 * and could not say where JSON stops being JSON, nor keep the text of a number.
 */

/** Bytes, on every endpoint but those that say otherwise. */
const BODY_LIMIT = 64 * 1024;
const MAX_DEPTH = 64;
export const JSON_TYPE = /^application\/(?:[\w.!#$&^-]+\+)?json[ \t]*(?:;|$)/i;

/**
 * The request's body as JSON, numbers as their text. Throws Invalid when it is missing, not JSON or not sent as JSON, and
 * AppError for one that is too large or encoded.
 */
export async function readJson(request: FastifyRequest, reply: FastifyReply): Promise<JsonObject> {
  return (await readJsonAndBytes(request, reply, BODY_LIMIT)).value;
}

type JsonObject = { [key: string]: JsonValue };

/** As `readJson`, with the bytes that a signature is over; at most `limit` of them. `beforeParsing` may throw instead. */
export async function readJsonAndBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  limit: number,
  beforeParsing: (bytes: Uint8Array) => Promise<void> = async () => {},
): Promise<{ value: JsonObject; bytes: Uint8Array }> {
  const bytes = await readBody(request, reply, limit);
  await beforeParsing(bytes);
  if (bytes.length === 0) throw new Invalid([itemAt(["body"], FAULTS.missing)]);
  if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) throw new Invalid([itemAt(["body"], FAULTS.notSentAsJson)]);
  const value = parse(bytes);
  if (value === null) throw new Invalid([itemAt(["body"], FAULTS.missing)]);
  if (typeof value !== "object" || Array.isArray(value) || value instanceof JsonNumber) {
    throw new Invalid([itemAt(["body"], FAULTS.notAnObject)]);
  }
  return { value, bytes };
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new Invalid([itemAt(["body"], FAULTS.jsonInvalid)]);
  }
  try {
    return parseJson(text, { numbers: "text", maxDepth: MAX_DEPTH });
  } catch (error) {
    if (error instanceof JsonError) throw new Invalid([itemAt(["body", error.offset], FAULTS.jsonInvalid)]);
    throw error;
  }
}

/** The body's bytes, at most `limit`, for which the client is asked first if it waits to be asked (RFC 9110 section 10.1.1). */
async function readBody(request: FastifyRequest, reply: FastifyReply, limit: number): Promise<Uint8Array> {
  const { raw, headers } = request;
  checkLength(headers, limit);
  if (waitsToGoOn(headers)) reply.raw.writeContinue();

  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    let length = 0;
    raw.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) reject(new AppError("body_too_large"));
      else chunks.push(chunk);
    });
    onEnded(raw, resolve, reject);
  });
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Whether the client sends its body once it was told to (RFC 9110 section 10.1.1). */
export function waitsToGoOn(headers: IncomingHttpHeaders): boolean {
  return /\b100-continue\b/i.test(headers.expect ?? "");
}

/** Throws AppError for a body that is encoded, or said to be longer than `limit`. */
export function checkLength(headers: IncomingHttpHeaders, limit: number): void {
  const encoding = headers["content-encoding"];
  if (encoding && encoding.toLowerCase() !== "identity") throw new AppError("unsupported_encoding");
  if (Number(headers["content-length"] ?? 0) > limit) throw new AppError("body_too_large");
}

/** Calls `resolve` at a body's end, `reject` when it does not come to one. */
export function onEnded(raw: IncomingMessage, resolve: () => void, reject: (error: AppError) => void): void {
  raw.once("end", resolve);
  // An error or the end of the connection; "close" alone comes after every body.
  raw.once("close", () => {
    if (!raw.readableEnded) reject(new AppError("bad_request"));
  });
  raw.once("error", () => {});
}
