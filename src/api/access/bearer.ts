import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { API_KEY } from "#src/kernel/ids.ts";

/** The scheme is read in any case, the key is not. */
const BEARER = /^bearer +(\S+) *$/i;

/** The well-formed key of the request's one Authorization header (RFC 6750 section 2.1; ). Throws AppError. */
export function bearerKey({ headers, rawHeaders }: IncomingMessage): string {
  const header = headers.authorization;
  if (header === undefined) throw new AppError("not_authenticated");
  // Node keeps the first of several and says nothing.
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === 13 && rawHeaders[index]!.toLowerCase() === "authorization") count++;
  }
  const token = count === 1 && BEARER.exec(header)?.[1];
  if (!token || !API_KEY.test(token)) throw new AppError("invalid_key");
  return token;
}

/** The key of a voice platform's request: `api_key` of the query, else the Authorization header's. Throws AppError. */
export function platformKey({ query, raw }: FastifyRequest): string {
  const { api_key: given } = query as { api_key?: string | string[] };
  if (given === undefined) return bearerKey(raw);
  if (typeof given !== "string" || !API_KEY.test(given)) throw new AppError("invalid_key");
  return given;
}
