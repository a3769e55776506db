/** The peer's own numbers of the codecs that are 0 and 8 in RFC 3551. */
export type PayloadTypes = Partial<Record<0 | 8, number>>;

/** The codec's number in RFC 3551, where the peer gives it another one. */
export function codecOf(payloadType: number, own: PayloadTypes | undefined): number {
  if (!own) return payloadType;
  return payloadType === own[0] ? 0 : payloadType === own[8] ? 8 : payloadType;
}

/** Puts the peer's number of the codec into a packet of ours. */
export function rename(datagram: Uint8Array, own: PayloadTypes): void {
  const second = datagram[1] ?? 0;
  const payloadType = second & 0x7f;
  if (payloadType === 0 || payloadType === 8) datagram[1] = (second & 0x80) | (own[payloadType] ?? payloadType);
}
