import { openTemplate } from "#src/platform/testing.ts";

/** Before the first of many files that open databases on PostgreSQL, and after the last. */

let drop: (() => Promise<void>) | null = null;

export async function globalSetup(): Promise<void> {
  const server = process.env["TEST_DATABASE_URL"];
  if (server) drop = await openTemplate(server);
}

export async function globalTeardown(): Promise<void> {
  await drop?.();
}
