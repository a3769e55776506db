import { errorCode } from "#src/kernel/errors.ts";

/** SQLSTATE of a write that found no space on the disk. */
const DISK_FULL = "53100";
/** Needs new pages on the disk, as a new session does in the end; what is changed in place may succeed on a full one. */
const PROBE = "create temp table space_probe on commit drop as select repeat('x', 1000) as filler from generate_series(1, 64)";

const isDiskFull = (error: unknown) => errorCode(error) === DISK_FULL;

/** Whether a database that has refused a write for want of space takes such writes again. One that has refused none is asked nothing. */
export class DiskSpace {
  #isShort = false;

  /** To be told of each error that the database answers with. */
  onError(error: unknown): void {
    if (isDiskFull(error)) this.#isShort = true;
  }

  /** Rejects while there is no space. `run` runs one statement in a transaction of its own. */
  async check(run: (sql: string) => Promise<unknown>): Promise<void> {
    if (!this.#isShort) return;
    // Any other fault, such as no right to make temporary tables, says nothing of the disk.
    await run(PROBE).catch((error: unknown) => {
      if (isDiskFull(error)) throw error;
    });
    this.#isShort = false;
  }
}
