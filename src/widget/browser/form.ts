/**
 * The frame's script, as the browser runs it once its types are taken out (../frame/scripts.ts); it imports nothing but types. It sends
 * the card to its own origin and nowhere else, tells the embedding page nothing of the card (R-370), and never offers another try while
 * the outcome of one is unknown. Length: the page loads one script, and nothing bundles it.
 */
import type { TextName } from "../frame/texts.ts";

const CHECKING_AFTER_MS = 8000;
const LOOK_EVERY_MS = 2000;
/** Of a card number. */
const LEAST_DIGITS = 12;
const isPaid = (status: string) => status === "payment-success" || status === "payment-authorized";
const isUnpaid = (status: string) =>
  status === "payment-failed" || status === "expired" || status === "cancelled" || status === "abandoned";

interface BrandRules {
  groups: readonly number[];
  /** Digits of the security code; null: not known. */
  code: number | null;
}
interface Brand extends BrandRules {
  brand: string | null;
}
interface Answer {
  status: string;
  card_brand: string;
  card_last4: string;
  detail: string;
  error: { code: string; message: string };
  retryable: boolean;
  attempts_left: number;
}
type Fact = readonly [name: string, value: string];
/** What is kept of a payment for a reload. */
interface Kept {
  status: string;
  text: string;
  facts: Fact[];
  nonce: string;
}
type EventType = keyof VoicetillEventDetails;
type FieldId = VoicetillEventDetails["change"]["field"];

/** Beginnings of card numbers by brand, as the brands publish them, and what differs from card to card. */
const BRANDS: readonly (readonly [brand: string, beginning: RegExp, rules: Partial<BrandRules>])[] = [
  ["amex", /^3[47]/, { groups: [4, 6, 9], code: 4 }],
  ["diners", /^3(0[0-5]|[689])/, { groups: [4, 6, 9], code: 3 }],
  ["jcb", /^35(2[89]|[3-8])/, {}],
  ["visa", /^4/, { code: 3 }],
  ["mastercard", /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, { code: 3 }],
  ["discover", /^(6011|64[4-9]|65)/, { code: 3 }],
  ["unionpay", /^62/, {}],
];
const ANY_BRAND: Brand = { brand: null, groups: [4, 4, 4, 4, 3], code: null };
/** Numbers of brands without a mark here that begin as those of one above. */
const AMONG_OTHERS: readonly (readonly [brand: string, beginning: RegExp])[] = [
  ["elo", /^(40117[89]|431274|438935|451416|457393|45763[12]|627780|65)/],
  ["maestro", /^(493698|62)/],
];

/** What the page that this script comes with has. */
function found<T extends Element>(kind: new () => T, selector: string): T {
  const element = document.querySelector(selector);
  if (!(element instanceof kind)) throw new Error(`no ${selector}`);
  return element;
}

const main = found(HTMLElement, "main");
const { sessionid: sessionId = "", api = "", mode, status: initialStatus, origins = "", variables = "{}", merchant = "" } = main.dataset;
const message = found(HTMLElement, "#message");
const form = document.querySelector<HTMLFormElement>("#form");
const allowed = origins.split(" ").filter((origin) => origin !== "");
const isFramed = window.parent !== window;

/** The channel to the loader on the embedding page, once it has connected; before that its events wait. */
let port: MessagePort | null = null;
const unsent: { type: EventType }[] = [];

/** An event for the loader. Nothing of a card is ever in one. */
function emit<Type extends EventType>(type: Type, detail: VoicetillEventDetails[Type]): void {
  if (!isFramed) return;
  const event = { v: 1, type, ...detail };
  if (port) port.postMessage(event);
  else unsent.push(event);
}

// Only a page of the project's origins may connect; an event says who sent it.
window.addEventListener("message", ({ source, origin, data, ports: [given] }: MessageEvent<{ type?: unknown } | null>) => {
  if (port !== null || source !== window.parent || !allowed.includes(origin) || data?.type !== "voicetill:connect" || !given) return;
  port = given;
  for (const event of unsent.splice(0)) port.postMessage(event);
});

/** The status, also for pages without the loader: to their own origin alone. */
function tell(status: string): void {
  if (!isFramed || sessionId === "") return;
  // Where the browser says who embeds the page, only that origin is addressed; it is one of these, or nothing is sent.
  const parents = window.location.ancestorOrigins ? [window.location.ancestorOrigins[0]] : allowed;
  for (const origin of parents)
    if (origin !== undefined && allowed.includes(origin)) window.parent.postMessage({ session_id: sessionId, status }, origin);
  if (isPaid(status)) emit("success", { session_id: sessionId, status });
  else if (isUnpaid(status)) emit("error", { session_id: sessionId, status, code: status });
}

function dress(): void {
  for (const [name, value] of Object.entries(JSON.parse(variables) as Record<string, string>)) {
    const property = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (/^[\w#%.,()\s"'+-]*$/.test(value) && !/url\s*\(/i.test(value)) document.documentElement.style.setProperty(property, value);
  }
}

/** What is kept of a payment for the browser that made it, for a reload: no card data but brand and last four. */
const remembered = {
  key: `voicetill ${sessionId}`,
  // A browser may forbid storage in frames: then a reload says only that the payment is over.
  keep(record: Kept): void {
    try {
      window.sessionStorage.setItem(this.key, JSON.stringify(record));
    } catch {}
  },
  read(): Kept | null {
    try {
      return JSON.parse(window.sessionStorage.getItem(this.key) ?? "null") as Kept | null;
    } catch {
      return null;
    }
  },
};

const SVG = "http://www.w3.org/2000/svg";

function picture(id: string, className: string): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#${id}`);
  svg.append(use);
  return svg;
}

const SEALS = { good: "tick", bad: "cross", over: "clock" } as const;

/** The end: a tick, a cross or a clock, the words, and the facts that a shopper may want to keep. */
function showEnd(text: string, kind: keyof typeof SEALS, facts: readonly Fact[] = []): void {
  message.textContent = text;
  message.dataset["kind"] = kind;
  document.querySelector(".seal")?.remove();
  message.before(picture(SEALS[kind], `seal ${kind}`));
  main.classList.add("ended");
  // There is nothing to pay any more.
  const heading = document.querySelector(".summary h1");
  if (heading) heading.textContent = merchant;
  if (facts.length === 0) return;
  const list = document.createElement("dl");
  for (const [name, value] of facts) {
    const [row, term, fact] = [document.createElement("div"), document.createElement("dt"), document.createElement("dd")];
    [term.textContent, fact.textContent] = [name, value];
    row.append(term, fact);
    list.append(row);
  }
  message.after(list);
}

/** The header that only a page of this session is given: its status, and why it failed where money may have moved all the same. */
function resultOf({ headers }: Response): { status: string; reason: string | undefined } {
  const [status = "", ...more] = (headers.get("x-widget-result") ?? "").split("; ");
  return { status, reason: more.find((part) => part.startsWith("reason="))?.slice("reason=".length) };
}

/** A page of a session that is over: for the browser that paid, what it saw then; the service is asked whether that is so. */
async function recall(): Promise<void> {
  const record = remembered.read();
  if (record === null) return;
  try {
    const response = await fetch(api, { headers: { "x-widget-nonce": record.nonce }, cache: "no-store" });
    const { status } = resultOf(response);
    if (response.status === 410 && isPaid(status) && status === record.status) showEnd(record.text, "good", record.facts);
  } catch {
    // The page says that the payment is over, which is true.
  }
}

/** The tabs of this browser that have the same payment open; null where the browser forbids it in frames. */
function otherTabs(): BroadcastChannel | null {
  try {
    return new BroadcastChannel(remembered.key);
  } catch {
    return null;
  }
}

function takeCards(form: HTMLFormElement): void {
  const given = (name: string): unknown => JSON.parse(main.dataset[name] ?? "null");
  const texts = given("texts") as Readonly<Record<TextName, string>>;
  /** Words for the codes of refusals; what has none is `card_declined`, or where that has none either what the service says. */
  const declines = given("declines") as Readonly<Record<string, string>>;
  const fixes = given("fixes") as Readonly<Record<string, string>>;
  const brandNames = given("brands") as Readonly<Record<string, string>>;
  /** Brands that the project restricts itself to; none: all. The service judges those that this script does not know. */
  const accepted = (main.dataset["accepted"] ?? "").split(" ").filter((brand) => brand !== "");
  /** How long numbers are, by how they begin: the service's own rule (../frame/html.ts). */
  const lengths = (main.dataset["lengths"] ?? "").split(" ").map((entry) => entry.split(":"));
  const submit = found(HTMLButtonElement, "#submit");
  const submitText = found(HTMLElement, "#submit-text");
  const submitWords = submitText.textContent;
  /** A field that the project has left out is null. */
  const optional = (id: string) => document.querySelector<HTMLInputElement>(`input#${id}`);
  const number = found(HTMLInputElement, "#number");
  const expiry = found(HTMLInputElement, "#expiry");
  const code = optional("cvv");
  const fields = [...document.querySelectorAll("input")];
  let { content: nonce } = found(HTMLMetaElement, 'meta[name="widget-nonce"]');
  let isSending = false;
  /** The payment of another tab of this browser, as that tab was answered. */
  let elsewhere: Answer | null = null;
  const tabs = otherTabs();

  const fill = (text: string, values: Readonly<Record<string, string | number>>) =>
    text.replace(/\{([a-z0-9]+)\}/g, (whole, key: string) => String(values[key] ?? whole));
  const say = (text: string, kind = "") => {
    message.textContent = text;
    message.dataset["kind"] = kind;
  };
  /** Full-width and Arabic digits, as some keyboards write them, are those of ASCII. */
  const plain = (text: string) =>
    text.normalize("NFKC").replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) & 15));
  const digitsOf = (text: string) => text.replace(/[^0-9]/g, "");
  const isTaken = (brand: string) => accepted.length === 0 || accepted.includes(brand);
  const brandOf = (digits: string): Brand => {
    const [brand = null, , rules] = BRANDS.find(([, beginning]) => beginning.test(digits)) ?? [];
    // It may be of one that the project takes: the service judges.
    const isOther = brand !== null && !isTaken(brand);
    if (isOther && AMONG_OTHERS.some(([other, beginning]) => isTaken(other) && beginning.test(digits))) return ANY_BRAND;
    return { ...ANY_BRAND, ...rules, brand };
  };
  /** Digits of the security code; null while the number does not tell. The service has it so too: four for one brand alone. */
  const codeLength = (): number | null => {
    const digits = digitsOf(number.value);
    return brandOf(digits).code ?? (digits.length < LEAST_DIGITS ? null : 3);
  };

  function passesLuhn(digits: string): boolean {
    let sum = 0;
    for (let index = 1; index <= digits.length; index++) {
      const digit = Number(digits[digits.length - index]);
      const doubled = index % 2 === 0 ? digit * 2 : digit;
      sum += doubled > 9 ? doubled - 9 : doubled;
    }
    return digits.length >= LEAST_DIGITS && digits.length <= 19 && sum % 10 === 0;
  }

  function isIssued(digits: string): boolean {
    const [, lasts = ""] = lengths.findLast(([beginning = ""]) => beginning <= digits) ?? [];
    return lasts.includes(String(digits.length % 10));
  }

  /** Month and year of this century, as typed or as a browser fills them in: 4/30, 04 / 2030, 0430. */
  function expiryOf(text: string): { month: number; year: number } | null {
    const parts = /^\s*([0-9]{1,2})\s*[/.\- ]\s*(?:20)?([0-9]{2})\s*$/.exec(text) ?? /^\s*([0-9]{2})(?:20)?([0-9]{2})\s*$/.exec(text);
    if (!parts) return null;
    const [month, year] = [Number(parts[1]), 2000 + Number(parts[2])];
    return month >= 1 && month <= 12 ? { month, year } : null;
  }

  function isCode(text: string): boolean {
    const length = codeLength();
    return /^[0-9]{3,4}$/.test(text.trim()) && (length === null || text.trim().length === length);
  }

  /** Whether the brand is known, and not one that the project takes. */
  function isOtherBrand(digits: string): boolean {
    const { brand } = brandOf(digits);
    return brand !== null && !isTaken(brand);
  }
  /** Whether the card's last month is over everywhere on Earth. */
  function isOver(text: string): boolean {
    const date = expiryOf(text);
    return date !== null && new Date(date.year, date.month, 2) < new Date();
  }
  const checks: Readonly<Record<FieldId, (text: string) => boolean>> = {
    number: (text) => passesLuhn(digitsOf(text)) && isIssued(digitsOf(text)),
    expiry: (text) => expiryOf(text) !== null,
    cvv: isCode,
    zip: (text) => text.trim() !== "",
    name: (text) => text.trim() !== "",
  };

  const errorOf = (field: HTMLInputElement) => found(HTMLElement, `#${field.id}-error`);
  function mark(field: HTMLInputElement, text: string): void {
    field.setAttribute("aria-invalid", String(text !== ""));
    errorOf(field).textContent = text;
  }

  /** What is to be done about a field that is empty or cannot be right. */
  function wordsFor(field: HTMLInputElement): string {
    const digits = digitsOf(number.value);
    if (field === number && digits.length < LEAST_DIGITS) return texts.numberShort;
    const length = codeLength();
    if (field === code && length !== null) return length === 4 ? texts.cvvWrongFront : texts.cvvWrongBack;
    return errorOf(field).dataset["wrong"] ?? "";
  }

  /** What is wrong with a field's text; "": nothing. */
  function faultOf(field: HTMLInputElement): string {
    if (!checks[field.id as FieldId](field.value)) return wordsFor(field);
    if (field === expiry && isOver(field.value)) return texts.expired;
    return field === number && isOtherBrand(digitsOf(field.value)) ? texts.brandWrong : "";
  }
  const isGood = (field: HTMLInputElement) => faultOf(field) === "";

  function check(field: HTMLInputElement): boolean {
    mark(field, faultOf(field));
    return isGood(field);
  }

  /** Groups as on the card. */
  function group(field: HTMLInputElement): void {
    const digits = digitsOf(field.value).slice(0, 19);
    const sizes = brandOf(digits).groups;
    const groups: string[] = [];
    let at = 0;
    for (const size of sizes) {
      if (at < digits.length) groups.push(digits.slice(at, at + size));
      at += size;
    }
    field.value = groups.join(" ");
  }

  /** The brand's mark in the number's field, and where its security code stands. */
  function showBrand({ brand, code: length }: Brand): void {
    const use = (field: HTMLInputElement, id: string) => field.parentElement?.querySelector("use")?.setAttribute("href", `#${id}`);
    use(number, `mark-${brand ?? "plain"}`);
    for (const other of document.querySelectorAll(".brands .brand"))
      other.classList.toggle("other", brand !== null && other.firstElementChild?.getAttribute("href") !== `#mark-${brand}`);
    if (!code) return;
    use(code, length === 4 ? "code-front" : "code-back");
    found(HTMLElement, "#cvv-hint").textContent = length === 4 ? texts.cvvFront : texts.cvvBack;
    code.placeholder = length === 4 ? "1234" : "123";
  }

  /** A name keeps the letters that it was written in. */
  function makePlain(field: HTMLInputElement): void {
    const text = plain(field.value);
    if (field.id === "name" || text === field.value) return;
    const caret = plain(field.value.slice(0, field.selectionStart ?? field.value.length)).length;
    field.value = text;
    field.setSelectionRange(caret, caret);
  }

  function separate(field: HTMLInputElement, event: Event): void {
    const isDeletion = event instanceof InputEvent && event.inputType.startsWith("delete");
    if (field.selectionStart !== field.value.length || isDeletion) return;
    // Who types the slash that the card shows finds it there already.
    const [, month] = /^([0-9]{1,2})[\s/.-]+$/.exec(field.value) ?? [];
    if (month !== undefined) field.value = `${month} / `;
    else if (/^[0-9]{2}$/.test(field.value)) field.value = `${field.value} / `;
    else if (/^[2-9]$/.test(field.value)) field.value = `0${field.value} / `;
    // Put in whole, by a script or from the clipboard.
    else if (/^[0-9]{4}$/.test(field.value)) spread(field);
  }

  /** A whole expiry date as a typed one is written. */
  function spread(field: HTMLInputElement): void {
    const date = expiryOf(field.value);
    if (date) field.value = `${String(date.month).padStart(2, "0")} / ${String(date.year).slice(-2)}`;
  }

  function clear(): void {
    for (const field of fields) field.value = "";
    showBrand(ANY_BRAND);
  }

  function card(): object {
    const date = expiryOf(expiry.value);
    const value = (field: HTMLInputElement | null) => field?.value.trim();
    return {
      number: digitsOf(number.value),
      exp_month: String(date?.month ?? "").padStart(2, "0"),
      exp_year: String(date?.year ?? ""),
      cvv: value(code),
      cardholder_name: value(optional("name")),
      postal_code: value(optional("zip")),
    };
  }

  function work(isBusy: boolean): void {
    isSending = isBusy;
    submit.disabled = isBusy;
    submitText.textContent = isBusy ? texts.sending : submitWords;
    if (isBusy) form.setAttribute("aria-busy", "true");
    else form.removeAttribute("aria-busy");
  }

  function lock(isLocked: boolean): void {
    for (const field of fields) field.disabled = isLocked;
  }

  /** The form again, at what has to be done: a field's text is selected. */
  function ready(focus: HTMLInputElement | HTMLButtonElement): void {
    work(false);
    lock(false);
    focus.focus();
    if (focus instanceof HTMLInputElement) focus.select();
  }

  /** The end: the form goes, and what was typed with it. `paid`: brand and last four, where the answer said them. */
  function finish(status: string, paid: Answer | null = null): void {
    clear();
    window.removeEventListener("pagehide", clear);
    form.remove();
    const success: Readonly<Record<string, string>> = {
      "payment-success": mode === "tokenize" ? texts.stored : texts.paid,
      "payment-authorized": texts.authorized,
    };
    const others: Readonly<Record<string, string>> = {
      expired: texts.expiredSession,
      abandoned: texts.expiredSession,
      cancelled: texts.cancelled,
    };
    const failed = mode === "tokenize" ? texts.failedStore : texts.failed;
    const facts: Fact[] = [[texts.reference, sessionId]];
    if (paid)
      facts.unshift([texts.card, fill(texts.ending, { brand: brandNames[paid.card_brand] ?? paid.card_brand, last4: paid.card_last4 })]);
    const text = success[status];
    if (text !== undefined) {
      showEnd(text, "good", facts);
      remembered.keep({ status, text, facts, nonce });
    } else {
      const isFailure = status === "payment-failed";
      const said = isFailure && message.dataset["kind"] === "bad" ? message.textContent : "";
      showEnd(said || (others[status] ?? (isFailure ? failed : texts.over)), isFailure ? "bad" : "over");
    }
    message.focus();
    tell(status);
  }

  function finishAs(response: Response): void {
    const { status, reason } = resultOf(response);
    if (reason !== undefined) say(declines[reason] ?? "", "bad");
    finish(isPaid(status) || isUnpaid(status) ? status : "over", elsewhere);
  }

  const readSession = () => fetch(api, { headers: { "x-widget-nonce": nonce }, cache: "no-store" });

  /** Of a form that was left open: an end that came meanwhile is told before a card is typed for nothing. */
  async function seeEnd(): Promise<void> {
    const response = await readSession().catch(() => null);
    // A try that has begun since is answered with it.
    if (response?.status === 410 && form.isConnected && !isSending) finishAs(response);
  }

  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  /** After an answer that was lost or says that a payment is under way: looks until it is known what became of it. */
  async function look(): Promise<void> {
    for (;;) {
      let response: Response | null = null;
      try {
        response = await readSession();
      } catch {
        // "bad" would stand as the reason of a payment that turns out to have failed.
        say(texts.unreachable, "wait");
      }
      if (response?.status === 410) return finishAs(response);
      if (response?.status === 404) return finish("over");
      if (response?.ok) {
        const session = (await response.json()) as { processing: boolean; attempts_left: number };
        if (!session.processing) {
          nonce = response.headers.get("x-widget-nonce") ?? nonce;
          say(fill(texts.again, { count: session.attempts_left }), "bad");
          return ready(number);
        }
        say(texts.checking, "wait");
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  function showFaults(items: readonly { loc: readonly (string | number)[] }[]): HTMLInputElement | null {
    const places: Readonly<Record<string, FieldId>> = {
      number: "number",
      exp_month: "expiry",
      exp_year: "expiry",
      cvv: "cvv",
      postal_code: "zip",
      cardholder_name: "name",
    };
    let first: HTMLInputElement | null = null;
    for (const { loc } of items) {
      const place = places[loc.at(-1) ?? ""];
      const field = place === undefined ? null : optional(place);
      if (field === null) continue;
      // A number that is one was refused for its brand.
      const isBrand = field === number && accepted.length > 0 && checks.number(field.value);
      mark(field, isBrand ? texts.brandWrong : wordsFor(field));
      first ??= field;
    }
    return first;
  }

  const declineWords = ({ detail, error }: Answer) => declines[error.code] ?? declines["card_declined"] ?? detail;

  /** The shopper may try again: the field that the refusal is about is marked and has the focus. */
  function showDecline(answer: Answer): void {
    const { error } = answer;
    const words = declineWords(answer);
    const field = optional(fixes[error.code] ?? "number") ?? number;
    // A mistake is marked where it can be mended; a card that was refused as it is has none.
    const isMistake = field !== number || error.code === "incorrect_number";
    if (isMistake) mark(field, words);
    say(`${words} ${fill(isMistake ? texts.correct : texts.anotherCard, { count: answer.attempts_left })}`, "bad");
    emit("error", { code: error.code, message: error.message });
    ready(field);
  }

  async function send(): Promise<void> {
    const response = await fetch(`${api}/charge`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-widget-nonce": nonce },
      body: JSON.stringify({ card: card() }),
      cache: "no-store",
    });
    nonce = response.headers.get("x-widget-nonce") ?? nonce;
    const answer = (await response.json()) as Answer;
    if (response.status === 200) {
      tabs?.postMessage(answer);
      return finish(answer.status, answer);
    }
    if (response.status === 410) return finishAs(response);
    if (response.status === 402) {
      if (code) code.value = "";
      if (answer.retryable) return showDecline(answer);
      say(declineWords(answer), "bad");
      return finish("payment-failed");
    }
    if (response.status === 422 && Array.isArray(answer.detail) && response.headers.has("x-widget-nonce")) {
      say("");
      return ready(showFaults(answer.detail) ?? number);
    }
    if (response.status === 429) {
      const seconds = Number(response.headers.get("retry-after") ?? 60);
      say(seconds === 1 ? texts.waitOne : fill(texts.wait, { seconds }), "bad");
      await pause(seconds * 1000);
      say("");
      return ready(submit);
    }
    // In progress, a used nonce, a fault of the service: the session itself says what became of it.
    return look();
  }

  async function pay(): Promise<void> {
    const wrong = fields.filter((field) => !check(field));
    if (wrong[0]) return wrong[0].focus();
    work(true);
    say("");
    emit("submit", {});
    tell("COLLECTING");
    const late = setTimeout(() => say(texts.checking, "wait"), CHECKING_AFTER_MS);
    try {
      const sent = send();
      lock(true);
      await sent;
    } catch {
      clearTimeout(late);
      await look();
    } finally {
      clearTimeout(late);
    }
  }

  const isComplete = () => fields.every(isGood);
  const told = (field: HTMLInputElement) =>
    emit("change", {
      field: field.id as FieldId,
      empty: field.value === "",
      complete: isGood(field),
      form_complete: isComplete(),
      brand: brandOf(digitsOf(number.value)).brand,
    });

  tabs?.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
    elsewhere = data;
    // A try that is under way is answered that the session is over.
    if (!isSending) finish(data.status, data);
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && form.isConnected && !isSending) void seeEnd();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isSending) void pay();
  });
  for (const field of fields) {
    const typed = (event: Event) => {
      // What an input method is still at is not to be touched: its end is an event of its own.
      if (event instanceof InputEvent && event.isComposing) return;
      makePlain(field);
      if (field === number) {
        showBrand(brandOf(digitsOf(number.value)));
        // While a number is corrected in its middle the caret stays where it is.
        if (number.selectionStart === number.value.length) group(number);
      } else if (field === expiry) separate(expiry, event);
      // A mended field loses its mark while it is typed in: at its blur the button would slip away from under the click.
      if (field.getAttribute("aria-invalid") === "true" && isGood(field)) mark(field, "");
      told(field);
    };
    field.addEventListener("input", typed);
    field.addEventListener("compositionend", typed);
    field.addEventListener("blur", () => {
      if (field === number) group(number);
      else if (field === expiry) spread(expiry);
      if (field.value !== "") check(field);
    });
  }
  // On a slow connection a field is typed in before this script is there.
  for (const field of fields) if (field.value !== "") field.dispatchEvent(new Event("input"));
  // Browsers keep what was typed, on disk too, and show it to whoever comes back to the page.
  window.addEventListener("pagehide", clear);
  if (main.dataset["processing"] === undefined) return work(false);
  // Of a page that was loaded again meanwhile, or in another tab.
  work(true);
  lock(true);
  say(texts.checking, "wait");
  void look();
}

dress();
if (form !== null) takeCards(form);
else if (sessionId !== "") void recall();
if (isFramed) {
  new ResizeObserver(() => emit("resize", { height: Math.ceil(document.documentElement.getBoundingClientRect().height) })).observe(
    document.body,
  );
  emit("ready", {});
}
if (initialStatus !== undefined) tell(initialStatus);
