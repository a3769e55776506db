import { isIP } from "node:net";
import type { Fields } from "./bodies.ts";

/**
 * A vendor's field rules as a table: name of the field -> rule. Names are those of the flattened body (`bodies.ts`):
 * `card.number`, `items[*].id` (any index), `card[number]` in bracketed forms, `metadata.*` and `metadata[*]` (any one key).
 */
export type Rules = Readonly<Record<string, Rule>>;

type Wrong = "type" | "length" | "value";

export interface Rule {
  /** Left out: optional. With a function the rest of the request decides. */
  readonly need?: Need | ((fields: Fields) => Need);
  /** Where it is required only together with others: the name above them all. */
  readonly parent?: string;
  /** What is wrong with a value: the kind of mistake and words that follow the field's name; null when nothing is. */
  check(value: unknown): readonly [kind: Wrong, words: string] | null;
  /** What the vendor says when this very field is wrong, where that differs from field to field. */
  readonly code?: string;
}

type Need = "optional" | "required" | "forbidden";
/** What the rest of a request must be for a rule to hold. */
export type Condition = (fields: Fields) => boolean;

export interface FieldFault {
  kind: "unknown" | "missing" | "forbidden" | "order" | Wrong;
  field: string;
  /** Words without the value. */
  words: string;
  code: string | undefined;
}

export const required = (rule: Rule): Rule => ({ ...rule, need: "required" });
export const requiredIf = (rule: Rule, when: Condition): Rule => ({
  ...rule,
  need: (fields) => (when(fields) ? "required" : "optional"),
});
/** Required as soon as anything below `parent`, a name of the same table, is sent: `requiredWith("card", digits(3))`. */
export const requiredWith = (parent: string, rule: Rule): Rule => ({ ...rule, need: "required", parent });
export const forbiddenIf = (rule: Rule, when: Condition): Rule => ({
  ...rule,
  need: (fields) => (when(fields) ? "forbidden" : "optional"),
});
/** Required where the condition holds, forbidden elsewhere. */
export const onlyIf = (rule: Rule, when: Condition): Rule => ({ ...rule, need: (fields) => (when(fields) ? "required" : "forbidden") });
/** The same field, refused with the vendor's code `code`. */
export const coded = (code: string, rule: Rule): Rule => ({ ...rule, code });
/** The same rules below a field: `under("card", { number })` is `{ "card.number" }`. */
export const under = (path: string, rules: Rules): Rules => moved(rules, (name) => `${path}.${name}`);
/** The same in a bracketed form: `card[number]`. */
export const within = (path: string, rules: Rules): Rules => moved(rules, (name) => path + name.replace(/^[^[]+/, "[$&]"));

function moved(rules: Rules, rename: (name: string) => string): Rules {
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [
      rename(name),
      rule.parent === undefined ? rule : { ...rule, parent: rename(rule.parent) },
    ]),
  );
}

export const rule = (check: Rule["check"]): Rule => ({ check });
const string = (check: (value: string) => readonly [Wrong, string] | null): Rule =>
  rule((value) => (typeof value === "string" ? check(value) : ["type", "must be a string"]));

/** Any value at all, null included. */
export const anything: Rule = rule(() => null);
/** Besides what the rule takes also null. */
export const orNull = (inner: Rule): Rule => ({ ...inner, check: (value) => (value === null ? null : inner.check(value)) });

/** A string of `least` to `longest` characters. */
export const text = (longest = 255, least = 1): Rule =>
  string((value) =>
    value.length < least
      ? ["length", least === 1 ? "must not be empty" : `must have at least ${least} characters`]
      : value.length > longest
        ? ["length", `must have at most ${longest} characters`]
        : null,
  );
/** A string of that form; `what` follows "must be". */
export const matching = (pattern: RegExp, what: string, longest = Infinity): Rule =>
  string((value) =>
    value.length > longest
      ? ["length", `must have at most ${longest} characters`]
      : pattern.test(value)
        ? null
        : ["value", `must be ${what}`],
  );
/** A string of `least` to `most` digits. */
export const digits = (least: number, most = least): Rule =>
  string((value) =>
    !/^[0-9]*$/.test(value)
      ? ["value", "must be digits"]
      : value.length < least || value.length > most
        ? ["length", `must have ${least === most ? least : `${least} to ${most}`} digits`]
        : null,
  );
export const oneOf = (...values: readonly (string | number | boolean)[]): Rule =>
  rule((value) => (values.includes(value as string) ? null : ["value", `must be one of ${values.join(", ")}`]));
export const trueOrFalse: Rule = rule((value) => (typeof value === "boolean" ? null : ["type", "must be true or false"]));
/** A JSON number without decimals. */
export const whole = (least = 0, most = Number.MAX_SAFE_INTEGER): Rule =>
  rule((value) =>
    !Number.isInteger(value)
      ? ["type", "must be an integer"]
      : Number(value) < least || Number(value) > most
        ? ["value", `must be ${least} to ${most}`]
        : null,
  );
/** A JSON number with at most `decimals` of them. */
export const decimal = (decimals: number, least: number, most: number): Rule =>
  rule((value) =>
    typeof value !== "number"
      ? ["type", "must be a number"]
      : value < least || value > most || Math.abs(value * 10 ** decimals - Math.round(value * 10 ** decimals)) > 1e-6
        ? ["value", `must be ${least} to ${most} with at most ${decimals} decimals`]
        : null,
  );
/** A string that holds an integer, as in forms. */
export const wholeText = (least = 0, most = Number.MAX_SAFE_INTEGER): Rule =>
  string((value) =>
    !/^-?[0-9]{1,16}$/.test(value)
      ? ["type", "must be an integer"]
      : Number(value) < least || Number(value) > most
        ? ["value", `must be ${least} to ${most}`]
        : null,
  );
/** The same without a sign and leading zeros, as the counts and pages of a query. */
export const countText = (least: number, most: number): Rule =>
  string((value) =>
    /^(0|[1-9][0-9]{0,15})$/.test(value) && Number(value) >= least && Number(value) <= most
      ? null
      : ["value", `must be ${least} to ${most}`],
  );
/** A string such as 12.34: at most that, and exactly two decimals unless said otherwise. */
export const amountText = (most = 999_999_999.99, decimals: RegExp = /^[0-9]{1,12}\.[0-9]{2}$/): Rule =>
  string((value) =>
    !decimals.test(value) ? ["value", "must be an amount"] : Number(value) > most ? ["value", `must be at most ${most}`] : null,
  );

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));
/** ISO 4217 letters of a currency that exists; `lower` for vendors that write them small. */
export const currency = (spelling: "upper" | "lower" = "upper"): Rule =>
  string((value) => {
    const isSpelled = (spelling === "upper" ? /^[A-Z]{3}$/ : /^[a-z]{3}$/).test(value);
    return isSpelled && CURRENCIES.has(value.toUpperCase()) ? null : ["value", "must be an ISO 4217 currency"];
  });
/** ISO 4217 numbers of every currency in use -> letters. */
export const CURRENCY_BY_NUMBER: ReadonlyMap<string, string> = new Map(
  "008ALL 012DZD 032ARS 036AUD 044BSD 048BHD 050BDT 051AMD 052BBD 060BMD 064BTN 068BOB 072BWP 084BZD 090SBD 096BND 104MMK 108BIF 116KHR 124CAD 132CVE 136KYD 144LKR 152CLP 156CNY 170COP 174KMF 188CRC 192CUP 203CZK 208DKK 214DOP 222SVC 230ETB 232ERN 238FKP 242FJD 262DJF 270GMD 292GIP 320GTQ 324GNF 328GYD 332HTG 340HNL 344HKD 348HUF 352ISK 356INR 360IDR 364IRR 368IQD 376ILS 388JMD 392JPY 398KZT 400JOD 404KES 408KPW 410KRW 414KWD 417KGS 418LAK 422LBP 426LSL 430LRD 434LYD 446MOP 454MWK 458MYR 462MVR 480MUR 484MXN 496MNT 498MDL 504MAD 512OMR 516NAD 524NPR 532XCG 533AWG 548VUV 554NZD 558NIO 566NGN 578NOK 586PKR 590PAB 598PGK 600PYG 604PEN 608PHP 634QAR 643RUB 646RWF 654SHP 682SAR 690SCR 702SGD 704VND 706SOS 710ZAR 728SSP 748SZL 752SEK 756CHF 760SYP 764THB 776TOP 780TTD 784AED 788TND 800UGX 807MKD 818EGP 826GBP 834TZS 840USD 858UYU 860UZS 882WST 886YER 901TWD 924ZWG 925SLE 928VES 929MRU 930STN 933BYN 934TMT 936GHS 938SDG 941RSD 943MZN 944AZN 946RON 949TRY 950XAF 951XCD 952XOF 953XPF 967ZMW 968SRD 969MGA 971AFN 972TJS 973AOA 976CDF 977BAM 978EUR 980UAH 981GEL 985PLN 986BRL"
    .split(" ")
    .map((pair) => [pair.slice(0, 3), pair.slice(3)]),
);
/** Three digits of such a currency. */
export const currencyNumber: Rule = string((value) => (CURRENCY_BY_NUMBER.has(value) ? null : ["value", "must be an ISO 4217 number"]));
const REGIONS = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
/** ISO 3166-1 alpha-2 of a country that exists. */
export const country2: Rule = string((value) =>
  /^[A-Z]{2}$/.test(value) && value !== "ZZ" && REGIONS.of(value) !== undefined
    ? null
    : ["value", "must be an ISO 3166 country of two letters"],
);
const ALPHA_3 =
  "ABW AFG AGO AIA ALA ALB AND ARE ARG ARM ASM ATA ATF ATG AUS AUT AZE BDI BEL BEN BES BFA BGD BGR BHR BHS BIH BLM BLR BLZ BMU BOL BRA BRB BRN BTN BVT BWA CAF CAN CCK CHE CHL CHN CIV CMR COD COG COK COL COM CPV CRI CUB CUW CXR CYM CYP CZE DEU DJI DMA DNK DOM DZA ECU EGY ERI ESH ESP EST ETH FIN FJI FLK FRA FRO FSM GAB GBR GEO GGY GHA GIB GIN GLP GMB GNB GNQ GRC GRD GRL GTM GUF GUM GUY HKG HMD HND HRV HTI HUN IDN IMN IND IOT IRL IRN IRQ ISL ISR ITA JAM JEY JOR JPN KAZ KEN KGZ KHM KIR KNA KOR KWT LAO LBN LBR LBY LCA LIE LKA LSO LTU LUX LVA MAC MAF MAR MCO MDA MDG MDV MEX MHL MKD MLI MLT MMR MNE MNG MNP MOZ MRT MSR MTQ MUS MWI MYS MYT NAM NCL NER NFK NGA NIC NIU NLD NOR NPL NRU NZL OMN PAK PAN PCN PER PHL PLW PNG POL PRI PRK PRT PRY PSE PYF QAT REU ROU RUS RWA SAU SDN SEN SGP SGS SHN SJM SLB SLE SLV SMR SOM SPM SRB SSD STP SUR SVK SVN SWE SWZ SXM SYC SYR TCA TCD TGO THA TJK TKL TKM TLS TON TTO TUN TUR TUV TWN TZA UGA UKR UMI URY USA UZB VAT VCT VEN VGB VIR VNM VUT WLF WSM YEM ZAF ZMB ZWE";
const COUNTRIES_3: ReadonlySet<string> = new Set(ALPHA_3.split(" "));
/** ISO 3166-1 alpha-3 of a country that exists. */
export const country3: Rule = string((value) =>
  COUNTRIES_3.has(value) ? null : ["value", "must be an ISO 3166 country of three letters"],
);
const STATES = new Set(
  "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY AS GU MP PR VI AA AE AP AB BC MB NB NL NS NT NU ON PE QC SK YT".split(
    " ",
  ),
);
/** Two letters of a state or territory of the United States or a province of Canada. */
export const state2: Rule = string((value) => (STATES.has(value) ? null : ["value", "must be a state of two letters"]));
export const email = (longest = 255): Rule => matching(/^[^\s@]+@[^\s@]+\.[^\s@]+$/, "an e-mail address", longest);
/** IPv4 or IPv6. */
export const ip: Rule = rule((value) => (typeof value === "string" && isIP(value) > 0 ? null : ["value", "must be an IP address"]));
/** Dotted IPv4. */
export const ipv4: Rule = matching(/^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}(?<!\.)$/, "a dotted IPv4 address");
/** Month and year as MMYY, not checked against today. */
export const mmyy: Rule = matching(/^(0[1-9]|1[0-2])[0-9]{2}$/, "an expiry of the form MMYY");
/** 01 to 12. */
export const month: Rule = matching(/^(0[1-9]|1[0-2])$/, "two digits");
/** A year of this century in full. */
export const year4: Rule = matching(/^20[0-9]{2}$/, "four digits");
export const uuid: Rule = matching(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, "a UUID");

/** The name in the table that a field falls under: its own, or one with `[*]` or `.*`. */
function nameIn(rules: Rules, field: string): string | undefined {
  const anyIndex = field.replace(/\[[0-9]+\]/g, "[*]");
  const names = [field, anyIndex, anyIndex.replace(/\[[^\]]*\]$/, "[*]"), anyIndex.replace(/\.[^.]*$/, ".*")];
  return names.find((name) => Object.hasOwn(rules, name));
}

function isBelow(name: string, path: string): boolean {
  return name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`);
}

/**
 * The first field that breaks a rule, those that came before those that are missing; null when all is well. `isOpen`: unknown
 * fields are ignored. `isOrdered`: the fields must stand in the table's order, as in an XML sequence.
 */
export function faultIn(fields: Fields, rules: Rules, { isOpen = false, isOrdered = false } = {}): FieldFault | null {
  const names = Object.keys(rules);
  let last = "";
  for (const [field, value] of fields) {
    const name = nameIn(rules, field);
    const rule = name === undefined ? undefined : rules[name];
    const faultOf = (kind: FieldFault["kind"], words: string): FieldFault => ({ kind, field, words, code: rule?.code });
    if (rule === undefined || name === undefined) {
      const isContainer = names.some(
        (known) => known !== field && isBelow(known.replaceAll("[*]", "[0]"), field.replace(/\[[0-9]+\]/g, "[0]")),
      );
      if (isContainer && typeof value === "object" && value !== null) continue;
      if (isContainer) return faultOf("type", "must be an object or a list");
      if (isOpen) continue;
      return faultOf("unknown", "is unknown");
    }
    if (isOrdered && last !== "" && !isAfter(field, last, names, rules)) return faultOf("order", "stands in the wrong place");
    last = field;
    if (needOf(rule, fields) === "forbidden") return faultOf("forbidden", "is not allowed here");
    const wrong = rule.check(value);
    if (wrong !== null) return faultOf(...wrong);
  }
  for (const [name, rule] of Object.entries(rules)) {
    if (needOf(rule, fields) !== "required") continue;
    const field = placesOf(name, fields).find((place) => !fields.has(place));
    if (field !== undefined) return { kind: "missing", field, words: "is required", code: rule.code };
  }
  return null;
}

/** Whether a field may follow another: a further item of the same list may begin again. */
function isAfter(field: string, last: string, names: readonly string[], rules: Rules): boolean {
  const at = Array.from(field).findIndex((letter, index) => letter !== last[index]);
  if (/\[[0-9]*$/.test(field.slice(0, at))) return true;
  return names.indexOf(nameIn(rules, last) ?? "") <= names.indexOf(nameIn(rules, field) ?? "");
}

/** Where a required field must stand: below a list in each of the items that were sent. */
function placesOf(name: string, fields: Fields): string[] {
  const at = name.lastIndexOf("[*]");
  if (at < 0) return [name];
  const [list, rest] = [name.slice(0, at + 3), name.slice(at + 3)];
  const pattern = new RegExp(`^${list.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("\\[\\*\\]", "\\[[0-9]+\\]")}`);
  const items = [...fields.keys()].map((field) => pattern.exec(field)?.[0] ?? "").filter((item) => item !== "");
  return [...new Set(items)].map((item) => item + rest);
}

function needOf({ need = "optional", parent }: Rule, fields: Fields): Need {
  if (parent !== undefined && ![...fields.keys()].some((name) => isBelow(name, parent))) return "optional";
  return typeof need === "function" ? need(fields) : need;
}
