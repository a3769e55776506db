import type { Environment } from "#src/kernel/payment.ts";
import { open, seal } from "#src/platform/index.ts";

/** Where a sealed value belongs. Its ciphertext opens nowhere else: not in another row, organisation or mode (SECURITY S-31). */
export interface Place {
  table: "gateway_settings" | "webhook_endpoints" | "projects";
  row: string;
  organizationId: string;
  environment: Environment | "both";
}

/** Seals and opens JSON values under the installation's master key. */
export interface Vault {
  seal(place: Place, value: unknown): Uint8Array;
  open(place: Place, sealed: Uint8Array): unknown;
}

export function createVault(masterKey: Uint8Array): Vault {
  const context = (place: Place) => [place.table, place.row, place.organizationId, place.environment].join("|");
  return {
    seal: (place, value) => seal(masterKey, context(place), new TextEncoder().encode(JSON.stringify(value))),
    open: (place, sealed) => JSON.parse(new TextDecoder().decode(open(masterKey, context(place), sealed))) as unknown,
  };
}
