import type { CredentialField, Gateway, GatewaySettings } from "../contract.ts";

/** Vendors whose interface resellers offer under hosts of their own. */
export const baseUrlField: CredentialField = {
  name: "base_url",
  secret: false,
  required: false,
  meaning: "https address that a reseller gave instead of the vendor's own, without a path",
};

/** Where requests go: an `endpoint` of the apply file, else the project's `base_url`, else the vendor's host. */
export function baseOf(hosts: Gateway["hosts"], settings: GatewaySettings): string {
  const own = settings.credentials[baseUrlField.name]?.reveal();
  const replaced = settings.endpoint !== hosts[settings.environment];
  return replaced || own === undefined ? settings.endpoint : own.replace(/\/+$/, "");
}

/** What is wrong with `base_url`, or null. */
export function baseUrlFault({ credentials }: GatewaySettings): string | null {
  const text = credentials[baseUrlField.name]?.reveal();
  if (text === undefined) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url?.protocol === "https:" && [url.origin, `${url.origin}/`].includes(text);
  return plain ? null : "base_url is not an https address without a path, such as https://reseller.example";
}
