import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

/** For a test's `skip`: false where there is a Chromium, else what to say. */
export const withoutChromium = found ? false : "no Chromium here: apt-get install chromium";

export async function openChromium(): Promise<Browser> {
  // Chromium's own sandbox does not start as root, as in most containers.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ args, ...(found && { executablePath: found }) });
}
