import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "#src/kernel/errors.ts";
import { checkLength, JSON_TYPE, onEnded, waitsToGoOn } from "./body.ts";
import { FAULTS, Invalid, itemAt } from "./schemas/faults.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route's body may hold a card, and has at most so many bytes. */
    secretBodyBytes?: number;
  }
  interface FastifyRequest {
    /** Set on routes with `secretBodyBytes`. */
    secretBody: SecretBody;
  }
}

/** Of UTF-8; passed over as in every other body. */
const BOM = [0xef, 0xbb, 0xbf];

/**
 * A body that may hold a card (S-60). Its bytes are taken as they come, from the request's first moment on and whatever becomes of
 * it, into memory of our own; what they came in is overwritten at once. The response waits for their end, because Node drops what
 * comes later without overwriting it.
 */
export class SecretBody {
  readonly #raw: IncomingMessage;
  readonly #limit: number;
  readonly #isComplete: Promise<void>;
  #bytes: Uint8Array<ArrayBuffer> | null = null;
  #length = 0;
  #isTooLarge = false;
  /** Whether the client waits to be told to go on. */
  #isHeldBack: boolean;

  /** Call it in the turn in which the request was read: nothing of the body has come then. */
  constructor(raw: IncomingMessage, limit: number) {
    this.#raw = raw;
    this.#limit = limit;
    this.#isHeldBack = waitsToGoOn(raw.headers);
    raw.on("data", (chunk: Buffer) => {
      this.#add(chunk);
      chunk.fill(0);
    });
    this.#isComplete = new Promise((resolve, reject) => onEnded(raw, resolve, reject));
    this.#isComplete.catch(() => {});
  }

  /**
   * The bytes, which the caller overwrites. Throws AppError for a body that is too large, encoded or broken off, Invalid for one
   * that is missing or not sent as JSON.
   */
  async read(reply: FastifyReply): Promise<Uint8Array> {
    const { headers } = this.#raw;
    checkLength(headers, this.#limit);
    if (this.#isHeldBack) reply.raw.writeContinue();
    this.#isHeldBack = false;
    await this.#untilOver();
    if (this.#isTooLarge) throw new AppError("body_too_large");
    if (this.#length === 0) throw new Invalid([itemAt(["body"], FAULTS.missing)]);
    if (!JSON_TYPE.test(headers["content-type"] ?? "")) throw new Invalid([itemAt(["body"], FAULTS.notSentAsJson)]);
    const start = BOM.every((byte, at) => this.#bytes![at] === byte) ? BOM.length : 0;
    return this.#bytes!.subarray(start, this.#length);
  }

  /** Resolves when nothing more comes, and has overwritten what came. A body that is too large is not waited for: its connection ends. */
  async discard(): Promise<void> {
    const isAwaited = !this.#isHeldBack && Number(this.#raw.headers["content-length"] ?? 0) <= this.#limit;
    if (isAwaited) await this.#untilOver().catch(() => {});
    this.#bytes?.fill(0);
  }

  #onTooLarge = (): void => {};
  readonly #tooLarge = new Promise<void>((resolve) => (this.#onTooLarge = resolve));

  #untilOver(): Promise<void> {
    return Promise.race([this.#isComplete, this.#tooLarge]);
  }

  #add(chunk: Buffer): void {
    if (this.#length + chunk.length > this.#limit) {
      this.#isTooLarge = true;
      this.#onTooLarge();
    } else {
      this.#bytes ??= new Uint8Array(new ArrayBuffer(this.#limit));
      this.#bytes.set(chunk, this.#length);
      this.#length += chunk.length;
    }
  }
}

/** Hook of a route with `secretBodyBytes`, for whatever is answered. */
export async function discardSecretBody({ secretBody }: FastifyRequest): Promise<void> {
  await secretBody.discard();
}
