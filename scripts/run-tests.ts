import { run } from "node:test";
import { spec } from "node:test/reporters";

/**
 * What `node --test` does, but for the order: that sorts the files by name, in whatever order they are given. Here the first that is
 * given begins first. The one argument is JSON of `RunOptions`.
 */
export interface RunOptions {
  files: string[];
  /** How many files at a time. */
  concurrency?: number;
  /** Of each test, in milliseconds. */
  timeout?: number;
  forceExit?: boolean;
  globalSetupPath?: string;
  /** Options of Node.js for the process of each file. */
  execArgv?: string[];
}

process.exitCode = 1;
run(JSON.parse(process.argv[2] ?? "") as RunOptions)
  // There is one of each file too.
  .on("test:summary", ({ file, success }) => {
    if (file === undefined && success) process.exitCode = 0;
  })
  .compose(spec)
  .pipe(process.stdout);
