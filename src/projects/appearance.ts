/**
 * The variables of a widget's appearance: which there are, what they may be, and whether its words can be read. A value goes into
 * a style on the page where cards are typed, so it is one of a few forms and never an address or a function.
 */

const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i;
const LENGTH = /^(?:0|[0-9]{1,3}(?:\.[0-9]{1,2})?(?:px|rem|em))$/;
const FONTS =
  /^(?:[A-Za-z][A-Za-z0-9 -]{0,40}|"[A-Za-z][A-Za-z0-9 -]{0,40}")(?:, ?(?:[A-Za-z][A-Za-z0-9 -]{0,40}|"[A-Za-z][A-Za-z0-9 -]{0,40}"))*$/;

/** What each may be. */
export const VARIABLE_FORMS: Readonly<Record<string, readonly [form: RegExp, words: string]>> = {
  colorPrimary: [COLOR, "a colour such as #0a6b4f"],
  colorBackground: [COLOR, "a colour such as #ffffff"],
  colorText: [COLOR, "a colour such as #1b1f24"],
  colorDanger: [COLOR, "a colour such as #b3261e"],
  colorBorder: [COLOR, "a colour such as #767e87"],
  fontFamily: [FONTS, "fonts such as Inter, system-ui, sans-serif"],
  borderRadius: [LENGTH, "a length such as 8px"],
  spacingUnit: [LENGTH, "a length such as 4px"],
};

export const VARIABLE_NAMES = Object.keys(VARIABLE_FORMS);

type Theme = "light" | "dark";
type Variables = Readonly<Record<string, string>>;

/** The frame's own colours, as its style has them (src/widget/frame/frame.css). */
const OWN: Readonly<Record<Theme, Readonly<Record<"colorBackground" | "colorText" | "colorDanger" | "colorBorder", string>>>> = {
  light: { colorBackground: "#ffffff", colorText: "#1b1f24", colorDanger: "#b3261e", colorBorder: "#767e87" },
  dark: { colorBackground: "#16191d", colorText: "#e9ecef", colorDanger: "#ff9d94", colorBorder: "#7f8891" },
};

/** WCAG 2.2, success criterion 1.4.3: words of ordinary size. */
const LEAST_CONTRAST = 4.5;
/** Success criterion 1.4.11: of what shows where a field is. */
const LEAST_BORDER = 3;
/** Of words which are still read as easily when they are muted, as the frame's style does it. */
const LEAST_TO_MUTE = 10.5;

const NEEDED = [
  ["colorText", LEAST_CONTRAST, "read"],
  ["colorDanger", LEAST_CONTRAST, "read"],
  ["colorBorder", LEAST_BORDER, "see"],
] as const;

/** Which words could not be read or borders not be seen, or null. */
export function contrastFault(variables: Variables, theme: Theme | "auto"): string | null {
  for (const { colorBackground, ...others } of colorsShown(variables, theme)) {
    for (const [name, least, why] of NEEDED) {
      const color = others[name];
      const ratio = contrast(color, colorBackground);
      if (ratio < least)
        return `${name} ${color} on ${colorBackground} has a contrast of ${ratio.toFixed(1)} to 1; ${least} are needed to ${why} it`;
    }
  }
  return null;
}

/** The theme that goes with the background, where the project has one of its own: it is the same on every device. */
export function shownTheme({ colorBackground }: Variables, theme: Theme | "auto"): Theme | "auto" {
  if (colorBackground === undefined || !COLOR.test(colorBackground)) return theme;
  return contrast(colorBackground, "#000000") > contrast(colorBackground, "#ffffff") ? "light" : "dark";
}

/** The colours of words and of what they stand on, in each theme in which they are shown. */
function colorsShown(variables: Variables, theme: Theme | "auto") {
  const shown = shownTheme(variables, theme);
  return (shown === "auto" ? [OWN.light, OWN.dark] : [OWN[shown]]).map((own) => ({ ...own, ...variables }));
}

/**
 * Those that the frame may use, and what follows from them: the colour of words on the primary one, white or black, whichever is read more
 * easily; and where words can just be read, none that are muted.
 */
export function frameVariables(variables: Variables): Record<string, string> {
  const usable = Object.fromEntries(Object.entries(variables).filter(([name, value]) => VARIABLE_FORMS[name]?.[0].test(value)));
  const { colorPrimary } = usable;
  const bearsMuted = colorsShown(usable, "auto").every(
    ({ colorText, colorBackground }) => contrast(colorText, colorBackground) >= LEAST_TO_MUTE,
  );
  return {
    ...usable,
    ...(!bearsMuted && { colorMuted: "var(--color-text)" }),
    ...(colorPrimary !== undefined && {
      colorOnPrimary: contrast("#ffffff", colorPrimary) >= LEAST_CONTRAST ? "#ffffff" : "#000000",
    }),
  };
}

/** From 1 to 21; WCAG 2.2, contrast ratio. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** WCAG 2.2, relative luminance of #rgb or #rrggbb. */
function luminance(color: string): number {
  const digits = color.slice(1);
  const pairs = digits.length === 3 ? Array.from(digits, (digit) => digit + digit) : (digits.match(/../g) ?? []);
  const [red = 0, green = 0, blue = 0] = pairs.map((pair) => {
    const share = parseInt(pair, 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
