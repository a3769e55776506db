/**
 * A vendor's answer in application/x-www-form-urlencoded, read tolerantly (values may stand there unencoded) but never
 * ambiguously: valid UTF-8, only printable text, no key twice. Null for anything else, HTML above all.
 */
export function readForm(body: Uint8Array): ReadonlyMap<string, string> | null {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body).trim();
  } catch {
    return null;
  }
  if (text === "" || /[\p{Cc}<>]/u.test(text)) return null;
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) return null;
    fields.set(name, value);
  }
  return fields;
}
