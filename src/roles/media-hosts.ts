import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Config } from "#src/config/index.ts";
import { OperatorError } from "#src/kernel/errors.ts";

/**
 * The addresses of media: the one that its ports are bound to, and the one that callers are told. Media has one family of addresses, and a
 * public name may have both. Rejects with OperatorError when it has none of that family.
 */
export async function mediaHosts({ sipHost, sipPublicHost }: Pick<Config, "sipHost" | "sipPublicHost">): Promise<{
  bound: string;
  told: string;
}> {
  const { address: bound, family } = await lookup(sipHost);
  const told = (await lookup(sipPublicHost, { all: true })).find(({ address }) => isIP(address) === family);
  if (!told)
    throw new OperatorError(`SIP_PUBLIC_HOST: ${sipPublicHost} has no IPv${family} address, and SIP_HOST, where media is bound, is one.`);
  return { bound, told: told.address };
}
