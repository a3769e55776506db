import type { AccessToken, Declined } from "#src/gateways/index.ts";
import type { Clock } from "#src/kernel/clock.ts";

interface Kept {
  token: Promise<AccessToken | Declined>;
  minting: boolean;
}

/** Short-lived vendor tokens of this process: each is minted once, however many attempts need it at the same time. */
export class AccessTokens {
  readonly #kept = new Map<string, Kept>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The token kept under `key` while it lasts, else a new one; `renew` does not trust the kept one. */
  async get(key: string, mint: () => Promise<AccessToken | Declined>, renew: boolean): Promise<AccessToken | Declined> {
    const kept = this.#kept.get(key);
    if (kept?.minting) return await kept.token;
    const token = renew ? undefined : await kept?.token;
    if (token && isToken(token) && token.expiresAtMs > this.#clock.now()) return token;
    return await this.#mint(key, mint);
  }

  async #mint(key: string, mint: () => Promise<AccessToken | Declined>): Promise<AccessToken | Declined> {
    const begun = this.#kept.get(key);
    if (begun?.minting) return await begun.token;
    const entry: Kept = { token: mint(), minting: true };
    this.#kept.set(key, entry);
    let token: AccessToken | Declined | undefined;
    try {
      token = await entry.token;
      return token;
    } finally {
      entry.minting = false;
      if (!token || !isToken(token)) this.#kept.delete(key);
    }
  }
}

function isToken(minted: AccessToken | Declined): minted is AccessToken {
  return "token" in minted;
}
