import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * A CIDR such as 10.0.0.0/8, or an address. It is written out: the library takes 172.16/12 for 172.0.0.16/12, and 010.0.0.0/8
 * for 8.0.0.0/8.
 */
export function isAddressRange(text: string): boolean {
  return isIP(text.split("/", 1)[0]!) !== 0 && (ipaddr.isValidCIDR(text) || ipaddr.isValid(text));
}
