import type { Keyring, Place } from "#src/platform/index.ts";

/** Seals and opens JSON values under the installation's master key. Throws for a value that belongs elsewhere. */
export interface Vault {
  seal(place: Place, value: unknown): Uint8Array;
  open(place: Place, sealed: Uint8Array): unknown;
}

export function createVault(keyring: Keyring): Vault {
  return {
    seal: (place, value) => keyring.seal(place, new TextEncoder().encode(JSON.stringify(value))),
    open: (place, sealed) => JSON.parse(new TextDecoder().decode(keyring.open(place, sealed))) as unknown,
  };
}
