import type { GatewayRequest, Order, Subject } from "../contract.ts";
import * as kit from "../kit/index.ts";

const SITE = [/^\w{1,50}$/, "a site reference of letters, digits and underscores, such as test_site12345"] as const;

export const SETTINGS = kit.describeSettings({
  hosts: { test: "https://webservices.securetrading.net", live: "https://webservices.securetrading.net" },
  credentials: {
    username: kit.plainText("Webservices user of MyST (role Webservices); it may be bound to addresses, then to this installation's", {
      form: [/^[^:\s]{1,255}$/, "a user name without blanks and colons"],
    }),
    password: kit.secret("that user's password"),
    sitereference: kit.plainText("site that takes the payments; test_... is the test bank, any other is live", { form: SITE }),
    moto_sitereference: kit.plainText("site of telephone payments, where that is another one", { optional: true, form: SITE }),
    base_url: kit.plainText("https address of another data centre, without a path (https://webservices.securetrading.us)", {
      optional: true,
    }),
  },
  options: {
    moto: kit.flag(true, "telephone payments as account type MOTO, which Trust Payments must have enabled for the site; off they are ECOM"),
  },
});
type Settings = kit.SettingsOf<typeof SETTINGS>;

/** As the vendor's own library. */
const TIMEOUT_MS = 60_000;

/** Our reference at the vendor: unique to the attempt, and short enough that no acquirer cuts it (25 characters). */
export const orderReference = ({ reference }: Pick<Subject, "reference">) => `ps${kit.shortReference(reference, 22)}`;

/** Which of the sites takes the order. */
export const siteOf = ({ channel }: Pick<Order, "channel">, { credentials }: Settings): string =>
  ((channel === "voice" && credentials.moto_sitereference) || credentials.sitereference).reveal();

type Members = { readonly [name: string]: kit.JsonBody | undefined };

/** Everything goes to one path; the user is named twice. */
const ask = ({ endpoint, credentials: { username, password } }: Settings, type: string, members: Members): GatewayRequest =>
  kit.postJson(
    `${endpoint}/json/`,
    { alias: username, version: "1.00", request: [{ requesttypedescriptions: [type], ...members }] },
    { "Content-Type": "application/json;charset=utf-8", Authorization: kit.basicAuth(username, password) },
    TIMEOUT_MS,
  );

function payment(order: Order, settings: Settings, baseamount: string): Members {
  const holder = kit.holderOf(order, kit.unicodeText, { firstName: 127, lastName: 127, zip: 25 });
  return {
    sitereference: siteOf(order, settings),
    accounttypedescription: kit.isMoto(order, settings) ? "MOTO" : "ECOM",
    currencyiso3a: order.currency,
    baseamount,
    orderreference: orderReference(order),
    pan: order.card.number,
    expirydate: kit.expiry(order.card, "MM/YYYY"),
    securitycode: kit.securityCode(order.card),
    billingfirstname: holder.firstName,
    billinglastname: holder.lastName,
    billingpostcode: holder.zip,
    customerip: order.customerIp ?? undefined,
    // There is no description.
    customfield1: kit.optionalText(kit.unicodeText, order.description, 255),
  };
}

/** Takes the money, to be settled by itself. The vendor knows no repetition: a second one would charge again. */
export const sale = (order: Order, settings: Settings) =>
  ask(settings, "AUTH", { ...payment(order, settings, String(order.amountMinor)), settlestatus: "0", credentialsonfile: "0" });

/** Has the issuer check the card for nothing; the check's reference is the token. */
export const check = (order: Order, settings: Settings) =>
  ask(settings, "ACCOUNTCHECK", { ...payment(order, settings, "0"), credentialsonfile: "1" });

const only = (value: string) => [{ value }];

/** What is recorded under the attempt's order reference. */
export const query = (subject: Pick<Subject, "reference">, settings: Settings, site: string) =>
  ask(settings, "TRANSACTIONQUERY", { filter: { sitereference: only(site), orderreference: only(orderReference(subject)) } });

/** Cancels what is not settled yet. */
export const cancel = (settings: Settings, site: string, transaction: string) =>
  ask(settings, "TRANSACTIONUPDATE", {
    filter: { sitereference: only(site), transactionreference: only(transaction) },
    updates: { settlestatus: "3" },
  });

/** Gives back what is settled. Under the order reference of the payment, so that a look-up shows it beside that. */
export const refund = (subject: Subject, settings: Settings, site: string, transaction: string) =>
  ask(settings, "REFUND", {
    sitereference: site,
    parenttransactionreference: transaction,
    baseamount: String(subject.amountMinor),
    orderreference: orderReference(subject),
  });

/** What is wrong with the settings, or null: the same host serves both, the site decides where the money comes from. */
export function settingsFault({ credentials, environment }: Settings): string | null {
  for (const name of ["sitereference", "moto_sitereference"] as const) {
    const site = credentials[name]?.reveal();
    const isTest = site?.startsWith("test_");
    if (isTest !== undefined && isTest !== (environment === "test"))
      return `${name} is a ${isTest ? "test" : "live"} site, but these are the ${environment} settings`;
  }
  return null;
}
