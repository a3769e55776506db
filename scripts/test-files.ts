/**
 * Runs test files, each in a process of its own, in the order in which they are given: `node --test` sorts them by their names, so that a
 * long one may be left alone at the end. Ends with status 1 when a test failed.
 */
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string", default: "1" },
    /** Of each test, ms. */
    timeout: { type: "string" },
    /** A module whose `globalSetup` is awaited before the first file, and `globalTeardown` after the last. */
    setup: { type: "string" },
    "force-exit": { type: "boolean", default: false },
  },
});

interface Setup {
  globalSetup(): Promise<void>;
  globalTeardown?(): Promise<void>;
}
const setup = values.setup === undefined ? null : ((await import(join(process.cwd(), values.setup))) as Setup);
await setup?.globalSetup();
const tests = run({
  files,
  concurrency: Number(values.concurrency),
  forceExit: values["force-exit"],
  ...(values.timeout !== undefined && { timeout: Number(values.timeout) }),
});
tests.on("test:fail", () => (process.exitCode = 1));
const told = tests.compose(spec);
told.pipe(process.stdout);
await finished(told);
await setup?.globalTeardown?.();
