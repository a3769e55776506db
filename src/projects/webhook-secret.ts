/** `whsec_` and the base64 of random bytes, as Standard Webhooks writes it. */
export function newSecret(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}
