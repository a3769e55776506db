/**
 * The picture above a project's card form. It comes as a `data:` address, so that the page with the card loads nothing from
 * anywhere. Raster pictures alone: an SVG can hold scripts and addresses.
 */

/** The first bytes of each form. */
const FORMS: Readonly<Record<string, RegExp>> = {
  "image/png": /^89504e470d0a1a0a/,
  "image/jpeg": /^ffd8ff/,
  "image/webp": /^52494646.{8}57454250/,
};
const LARGEST_BYTES = 48 * 1024;

/** What is wrong with it, in words, or null. */
export function logoFault(logo: string): string | null {
  const [, type = "", base64 = ""] = /^data:([a-z/+.-]+);base64,([A-Za-z0-9+/]+={0,2})$/.exec(logo) ?? [];
  const form = Object.hasOwn(FORMS, type) ? FORMS[type] : undefined;
  if (form === undefined) return `must be data:TYPE;base64,... with one of the types ${Object.keys(FORMS).join(", ")}`;
  const bytes = Buffer.from(base64, "base64");
  if (!form.test(bytes.subarray(0, 12).toString("hex"))) return `is not a picture of the type ${type}`;
  return bytes.length > LARGEST_BYTES ? `has ${bytes.length} bytes; ${LARGEST_BYTES} are the most` : null;
}
