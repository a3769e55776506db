const WRITTEN = /^https?:\/\/[A-Za-z0-9.[\]:-]+$/;

/** Whether it is the origin of a page as browsers write it, and can stand in a policy's `frame-ancestors` as it is. */
export function isOrigin(text: string): boolean {
  return WRITTEN.test(text) && URL.parse(text)?.origin === text;
}
