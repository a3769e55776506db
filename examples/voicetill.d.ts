/**
 * Types of the loader (`/widget/v1/widget.js`), to be copied into a merchant's project: the global `Voicetill` and the element
 * `<voicetill-payment>`. In a page with React, copy voicetill-react.d.ts too. What each event means: docs/widget.md.
 */

/** What `event.detail` has, by the event's type. Nothing of a card is ever in it but its brand. */
interface VoicetillEventDetails {
  ready: Record<string, never>;
  change: {
    field: "number" | "expiry" | "cvv" | "zip" | "name";
    empty: boolean;
    /** Whether this field can be sent as it is. */
    complete: boolean;
    /** Whether every field can. */
    form_complete: boolean;
    /** As in webhooks: "visa", "mastercard"; null while it is not known. */
    brand: string | null;
  };
  submit: Record<string, never>;
  success: { session_id: string; status: "payment-success" | "payment-authorized" };
  /** With `message`: a decline after which the shopper may try again, or `not_loaded`. With `status`: the session ended without a payment. */
  error:
    | { code: string; message: string; session_id?: undefined; status?: undefined }
    | { session_id: string; status: VoicetillEndedStatus; code: VoicetillEndedStatus; message?: undefined };
  /** `height`: pixels. */
  resize: { height: number };
}
type VoicetillEndedStatus = "payment-failed" | "expired" | "cancelled" | "abandoned";

type VoicetillEvent<Type extends keyof VoicetillEventDetails> = CustomEvent<VoicetillEventDetails[Type]>;

interface VoicetillEvents extends EventTarget {
  addEventListener<Type extends keyof VoicetillEventDetails>(
    type: Type,
    listener: (event: VoicetillEvent<Type>) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions): void;
}

/** A form in a page, with the events of its payment. */
interface VoicetillMounted extends VoicetillEvents {
  frame: HTMLIFrameElement;
  /** Takes the form out of the page. The session stays as it is. */
  destroy(): void;
}

interface VoicetillOptions {
  sessionId: string;
  /** BCP 47; the page's own where it is left out. */
  language?: string | undefined;
  direction?: "ltr" | "rtl" | undefined;
  /** Of the frame, for screen readers: "Payment". */
  title?: string | undefined;
}

interface Voicetill {
  readonly version: 1;
  /** Shows the payment in `element` (or the first that the selector finds) in place of what it holds. Throws TypeError for what is no element or no session's id. */
  mount(element: Element | string, options: VoicetillOptions): VoicetillMounted;
}

declare var Voicetill: Voicetill;

/** `<voicetill-payment session-id="…">` */
type VoicetillPaymentElement = VoicetillEvents & HTMLElement;

/** Its attributes in JSX; a listener is `on` and the event's type. */
type VoicetillPaymentAttributes = {
  "session-id": string;
  language?: string | undefined;
  direction?: "ltr" | "rtl" | undefined;
  title?: string | undefined;
} & { [Type in keyof VoicetillEventDetails as `on${Type}`]?: ((event: VoicetillEvent<Type>) => void) | undefined };

interface HTMLElementTagNameMap {
  "voicetill-payment": VoicetillPaymentElement;
}
