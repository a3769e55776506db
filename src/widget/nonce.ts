import { createHmac, timingSafeEqual } from "node:crypto";
import { mayHaveMoved } from "#src/kernel/payment.ts";
import type { Random } from "#src/kernel/random.ts";
import type { Status } from "#src/sessions/index.ts";

/**
 * What the frame's page is given so that only it can charge (R-371): random bytes and their HMAC over the session's id.
 * Issuing one writes nothing, so that nobody can fill a table by asking for pages; using one is written down (`tries.ts`).
 */

const RANDOM_BYTES = 16;
const FORM = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

export interface Nonces {
  /** A fresh one for this session. */
  issue(sessionId: string): string;
  /** The part that names it, when it was issued for this session by any process with the same key; else null. */
  read(sessionId: string, nonce: string | undefined): string | null;
  /** What a voice session's link carries beside its id: the same whenever it is asked for. */
  token(sessionId: string): string;
  /** Whether it is that token. */
  isToken(sessionId: string, token: string | undefined): boolean;
  /**
   * What became of a session, signed: told to whoever holds one of its nonces (R-283). Of why it failed no more than that money may
   * have moved: another holder is not told what was wrong with the payer's card.
   */
  result(sessionId: string, status: Status, errorCode?: string | null): string;
}

export function createNonces(key: Uint8Array, random: Pick<Random, "bytes">): Nonces {
  const sign = (purpose: "nonce" | "result" | "link", ...parts: string[]) =>
    createHmac("sha256", key)
      .update([purpose, ...parts].join("|"))
      .digest("base64url");

  return {
    issue(sessionId) {
      const name = Buffer.from(random.bytes(RANDOM_BYTES)).toString("base64url");
      return `${name}.${sign("nonce", sessionId, name)}`;
    },
    read(sessionId, nonce) {
      const [, name, signature] = FORM.exec(nonce ?? "") ?? [];
      if (name === undefined || signature === undefined) return null;
      const expected = Buffer.from(sign("nonce", sessionId, name));
      return timingSafeEqual(expected, Buffer.from(signature)) ? name : null;
    },
    token: (sessionId) => sign("link", sessionId),
    isToken(sessionId, token) {
      const [expected, given] = [Buffer.from(sign("link", sessionId)), Buffer.from(token ?? "")];
      return expected.length === given.length && timingSafeEqual(expected, given);
    },
    result(sessionId, status, errorCode = null) {
      const reason = mayHaveMoved(errorCode) ? errorCode : null;
      const signature = sign("result", sessionId, status, ...(reason === null ? [] : [reason]));
      return `${status}; session=${sessionId}; signature=${signature}${reason === null ? "" : `; reason=${reason}`}`;
    },
  };
}
