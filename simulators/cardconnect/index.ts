import { basicUser, brandNames, byState, defineSimulator, digitTime, hash, isCardNumber, isExpired, json, majorOf } from "../kit/index.ts";
import { mask, plain, Refusal, refused, refuseWith, rules, table, text, textOf } from "../kit/index.ts";
import type { Answer, Call, Endpoint, Fields, Incoming, Kept, Rule, Transaction } from "../kit/index.ts";
import { AVS, CVV, ISSUER, KNOWN, no, PARTIAL, PPS } from "./words.ts";
import type { No } from "./words.ts";

/**
 * CardPointe Gateway API and CardSecure, JSON under HTTP Basic. `respstat` decides, every business result has status 200. The processor is the
 * First Data North emulator; an order id is neither refused nor replayed. Every merchant's currency is USD.
 * Not simulated: credits by a negative amount, the 20 look-ups a minute of the test system, 3-D Secure results.
 */

/** Merchants whose number ends so enforce the security code and no address; the others the address alone. */
const ENFORCES_CODE = /000$/;
const VOIDABLE_MS = 30 * 24 * 3600_000;
const USERFIELD_BYTES = 4000;

const typeOf = brandNames("visa VISA, mastercard MC, discover DISC, amex AMEX", "VISA");
const ENTRY = table("T Moto, E ECommerce, R Recurring");

type Members = Readonly<Record<string, unknown>>;
/** A stored card, whose id is that of its profile and its account; `key` has all that tells it from others. */
type Profile = { number: string; expiry: string; key: string; members: Members };
/** Refunds by their own order ids. */
type State = { refunds: Map<string, object> };
interface Details {
  orderid: string;
  profile: string | null;
  /** The answer to the authorization. */
  members: Members;
}
type CardconnectCall = Call<State, Details, Profile>;
type Payment = Transaction<Details>;

const ascii = (longest: number, least = 1): Rule => ({
  check: (value) => text(longest, least).check(value) ?? (/^[\x20-\x7e]*$/.test(String(value)) ? null : ["value", "must be US-ASCII"]),
});
const isStored = (fields: Fields): boolean => /\//.test(textOf(fields, "profile"));
const isDirect = (fields: Fields): boolean => !isStored(fields);
const isKept = (fields: Fields): boolean => /^Y|\//.test(textOf(fields, "profile"));
/** With a point in major units, without one in minor. */
const AMOUNT = String.raw`/\d+(\.\d{1,2})?/ 1-14`;
const EXPIRY = String.raw`/((0[1-9]|1[0-2])\d{2}|20\d{2}([1-9]|0[1-9]|1[0-2])|20\d{2}(0[1-9]|1[0-2])\d{2})/`;
const isUnkept = (fields: Fields): boolean => textOf(fields, "profile") !== "Y";
const MERCHANT = rules`merchid! digits 1-16 @21`;
const RETREF = rules`${MERCHANT}, retref! digits 12-14 @29`;
const HOLDER = rules`
  name/address/address2/city ${ascii(30)}, region ${ascii(20)}, phone ${ascii(15)}, company ${ascii(128)}, email email 128
  country [A-Z] 2, postal [A-Za-z0-9] 1-9 @17
`;
const AUTH = rules`
  ${MERCHANT}, account!${isDirect} digits 12-19 @11, amount! ${AMOUNT} @43, expiry!${isDirect} ${EXPIRY} @15, cvv2 digits 3-4 @14
  currency [A-Z] 3 @31, orderid ${ascii(50)}, ${HOLDER}, capture/tokenize/bin/cofscheduled is Y|N, receipt is Y|N|json
  ecomind is T|E|R, profile /Y|N|\d{1,20}\/\d{1,3}/, cof!${isKept} is C|M, cofpermission~${isUnkept} is Y|N, secureflag ${ascii(1)}
  invoiceid/taxamnt ${ascii(12)}, ponumber/securedstid/secureexemption ${ascii(36)}, securevalue ${ascii(255)}
  userfields[*].*/userfields.* ${ascii(USERFIELD_BYTES, 0)}
`;
const STORE = rules`
  ${MERCHANT}, account! digits 12-19 @11, expiry! ${EXPIRY} @15, ${HOLDER}, cofpermission/defaultacct/auoptout is Y|N
`;
const REFUND = rules`${RETREF}, amount ${AMOUNT} @43, orderid ${ascii(50)}`;
const REST = "/cardconnect/rest";
const CARDSECURE = "/cardsecure/api/v1/ccn/tokenize";
/** Writes take either method. */
const written = (path: string, endpoint: Endpoint<State, Details, Profile>) => ({
  [`POST ${REST}${path}`]: endpoint,
  [`PUT ${REST}${path}`]: endpoint,
});
const found: Endpoint<State, Details, Profile> = { run: inquire };

export const simulator = defineSimulator<State, Details, Profile>({
  body: "json",
  state: () => ({ refunds: new Map() }),
  authenticate(request) {
    const user = basicUser(request) ?? refuseWith(new Refusal(plain(401, ""), "401"));
    const path = request.params["merchid"] ?? "";
    return `${user}/${path === "" ? textOf(request.fields, "merchid") : path}`;
  },
  reference: "orderid",
  recorded: ["ecomind", "cof"],
  endpoints: {
    ...written("/auth", { rules: AUTH, run: authorize }),
    ...written("/capture", { rules: rules`${RETREF}, amount ${AMOUNT} @43`, run: (call) => follow(call, "capture") }),
    ...written("/void", { rules: RETREF, run: (call) => follow(call, "void") }),
    ...written("/refund", { rules: REFUND, run: (call) => follow(call, "refund") }),
    ...written("/voidByOrderId", { rules: rules`${MERCHANT}, orderid! ${ascii(50)}`, run: voidByOrderId }),
    ...written("/profile", { rules: STORE, run: storeCard }),
    [`DELETE ${REST}/profile/:profileid/:acctid/:merchid`]: { run: removeCard },
    [`GET ${REST}/inquireByOrderid/:orderid/:merchid`]: found,
    [`GET ${REST}/inquireByOrderid/:orderid/:merchid/1`]: found,
    [`GET ${REST}/inquireMerchant/:merchid`]: {
      run(call) {
        const id = call.param("merchid");
        if (!/^\d{1,16}$/.test(id)) throw pps("21");
        const [avs, cvv] = ENFORCES_CODE.test(id) ? ["N", "Y"] : ["Y", "N"];
        return json(200, { enabled: true, site: "fts", cardproc: "FNOR", avs, cvv, acctupdater: "N", echeck: "N", fee_type: "" });
      },
    },
    [`PUT ${REST}/`]: { rules: MERCHANT, run: () => plain(200, "CardConnect REST Servlet") },
    [`POST ${CARDSECURE}`]: {
      rules: rules`account! 19, expiry ${EXPIRY} @15, cvv digits 3-4, unique bool`,
      authenticate: () => "cardsecure",
      run(call) {
        const number = call.text("account");
        if (!isCardNumber(number)) throw cardSecure(54, "Card number check (Luhn formula) failed");
        return ok(call, { message: "SUCCESS", errorcode: 0, token: tokenOf(call.request, number, call.text("unique") === "true") });
      },
    },
  },
  refuse: {
    malformed: () => refused("400", 400, { message: "Unable to parse the request", errorcode: 49 }),
    path: ({ path, tools }, isKnown) => {
      const [status, error] = isKnown ? [405, "Method Not Allowed"] : [404, "Not Found"];
      const timestamp = new Date(tools.now()).toISOString().replace("Z", "+00:00");
      return refused(String(status), status, { timestamp, status, error, path });
    },
    field: ({ kind, field, words, code = "34" }, { path }) =>
      path === CARDSECURE
        ? cardSecure(kind === "missing" ? 52 : 53, `${field} ${words}`)
        : kind === "type"
          ? refused("400", 400, { message: `${field} ${words}`, errorcode: 49 })
          : pps(code),
  },
});

/** Refused by the gateway itself. That it is too late is told as an approval. */
const pps = (respcode: string): Refusal =>
  refused(`PPS ${respcode}`, 200, { respproc: "PPS", resptext: PPS.get(respcode), respcode, respstat: respcode === "26" ? "A" : "C" });

const cardSecure = (errorcode: number, message: string): Refusal => refused(`CardSecure ${errorcode}`, 400, { message, errorcode });

/** As the test system answers: the members shuffled, and others among them that mean nothing. */
function ok(call: CardconnectCall, answer: Members | readonly Members[]): Answer {
  const mixed = (members: Members) => {
    const [one, two, three] = [0, 1, 2].map(() => call.tools.id("x", 8));
    const all = { ...members, [one ?? ""]: "x", [two ?? ""]: { respstat: "x", retref: "x" }, [three ?? ""]: [1, "x"] };
    const places = new Map(Object.keys(all).map((name) => [name, hash("md5", `${one}${name}`)]));
    return Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (places.get(a) ?? "").localeCompare(places.get(b) ?? "")));
  };
  return json(200, Array.isArray(answer) ? answer.map(mixed) : mixed(answer as Members));
}

/** 9, the first two digits, nine that only this card has, the last four; the same each time, and never itself a card number. */
function tokenOf({ shared, tools }: Pick<Incoming, "shared" | "tools">, number: string, isUnique = false): string {
  for (let round = 0; ; round++) {
    const seed = isUnique ? tools.id("") : `cardsecure ${round} ${number}`;
    const inner = (BigInt(`0x${hash("sha256", seed)}`) % 1_000_000_000n).toString().padStart(9, "0");
    const token = `9${number.slice(0, 2)}${inner}${number.slice(-4)}`;
    if (isCardNumber(token)) continue;
    shared.set(token, number);
    return token;
  }
}

/** The card behind `account`, which is its number or a token, with its expiry. */
function cardIn(call: CardconnectCall): { number: string; expiry: string } {
  const [account, given] = [call.text("account"), call.text("expiry")];
  const known = call.request.shared.get(account);
  const number = typeof known === "string" ? known : account;
  if (known === undefined && /^9\d{15}$/.test(account)) throw pps("98");
  if (!/^\d{13,19}$/.test(number)) throw pps("11");
  if (!isCardNumber(number)) throw pps("13");
  if (!KNOWN.test(number)) throw pps("33");
  const [month, year] = given.length === 4 ? [given.slice(0, 2), `20${given.slice(2)}`] : [given.slice(4, 6), given.slice(0, 4)];
  if (isExpired(Number(month), Number(year), call.tools.now())) throw pps("16");
  const isUs = (call.maybe("country") ?? "US") === "US";
  if (isUs && call.has("postal") && !/^(\d{5}|\d{9})$/.test(call.text("postal"))) throw pps("17");
  return { number, expiry: month.padStart(2, "0") + year.slice(2) };
}

const profileOf = ({ vault }: CardconnectCall, id: string): Kept<Profile> => vault.get(id) ?? refuseWith(pps("96"));

/** The profile that has all of this already, or a new one; in the ledger where it is stored for its own sake. */
function keep(call: CardconnectCall, number: string, expiry: string, how: "keep" | "store" = "keep"): Kept<Profile> {
  const names = ["name", "address", "city", "region", "country", "postal", "phone", "email", "auoptout"];
  const holder = Object.fromEntries(names.map((name) => [name, call.text(name)]));
  const token = tokenOf(call.request, number);
  const key = JSON.stringify([token, expiry, holder]);
  const twin = call.vault.find((one) => one.key === key);
  const ids = { profileid: `1${call.tools.digits(19)}`, acctid: "1" };
  const flags = { defaultacct: "Y", gsacard: "N", auoptout: call.maybe("auoptout") ?? "N" };
  const made = { number, expiry, key, members: { ...holder, ...ids, token, expiry, accttype: typeOf(number), ...flags } };
  return call.vault[how](twin?.id ?? `${ids.profileid}/1`, twin ?? made);
}

/** What an amount of 1000 to 1999 whole dollars is answered: its last three digits, where there is such a code. */
function byAmount(minor: number): No | null {
  const [, code = ""] = /^1(0\d\d)$/.exec(String(Math.floor(minor / 100))) ?? [];
  return ISSUER(code.slice(1));
}

function minorIn(call: CardconnectCall): number {
  return Math.round(call.number("amount") * (call.text("amount").includes(".") ? 100 : 1));
}

function authorize(call: CardconnectCall): Answer {
  const { tools } = call;
  const minor = minorIn(call);
  if ((call.maybe("currency") ?? "USD") !== "USD") throw pps("32");
  const isProfile = call.text("profile").includes("/");
  if (isProfile && call.has("account")) throw pps("34");
  if (Buffer.byteLength(Object.values(call.under("userfields")).join("")) > USERFIELD_BYTES) throw pps("34");
  const { number, expiry } = isProfile ? profileOf(call, call.text("profile")) : cardIn(call);
  if (ENFORCES_CODE.test(call.text("merchid")) && !isProfile && !call.has("cvv2")) throw pps("38");
  const answered = call.decide(ISSUER, number) ?? byAmount(minor);
  const isPartial = minor >= 600 && (number === PARTIAL || answered?.[0] === "10");
  const [respcode, resptext, respstat, respproc] = answered ?? (isPartial ? no("10", "Partial Approval", "A") : no("00", "Approval", "A"));
  const isApproved = respstat === "A";
  const taken = isPartial ? 500 : minor;
  const profile = isApproved && call.text("profile") === "Y" ? keep(call, number, expiry) : undefined;
  const token = tokenOf(call.request, number);
  const id = tools.digits(12);
  const order = call.text("orderid");
  const members = {
    amount: respstat === "C" ? "0.00" : majorOf(taken, "USD"),
    resptext,
    commcard: " C ",
    respcode,
    merchid: call.text("merchid"),
    token,
    account: call.text("tokenize") === "Y" ? mask(number) : token,
    respproc,
    retref: id,
    respstat,
    expiry,
    entrymode: ENTRY.get(call.text("ecomind")) ?? "Keyed",
    ...(isApproved && { authcode: `PPS${tools.digits(3)}`, batchid: tools.digits(10) }),
    ...(isApproved && { avsresp: AVS.get((call.maybe("postal") ?? "55555").slice(-3)) ?? " ", cvvresp: cvvOf(call.text("cvv2")) }),
    ...(respproc === "PPS" && { setlstat: "Declined" }),
    ...(call.has("cof") && { cof: call.text("cof") }),
    ...(profile && { profileid: profile.members["profileid"], acctid: profile.members["acctid"] }),
    ...(call.text("bin") === "Y" && { binInfo: { bin: number.slice(0, 6), country: "USA" } }),
    ...(/^(Y|json)$/.test(call.text("receipt")) && { orderId: order, receipt: { dba: "Example", nameOnCard: call.text("name") } }),
  };
  const kind = minor > 0 && call.text("capture") === "Y" ? "charge" : minor === 0 && profile ? "token" : "authorization";
  const details = { orderid: order, profile: profile?.id ?? null, members };
  call.take({ id, kind, isApproved, amountMinor: taken, currency: "USD", card: number, details, ledger: { profile: details.profile } });
  return ok(call, members);
}

const cvvOf = (code: string): string => (code === "" ? "X" : (CVV.get(code) ?? "M"));

/** A profile without a word to the issuer. */
function storeCard(call: CardconnectCall): Answer {
  const { number, expiry } = cardIn(call);
  call.decide(ISSUER, number);
  const { members } = keep(call, number, expiry, "store");
  return ok(call, { ...members, respcode: "09", resptext: "Profile Saved", respstat: "A", respproc: "PPS" });
}

function removeCard(call: CardconnectCall): Answer {
  const { id } = profileOf(call, `${call.param("profileid")}/${call.param("acctid")}`);
  call.vault.use(id);
  for (const one of call.transactions.all().filter(({ details }) => details.profile === id)) call.transactions.void(one, ["verified"]);
  return ok(call, { respcode: "08", resptext: "Profile Deleted", respstat: "A", respproc: "PPS" });
}

const SETTLEMENT = byState(
  "declined Declined, authorized Authorized, captured Queued for Capture, settled/refunded Accepted, voided Voided, verified Zero Amount",
);
/** An order id that could hold a card number is masked in the store, so that nothing finds it again. */
const isHidden = (order: string): boolean =>
  [order.replace(/\D/g, ""), ...(order.replaceAll("-", "").match(/\d{12,}/g) ?? [])].some(isCardNumber);
/** One, or a list where an order id was used several times. */
function inquire(call: CardconnectCall): Answer {
  const { orderid: order = "" } = call.params;
  const refund = call.state.refunds.get(order);
  if (refund !== undefined) return ok(call, { ...refund, setlstat: "Queued for Capture", orderId: order });
  const shown = call
    .lookUp(order, ({ details }) => details.orderid === order && !isHidden(order))
    .map((one) => ({
      ...one.details.members,
      setlstat: one.amountMinor === 0 && one.state === "authorized" ? "Zero Amount" : SETTLEMENT[one.state],
      authdate: digitTime(one.at).slice(0, 8),
      capturedate: one.capturedMinor > 0 ? digitTime(one.at) : "",
      lastfour: one.card.slice(-4),
      currency: one.currency,
      voidable: ["authorized", "captured"].includes(one.state) ? "Y" : "N",
      refundable: one.state === "settled" ? "Y" : "N",
      orderId: one.details.orderid,
    }));
  const [first, second] = shown;
  if (first === undefined) throw pps("29").unrecorded();
  return ok(call, second === undefined ? first : shown);
}

function follow(call: CardconnectCall, verb: "capture" | "void" | "refund"): Answer {
  const one = call.transactions.get(call.text("retref"));
  if (one === undefined || one.state === "declined") throw pps("29");
  const amountMinor = call.has("amount") ? minorIn(call) : undefined;
  const id = call.tools.digits(12);
  if (verb === "capture") {
    if (!call.transactions.capture(one, amountMinor)) throw pps(one.state === "authorized" ? "43" : "26");
    const captured = { amount: majorOf(one.capturedMinor, "USD"), setlstat: "Queued for Capture", respcode: "00", resptext: "Approval" };
    return ok(call, { ...captured, respstat: "A", respproc: "FNOR", retref: one.id, merchid: call.text("merchid") });
  }
  if (verb === "void") return reverse(call, one);
  const against = call.transactions.refund(one, { id, amountMinor });
  if (against !== null) throw pps(against === "amount" ? "43" : "28");
  const given = { amount: majorOf(amountMinor ?? one.refundedMinor, "USD"), respcode: "00", resptext: "Approval", respstat: "A" };
  const members = { ...given, respproc: "PPS", retref: id, merchid: call.text("merchid"), authcode: "REFUND" };
  if (call.has("orderid")) call.state.refunds.set(call.text("orderid"), members);
  return ok(call, members);
}

function reverse(call: CardconnectCall, one: Payment): Answer {
  if (call.tools.now() - one.at > VOIDABLE_MS) throw pps("39");
  if (!call.transactions.void(one)) throw pps("26");
  const members = { amount: "0.00", resptext: "Approval", currency: "USD", authcode: "REVERS", respcode: "00", respproc: "FNOR" };
  return ok(call, { ...members, retref: one.id, respstat: "A", merchid: call.text("merchid") });
}

/** The newest of that order id that was approved. */
function voidByOrderId(call: CardconnectCall): Answer {
  const order = call.text("orderid");
  const one = call.transactions.all().find(({ details, state }) => details.orderid === order && !isHidden(order) && state !== "declined");
  if (one === undefined) throw pps("29").unrecorded();
  return reverse(call, one);
}
