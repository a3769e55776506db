// The frame's script, as the browser runs it. It sends the card to its own origin and nowhere else, tells the embedding page
// nothing but the session's status (R-370), and never offers another try while the outcome of one is unknown.

const CHECKING_AFTER_MS = 8000;
const LOOK_EVERY_MS = 2000;
const FINAL = ["payment-success", "payment-authorized", "payment-failed", "expired", "cancelled", "abandoned"];

const main = document.querySelector("main");
const { sessionid: sessionId, api, mode, status: initialStatus, origins = "", variables = "{}" } = main.dataset;
const message = document.querySelector("#message");
const form = document.querySelector("#form");

function tell(status) {
  if (window.parent === window || sessionId === undefined) return;
  const allowed = origins.split(" ").filter((origin) => origin !== "");
  // Where the browser says who embeds the page, only that origin is addressed; it is one of these, or nothing is sent.
  const parents = window.location.ancestorOrigins ? [window.location.ancestorOrigins[0]] : allowed;
  for (const origin of parents) if (allowed.includes(origin)) window.parent.postMessage({ session_id: sessionId, status }, origin);
}

function dress() {
  for (const [name, value] of Object.entries(JSON.parse(variables))) {
    const property = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (/^[\w#%.,()\s"'+-]*$/.test(value) && !/url\s*\(/i.test(value)) document.documentElement.style.setProperty(property, value);
  }
}

function takeCards() {
  const texts = JSON.parse(main.dataset.texts);
  const submit = document.querySelector("#submit");
  const meta = document.querySelector('meta[name="widget-nonce"]');
  const input = (id) => document.getElementById(id);
  const fields = ["number", "expiry", "cvv", "zip", "name"].map(input).filter((field) => field !== null);
  let nonce = meta.content;
  let isSending = false;

  const fill = (text, values) => text.replace(/\{([a-z]+)\}/g, (whole, key) => values[key] ?? whole);
  const say = (text, kind = "") => {
    message.textContent = text;
    message.dataset.kind = kind;
  };
  const digitsOf = (text) => text.replace(/[^0-9]/g, "");

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

  const isOver = ({ month, year }) => new Date(year, month, 2) < new Date();
  const checks = {
    number: (text) => passesLuhn(digitsOf(text)),
    expiry: (text) => expiryOf(text) !== null,
    cvv: (text) => /^[0-9]{3,4}$/.test(text.trim()),
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

  /** Groups of four, for American Express 4-6-5; only at the end of what is typed, so that the caret never jumps. */
  function group(field) {
    if (field.selectionStart !== field.value.length) return;
    const digits = digitsOf(field.value).slice(0, 19);
    const sizes = /^3[47]/.test(digits) ? [4, 6, 9] : [4, 4, 4, 7];
    const groups = [];
    for (let at = 0, next = 0; at < digits.length; at += sizes[next++]) groups.push(digits.slice(at, at + sizes[next]));
    field.value = groups.join(" ");
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

  function ready(focus) {
    isSending = false;
    submit.disabled = false;
    form.removeAttribute("aria-busy");
    for (const field of fields) field.disabled = false;
    focus?.focus();
  }

  /** The end: the form goes, and what was typed with it. */
  function finish(status) {
    for (const field of fields) field.value = "";
    form.remove();
    const success = { "payment-success": mode === "tokenize" ? texts.stored : texts.paid, "payment-authorized": texts.authorized };
    const others = { expired: texts.expiredSession, abandoned: texts.expiredSession, cancelled: texts.cancelled };
    const failed = mode === "tokenize" ? texts.failedStore : texts.failed;
    const text = success[status] ?? others[status] ?? (status === "payment-failed" ? failed : texts.over);
    say(status === "payment-failed" && message.textContent !== "" && message.dataset.kind === "bad" ? message.textContent : text);
    message.dataset.kind = success[status] ? "good" : "bad";
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

  async function send() {
    const response = await fetch(`${api}/charge`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-widget-nonce": nonce },
      body: JSON.stringify({ card: card() }),
      cache: "no-store",
    });
    nonce = response.headers.get("x-widget-nonce") ?? nonce;
    const answer = await response.json();
    if (response.status === 200) return finish(answer.status);
    if (response.status === 410) return finishAs(response);
    if (response.status === 402) {
      if (input("cvv")) input("cvv").value = "";
      if (!answer.retryable) {
        say(answer.detail, "bad");
        return finish("payment-failed");
      }
      say(`${answer.detail} ${fill(texts.attempts, { count: answer.attempts_left })}`, "bad");
      return ready(input("number"));
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
    isSending = true;
    submit.disabled = true;
    form.setAttribute("aria-busy", "true");
    say(texts.sending);
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

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isSending) void pay();
  });
  input("number").addEventListener("input", (event) => group(event.target));
  input("expiry").addEventListener("input", (event) => separate(event.target, event));
  for (const field of fields) {
    field.addEventListener("blur", () => field.value !== "" && check(field));
    // A mended field loses its mark while it is typed in: at its blur the button would slip away from under the click.
    field.addEventListener("input", () => field.getAttribute("aria-invalid") === "true" && isGood(field) && mark(field, ""));
  }
  submit.disabled = false;
}

dress();
if (form !== null) takeCards();
if (initialStatus !== undefined) tell(initialStatus);
