/** Pictures of the frame, drawn here: card brands, a lock, a tick. Inline SVG, so that the page asks for nothing (S-12). */

/** Sets a mark off from a background of its own colour. */
const RIM = '<rect x=".5" y=".5" width="35" height="23" rx="3.5" fill="none" stroke="#8a929b" stroke-opacity=".5"/>';
const card = (fill: string, content: string) => `<rect width="36" height="24" rx="4" fill="${fill}"/>${content}${RIM}`;
const word = (text: string, size: number, fill: string, style = "") =>
  `<text x="18" y="16" text-anchor="middle" font-family="Arial,Helvetica,sans-serif" font-weight="700" font-size="${size}" fill="${fill}"${style}>${text}</text>`;

/** What a brand is called, and its mark in a box of 36 by 24. */
export const BRANDS = {
  visa: { name: "Visa", mark: card("#1a1f71", word("VISA", 11, "#fff", ' transform="skewX(-10) translate(2.5 0)"')) },
  mastercard: {
    name: "Mastercard",
    mark: card(
      "#252525",
      '<circle cx="14" cy="12" r="7" fill="#eb001b"/><circle cx="22" cy="12" r="7" fill="#f79e1b"/><path d="M18 6.3a7 7 0 0 1 0 11.4 7 7 0 0 1 0-11.4z" fill="#ff5f00"/>',
    ),
  },
  amex: { name: "American Express", mark: card("#006fcf", word("AMEX", 9, "#fff")) },
  discover: {
    name: "Discover",
    mark: card("#ffffff", `${word("DISC", 9, "#231f20")}<path d="M12 24h20a4 4 0 0 0 4-4v-7q-10 8-24 11z" fill="#f47216"/>`),
  },
  diners: {
    name: "Diners Club",
    mark: card("#0079be", '<circle cx="18" cy="12" r="8" fill="#fff"/><path d="M15 6.5v11M21 6.5v11" stroke="#0079be" stroke-width="2"/>'),
  },
  jcb: { name: "JCB", mark: card("#0b4ea2", word("JCB", 11, "#fff")) },
  unionpay: { name: "UnionPay", mark: card("#00447c", word("UnionPay", 7, "#fff")) },
} as const;

export type Brand = keyof typeof BRANDS;

/** Shown above the form where a project accepts whatever its gateway takes. */
const USUAL_BRANDS: readonly Brand[] = ["visa", "mastercard", "amex", "discover"];

/** The marks above the form: of the brands that the project accepts, as far as they are drawn here. */
export const shownBrands = (accepted: readonly string[]): readonly Brand[] =>
  accepted.length === 0 ? USUAL_BRANDS : (Object.keys(BRANDS) as Brand[]).filter((brand) => accepted.includes(brand));

const symbol = (id: string, box: string, content: string) => `<symbol id="${id}" viewBox="0 0 ${box}">${content}</symbol>`;

const LOCK =
  '<path d="M4.5 7V5a3.5 3.5 0 0 1 7 0v2h.5a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1zm1.5 0h4V5a2 2 0 0 0-4 0z" fill="currentColor"/>';
const TICK =
  '<circle cx="24" cy="24" r="23" fill="currentColor"/><path class="tick" d="M14 25l7 7 14-15" fill="none" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/>';
const CROSS =
  '<circle cx="24" cy="24" r="23" fill="currentColor"/><path class="tick" d="M16 16l16 16M32 16L16 32" fill="none" stroke-width="4" stroke-linecap="round"/>';
const CLOCK =
  '<circle cx="24" cy="24" r="23" fill="currentColor"/><path class="tick" d="M24 12v13l8 5" fill="none" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/>';
const PLAIN =
  '<rect x="1" y="1" width="34" height="22" rx="3" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M1 8h34" stroke="currentColor" stroke-width="3"/>';
const BACK = `${PLAIN}<rect x="20" y="12.5" width="12" height="7" rx="3.5" fill="none" stroke="#c2410c" stroke-width="1.5"/><path d="M23 16h6" stroke="currentColor" stroke-width="2" stroke-dasharray="1.5 1"/>`;
const FRONT =
  '<rect x="1" y="1" width="34" height="22" rx="3" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M5 17h12" stroke="currentColor" stroke-width="2"/><rect x="20" y="5" width="13" height="7" rx="3.5" fill="none" stroke="#c2410c" stroke-width="1.5"/><path d="M22.5 8.5h8" stroke="currentColor" stroke-width="2" stroke-dasharray="1.5 .7"/>';

/** All of them once; the page uses them by `picture`. */
export const SPRITE = `<svg width="0" height="0" aria-hidden="true" focusable="false" class="hidden">${[
  ...Object.entries(BRANDS).map(([brand, { mark }]) => symbol(`mark-${brand}`, "36 24", mark)),
  symbol("mark-plain", "36 24", PLAIN),
  symbol("code-back", "36 24", BACK),
  symbol("code-front", "36 24", FRONT),
  symbol("lock", "16 16", LOCK),
  symbol("tick", "48 48", TICK),
  symbol("cross", "48 48", CROSS),
  symbol("clock", "48 48", CLOCK),
].join("")}</svg>`;

/** A picture of the sprite; without words it is an ornament. */
export function picture(id: string, className: string, words?: string): string {
  const role = words === undefined ? 'aria-hidden="true" focusable="false"' : `role="img" aria-label="${words}"`;
  return `<svg class="${className}" ${role}><use href="#${id}"/></svg>`;
}
