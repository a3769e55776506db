/**
 * The loader: what a merchant's page includes. It puts the frame of one payment into the page, keeps it as high as its content and
 * passes the frame's events on. No card data comes near it. Its interface is typed in examples/voicetill.d.ts; it has no other global than Voicetill.
 */

(() => {
  const BASE = new URL((document.currentScript as HTMLScriptElement).src).href.replace(/\/widget\/[^/]+\/[^/]*$/, "");
  const { origin: ORIGIN } = new URL(BASE);
  const EVENTS: readonly (keyof VoicetillEventDetails)[] = ["ready", "change", "submit", "success", "error", "resize"];
  const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
  const FIRST_HEIGHT = 420;
  /** The form says that it is ready while its page is being loaded; a page that the browser shows in its place says nothing, ever. ms. */
  const SILENT_MS = 5000;

  /** What the frame sends. */
  type Told = { v: unknown; type: keyof VoicetillEventDetails } & Readonly<Record<string, unknown>>;

  const mount: Voicetill["mount"] = (element, { sessionId, language, direction, title = "Payment" }) => {
    const place = typeof element === "string" ? document.querySelector(element) : element;
    if (!(place instanceof Element)) throw new TypeError("Voicetill.mount: there is no such element");
    if (!UUID.test(sessionId)) throw new TypeError("Voicetill.mount: sessionId is not the id of a session");
    const events = new EventTarget() as VoicetillEvents;
    const frame = document.createElement("iframe");
    const address = new URL(`${BASE}/widget/${sessionId}`);
    const wishes = {
      lang: language ?? place.closest("[lang]")?.getAttribute("lang"),
      dir: direction ?? getComputedStyle(place).direction,
    };
    for (const [name, value] of Object.entries(wishes)) if (value) address.searchParams.set(name, value);
    frame.src = address.href;
    frame.title = title;
    frame.style.cssText = `border:0;width:100%;height:${FIRST_HEIGHT}px;display:block`;

    let port: MessagePort | null = null;
    let silence = 0;
    function connect(): void {
      clearTimeout(silence);
      silence = setTimeout(() => tell("error", { code: "not_loaded", message: "The payment form could not be loaded." }), SILENT_MS);
      port?.close();
      const channel = new MessageChannel();
      port = channel.port1;
      port.onmessage = ({ data }: MessageEvent<Told>) => receive(data);
      // To the service's origin alone: a page that has taken its place in the frame is not spoken to.
      frame.contentWindow?.postMessage({ type: "voicetill:connect", v: 1 }, ORIGIN, [channel.port2]);
    }
    function receive({ v, type, ...detail }: Told): void {
      if (v !== 1 || !EVENTS.includes(type)) return;
      clearTimeout(silence);
      if (type === "resize") frame.style.height = `${Number(detail["height"])}px`;
      tell(type, detail);
    }
    const tell = (type: keyof VoicetillEventDetails, detail: object) => events.dispatchEvent(new CustomEvent(type, { detail }));
    frame.addEventListener("load", connect);
    place.replaceChildren(frame);
    return Object.assign(events, {
      frame,
      destroy() {
        clearTimeout(silence);
        port?.close();
        frame.remove();
      },
    });
  };

  /** `<voicetill-payment session-id="...">`; its events are those of `mount`, on the element itself. */
  class PaymentElement extends HTMLElement {
    #mounted: VoicetillMounted | null = null;
    #shown: string | null = null;
    static observedAttributes = ["session-id"];
    connectedCallback(): void {
      this.#show();
    }
    disconnectedCallback(): void {
      this.#hide();
    }
    attributeChangedCallback(): void {
      if (this.isConnected) this.#show();
    }
    #hide(): void {
      this.#mounted?.destroy();
      this.#mounted = null;
      this.#shown = null;
    }
    #show(): void {
      const sessionId = this.getAttribute("session-id");
      // An element that was in the page before this script is told of its attribute and of its place, one after the other.
      if (sessionId === this.#shown) return;
      this.#hide();
      if (!sessionId) return;
      this.#shown = sessionId;
      const [language, direction, title] = ["language", "direction", "title"].map((name) => this.getAttribute(name) ?? undefined);
      this.style.display = "block";
      this.#mounted = mount(this, {
        sessionId,
        language,
        direction: direction === "rtl" || direction === "ltr" ? direction : undefined,
        title,
      });
      for (const type of EVENTS)
        this.#mounted.addEventListener(type, ({ detail }) => this.dispatchEvent(new CustomEvent(type, { detail })));
    }
  }

  globalThis.Voicetill = Object.freeze({ mount, version: 1 });
  if (!customElements.get("voicetill-payment")) customElements.define("voicetill-payment", PaymentElement);
})();
