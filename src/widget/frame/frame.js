// The frame's script, as the browser runs it. It sends the card to its own origin and nowhere else, tells the embedding page
// nothing of the card (R-370), and never offers another try while the outcome of one is unknown.

const CHECKING_AFTER_MS = 8000;
const LOOK_EVERY_MS = 2000;
const FINAL = ["payment-success", "payment-authorized", "payment-failed", "expired", "cancelled", "abandoned"];
const PAID = ["payment-success", "payment-authorized"];

/** Beginnings of card numbers by brand, as the brands publish them, and what differs from card to card. */
const BRANDS = [
  ["amex", /^3[47]/, { groups: [4, 6, 9], code: 4 }],
  ["diners", /^3(0[0-5]|[689])/, { groups: [4, 6, 9], code: 3 }],
  ["jcb", /^35(2[89]|[3-8])/, {}],
  ["visa", /^4/, { code: 3 }],
  ["mastercard", /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, { code: 3 }],
  ["discover", /^(6011|64[4-9]|65)/, { code: 3 }],
  ["unionpay", /^62/, {}],
];
const ANY_BRAND = { brand: null, groups: [4, 4, 4, 7], code: null };

const main = document.querySelector("main");
const { sessionid: sessionId, api, mode, status: initialStatus, origins = "", variables = "{}" } = main.dataset;
const message = document.querySelector("#message");
const form = document.querySelector("#form");
const allowed = origins.split(" ").filter((origin) => origin !== "");
const isFramed = window.parent !== window;

/** The channel to the loader on the embedding page, once it has connected; before that its events wait. */
let port = null;
const unsent = [];

/** An event for the loader. Nothing of a card is ever in one. */
function emit(type, detail = {}) {
  if (!isFramed) return;
  if (port) port.postMessage({ v: 1, type, ...detail });
  else unsent.push([type, detail]);
}

// Only a page of the project's origins may connect; an event says who sent it.
window.addEventListener("message", ({ source, origin, data, ports }) => {
  if (port !== null || source !== window.parent || !allowed.includes(origin) || data?.type !== "voicetill:connect" || !ports[0]) return;
  [port] = ports;
  for (const [type, detail] of unsent.splice(0)) emit(type, detail);
});

/** The status, also for pages without the loader: to their own origin alone. */
function tell(status) {
  if (!isFramed || sessionId === undefined) return;
  // Where the browser says who embeds the page, only that origin is addressed; it is one of these, or nothing is sent.
  const parents = window.location.ancestorOrigins ? [window.location.ancestorOrigins[0]] : allowed;
  for (const origin of parents) if (allowed.includes(origin)) window.parent.postMessage({ session_id: sessionId, status }, origin);
  if (PAID.includes(status)) emit("success", { session_id: sessionId, status });
  else if (FINAL.includes(status)) emit("error", { session_id: sessionId, status, code: status });
}

function dress() {
  for (const [name, value] of Object.entries(JSON.parse(variables))) {
    const property = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (/^[\w#%.,()\s"'+-]*$/.test(value) && !/url\s*\(/i.test(value)) document.documentElement.style.setProperty(property, value);
  }
}

/** What is kept of a payment for the browser that made it, for a reload: no card data but brand and last four. */
const remembered = {
  key: `voicetill ${sessionId}`,
  // A browser may forbid storage in frames: then a reload says only that the payment is over.
  keep(record) {
    try {
      window.sessionStorage.setItem(this.key, JSON.stringify(record));
    } catch {}
  },
  read() {
    try {
      return JSON.parse(window.sessionStorage.getItem(this.key));
    } catch {
      return null;
    }
  },
};

const SVG = "http://www.w3.org/2000/svg";

function picture(id, className) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "use"));
  svg.firstChild.setAttribute("href", `#${id}`);
  return svg;
}

/** The end: a tick or a cross, the words, and the facts that a shopper may want to keep. */
function showEnd(text, isGood, facts = []) {
  message.textContent = text;
  message.dataset.kind = isGood ? "good" : "bad";
  message.before(picture(isGood ? "tick" : "cross", `seal ${message.dataset.kind}`));
  main.classList.add("ended");
  if (facts.length > 0) {
    const list = document.createElement("dl");
    for (const [name, value] of facts) {
      const [term, fact] = [document.createElement("dt"), document.createElement("dd")];
      [term.textContent, fact.textContent] = [name, value];
      list.append(term, fact);
    }
    message.after(list);
  }
}

/** A page of a session that is over: for the browser that paid, what it saw then; the service is asked whether that is so. */
async function recall() {
  const record = remembered.read();
  if (record === null) return;
  try {
    const response = await fetch(api, { headers: { "x-widget-nonce": record.nonce }, cache: "no-store" });
    const [status] = (response.headers.get("x-widget-result") ?? "").split(";");
    if (response.status === 410 && PAID.includes(status) && status === record.status) showEnd(record.text, true, record.facts);
  } catch {
    // The page says that the payment is over, which is true.
  }
}

function takeCards() {
  const texts = JSON.parse(main.dataset.texts);
  const declines = JSON.parse(main.dataset.declines);
  const fixes = JSON.parse(main.dataset.fixes);
  const brandNames = JSON.parse(main.dataset.brands);
  const submit = document.querySelector("#submit");
  const submitText = document.querySelector("#submit-text");
  const submitWords = submitText.textContent;
  const meta = document.querySelector('meta[name="widget-nonce"]');
  const input = (id) => document.getElementById(id);
  const fields = [...document.querySelectorAll("input")];
  let nonce = meta.content;
  let isSending = false;

  const fill = (text, values) => text.replace(/\{([a-z0-9]+)\}/g, (whole, key) => values[key] ?? whole);
  const say = (text, kind = "") => {
    message.textContent = text;
    message.dataset.kind = kind;
  };
  const digitsOf = (text) => text.replace(/[^0-9]/g, "");
  const brandOf = (digits) => {
    const [brand, , rules] = BRANDS.find(([, beginning]) => beginning.test(digits)) ?? [];
    return { ...ANY_BRAND, ...rules, brand: brand ?? null };
  };

  function passesLuhn(digits) {
    let sum = 0;
    for (let index = 1; index <= digits.length; index++) {
      const digit = Number(digits[digits.length - index]);
      const doubled = index % 2 === 0 ? digit * 2 : digit;
      sum += doubled > 9 ? doubled - 9 : doubled;
    }
    return digits.length >= 12 && digits.length <= 19 && sum % 10 === 0;
  }

  /** Month and year as typed or as a browser fills them in: 4/30, 04 / 2030, 0430. */
  function expiryOf(text) {
    const parts = /^\s*([0-9]{1,2})\s*[/.\- ]\s*([0-9]{2}|[0-9]{4})\s*$/.exec(text) ?? /^\s*([0-9]{2})([0-9]{2}|[0-9]{4})\s*$/.exec(text);
    if (!parts) return null;
    const [month, year] = [Number(parts[1]), Number(parts[2]) % 100];
    return month >= 1 && month <= 12 ? { month, year: 2000 + year } : null;
  }

  function isCode(text) {
    const { code } = brandOf(digitsOf(input("number").value));
    const length = text.trim().length;
    return /^[0-9]{3,4}$/.test(text.trim()) && (code === null || length === code);
  }

  const isOver = ({ month, year }) => new Date(year, month, 2) < new Date();
  const checks = {
    number: (text) => passesLuhn(digitsOf(text)),
    expiry: (text) => expiryOf(text) !== null,
    cvv: isCode,
    zip: (text) => text.trim() !== "",
    name: (text) => text.trim() !== "",
  };

  function mark(field, text) {
    field.setAttribute("aria-invalid", String(text !== ""));
    document.getElementById(`${field.id}-error`).textContent = text;
  }

  const isGood = ({ id, value }) => checks[id](value) && !(id === "expiry" && isOver(expiryOf(value)));

  function check(field) {
    const error = document.getElementById(`${field.id}-error`);
    if (!checks[field.id](field.value)) mark(field, error.dataset.wrong);
    else if (field.id === "expiry" && isOver(expiryOf(field.value))) mark(field, texts.expired);
    else mark(field, "");
    return error.textContent === "";
  }

  /** Groups as on the card; only at the end of what is typed, so that the caret never jumps. */
  function group(field) {
    const digits = digitsOf(field.value).slice(0, 19);
    showBrand(brandOf(digits));
    if (field.selectionStart !== field.value.length) return;
    const sizes = brandOf(digits).groups;
    const groups = [];
    for (let at = 0, next = 0; at < digits.length; at += sizes[next++]) groups.push(digits.slice(at, at + sizes[next]));
    field.value = groups.join(" ");
  }

  /** The brand's mark in the number's field, and where its security code stands. */
  function showBrand({ brand, code }) {
    const use = (field, id) => input(field)?.parentElement.querySelector("use").setAttribute("href", `#${id}`);
    use("number", `mark-${brand ?? "plain"}`);
    for (const other of document.querySelectorAll(".brands .brand"))
      other.classList.toggle("other", brand !== null && other.firstChild.getAttribute("href") !== `#mark-${brand}`);
    if (!input("cvv")) return;
    use("cvv", code === 4 ? "code-front" : "code-back");
    document.querySelector("#cvv-hint").textContent = code === 4 ? texts.cvvFront : texts.cvvBack;
    input("cvv").placeholder = code === 4 ? "1234" : "123";
  }

  function separate(field, event) {
    if (field.selectionStart !== field.value.length || event.inputType?.startsWith("delete")) return;
    if (/^[0-9]{2}$/.test(field.value)) field.value = `${field.value} / `;
    else if (/^[2-9]$/.test(field.value)) field.value = `0${field.value} / `;
  }

  function card() {
    const { month, year } = expiryOf(input("expiry").value);
    const value = (id) => (input(id) === null ? undefined : input(id).value.trim());
    return {
      number: digitsOf(input("number").value),
      exp_month: String(month).padStart(2, "0"),
      exp_year: String(year),
      cvv: value("cvv"),
      cardholder_name: value("name"),
      postal_code: value("zip"),
    };
  }

  function work(isBusy) {
    isSending = isBusy;
    submit.disabled = isBusy;
    submitText.textContent = isBusy ? texts.sending : submitWords;
    if (isBusy) form.setAttribute("aria-busy", "true");
    else form.removeAttribute("aria-busy");
  }

  function ready(focus) {
    work(false);
    for (const field of fields) field.disabled = false;
    focus?.focus();
    focus?.select();
  }

  /** The end: the form goes, and what was typed with it. `paid`: brand and last four, where the answer said them. */
  function finish(status, paid = null) {
    for (const field of fields) field.value = "";
    form.remove();
    const success = { "payment-success": mode === "tokenize" ? texts.stored : texts.paid, "payment-authorized": texts.authorized };
    const others = { expired: texts.expiredSession, abandoned: texts.expiredSession, cancelled: texts.cancelled };
    const failed = mode === "tokenize" ? texts.failedStore : texts.failed;
    const facts = [[texts.reference, sessionId]];
    if (paid)
      facts.unshift([texts.card, fill(texts.ending, { brand: brandNames[paid.card_brand] ?? paid.card_brand, last4: paid.card_last4 })]);
    if (success[status]) {
      const text = success[status];
      showEnd(text, true, facts);
      remembered.keep({ status, text, facts, nonce });
    } else {
      const said = status === "payment-failed" && message.dataset.kind === "bad" ? message.textContent : "";
      showEnd(said || (others[status] ?? (status === "payment-failed" ? failed : texts.over)), false);
    }
    message.focus();
    tell(status);
  }

  /** What the service says of an ended session, in the header that only a page of this session is given. */
  function finishAs(response) {
    const status = (response.headers.get("x-widget-result") ?? "").split(";")[0];
    finish(FINAL.includes(status) ? status : "over");
  }

  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /** After an answer that was lost or says that a payment is under way: looks until it is known what became of it. */
  async function look() {
    for (;;) {
      let response = null;
      try {
        response = await fetch(api, { headers: { "x-widget-nonce": nonce }, cache: "no-store" });
      } catch {
        say(texts.unreachable, "bad");
      }
      if (response?.status === 410) return finishAs(response);
      if (response?.status === 404) return finish("over");
      if (response?.ok) {
        const session = await response.json();
        if (!session.processing) {
          nonce = response.headers.get("x-widget-nonce") ?? nonce;
          say(fill(texts.again, { count: session.attempts_left }), "bad");
          return ready(input("number"));
        }
        say(texts.checking);
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  function showFaults(items) {
    const places = { number: "number", exp_month: "expiry", exp_year: "expiry", cvv: "cvv", postal_code: "zip", cardholder_name: "name" };
    let first = null;
    for (const { loc } of items) {
      const field = input(places[loc.at(-1)] ?? "");
      if (field === null) continue;
      mark(field, document.getElementById(`${field.id}-error`).dataset.wrong);
      first ??= field;
    }
    return first;
  }

  /** The shopper may try again: the field that the refusal is about is marked and has the focus. */
  function showDecline({ error, detail, attempts_left: count }) {
    const words = declines === null ? detail : (declines[error.code] ?? declines.card_declined);
    const field = input(fixes[error.code] ?? "number") ?? input("number");
    say(`${words} ${fill(texts.attempts, { count })}`, "bad");
    if (field.id !== "number") mark(field, words);
    emit("error", { code: error.code, message: error.message });
    ready(field);
  }

  async function send() {
    const response = await fetch(`${api}/charge`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-widget-nonce": nonce },
      body: JSON.stringify({ card: card() }),
      cache: "no-store",
    });
    nonce = response.headers.get("x-widget-nonce") ?? nonce;
    const answer = await response.json();
    if (response.status === 200) return finish(answer.status, answer);
    if (response.status === 410) return finishAs(response);
    if (response.status === 402) {
      if (input("cvv")) input("cvv").value = "";
      if (answer.retryable) return showDecline(answer);
      say(declines === null ? answer.detail : (declines[answer.error.code] ?? declines.card_declined), "bad");
      return finish("payment-failed");
    }
    if (response.status === 422 && Array.isArray(answer.detail) && response.headers.has("x-widget-nonce")) {
      say("");
      return ready(showFaults(answer.detail) ?? input("number"));
    }
    if (response.status === 429) {
      const seconds = Number(response.headers.get("retry-after") ?? 60);
      say(fill(texts.wait, { seconds }), "bad");
      await pause(seconds * 1000);
      say("");
      return ready(null);
    }
    // In progress, a used nonce, a fault of the service: the session itself says what became of it.
    return look();
  }

  async function pay() {
    const wrong = fields.filter((field) => !check(field));
    if (wrong.length > 0) return wrong[0].focus();
    work(true);
    say("");
    emit("submit");
    tell("COLLECTING");
    const late = setTimeout(() => say(texts.checking), CHECKING_AFTER_MS);
    try {
      const sent = send();
      for (const field of fields) field.disabled = true;
      await sent;
    } catch {
      clearTimeout(late);
      await look();
    } finally {
      clearTimeout(late);
    }
  }

  const isComplete = () => fields.every(isGood);
  const told = ({ id, value }) =>
    emit("change", {
      field: id,
      empty: value === "",
      complete: isGood({ id, value }),
      form_complete: isComplete(),
      brand: brandOf(digitsOf(input("number").value)).brand,
    });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isSending) void pay();
  });
  input("number").addEventListener("input", (event) => group(event.target));
  input("expiry").addEventListener("input", (event) => separate(event.target, event));
  for (const field of fields) {
    field.addEventListener("blur", () => field.value !== "" && check(field));
    // A mended field loses its mark while it is typed in: at its blur the button would slip away from under the click.
    field.addEventListener("input", () => {
      if (field.getAttribute("aria-invalid") === "true" && isGood(field)) mark(field, "");
      told(field);
    });
  }
  submit.disabled = false;
}

dress();
if (form !== null) takeCards();
else if (sessionId !== undefined) void recall();
if (isFramed) {
  new ResizeObserver(() => emit("resize", { height: Math.ceil(document.documentElement.getBoundingClientRect().height) })).observe(
    document.body,
  );
  emit("ready");
}
if (initialStatus !== undefined) tell(initialStatus);
