/** `whsec_` and the base64 of random bytes, as Standard Webhooks writes it. */
export function newSecret(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString("base64")}`;
}

/** Standard Webhooks: `whsec_` and the base64 of 24 to 64 random bytes. */
export function isWebhookSecret(text: string): boolean {
  const bytes = /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text.slice(6), "base64").length : 0;
  return bytes >= 24 && bytes <= 64;
}
