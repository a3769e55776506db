import { isIPv4 } from "node:net";
import type { CardBrand, CardCells, Cell } from "#src/kernel/card.ts";
import type { Environment } from "#src/kernel/payment.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { Declined, Order } from "../contract.ts";
import { Joined, PartOf } from "./body.ts";
import { declined } from "./outcomes.ts";
import { splitName } from "./text.ts";

/** The card and its holder in the forms that vendors take. */

/** The card's expiry in a vendor's form: `MM`, `YYYY` and `YY` stand for the digits, anything else for itself (`MM/YY`, `YYYY-MM`). */
export function expiry({ expMonth, expYear }: CardCells, form: string): Joined {
  const parts = form.split(/(MM|YYYY|YY)/).filter((part) => part !== "");
  const cells: Readonly<Record<string, Cell | PartOf>> = { MM: expMonth, YYYY: expYear, YY: new PartOf(expYear, 2) };
  return new Joined(...parts.map((part) => cells[part] ?? part));
}

/** The security code; undefined when none was collected. */
export function securityCode({ cvv }: CardCells): Cell | undefined {
  return cvv.length > 0 ? cvv : undefined;
}

/** A vendor's name for the card's brand; undefined when the vendor has none. */
export function brandName({ brand }: CardCells, names: Readonly<Partial<Record<CardBrand, string>>>): string | undefined {
  return names[brand];
}

/** What is known of the card holder. Empty parts are undefined. */
export interface Holder {
  firstName: string | undefined;
  lastName: string | undefined;
  name: string | undefined;
  street: string | undefined;
  city: string | undefined;
  state: string | undefined;
  zip: string | undefined;
  country: string | undefined;
}

/**
 * The session's billing address, its names filled in with the collected one; without an address the caller's ZIP alone
 * . `clean` brings each part into the vendor's character set; limits are the vendor's, field by field.
 */
export function holderOf(
  { billingAddress: address, card }: Order,
  clean: (text: string, limit: number) => string,
  limits: Readonly<Partial<Record<keyof Holder, number>>>,
): Holder {
  const collected = splitName(card.cardholderName ?? "");
  const part = (name: keyof Holder, ...texts: (string | null | undefined)[]) =>
    texts.map((text) => clean(text ?? "", limits[name] ?? 255)).find((text) => text !== "");
  const firstName = part("firstName", address?.first_name, collected.first);
  const lastName = part("lastName", address?.last_name, collected.last);
  return {
    firstName,
    lastName,
    name: part("name", card.cardholderName, [address?.first_name, address?.last_name].filter(Boolean).join(" ")),
    street: part("street", address?.street),
    city: part("city", address?.city),
    state: part("state", address?.state),
    zip: part("zip", address?.zip, card.postalCode),
    country: part("country", address?.country),
  };
}

/** The shopper's address where the vendor takes IPv4 alone; undefined on the telephone. */
export function ipv4Of({ customerIp }: Order): string | undefined {
  return customerIp !== null && isIPv4(customerIp) ? customerIp : undefined;
}

/**
 * The payer's address, for vendors that demand one: the shopper's own, else this service's. In a sandbox any will do; with live
 * money nothing is made up. `form`: what the vendor takes.
 */
export function payerIpOf(
  { customerIp }: Order,
  {
    settings,
    egressIp,
  }: { settings: { environment: Environment; credentials: { readonly ip_address?: Secret } }; egressIp: string | null },
  form: "IPv4" | "any" = "any",
): string | Declined {
  const known = [customerIp, settings.credentials.ip_address?.reveal() ?? egressIp, settings.environment === "test" ? "127.0.0.1" : null];
  const address = known.find((one) => one !== null && (form === "any" || isIPv4(one))) ?? null;
  if (address !== null) return address;
  const what = form === "any" ? "address" : `${form} address`;
  return declined("gateway_misconfigured", { reason: `ip_address or SIP_PUBLIC_HOST must say this service's public ${what}` });
}

/** Telephone orders say so unless the project's `moto` option is off; the widget never is MOTO. */
export function isMoto({ channel }: Order, { options }: { options: { readonly moto?: string | boolean } }): boolean {
  return channel === "voice" && options.moto !== false;
}
