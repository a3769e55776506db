import { GIVEN_UP, REVERSAL } from "./workload.ts";
import { unreversed } from "./invariants.ts";
import type { Track } from "./track.ts";
import type { Vendors } from "./vendors.ts";

/** A search is given up at ten minutes: the run that is to die of it begins a little earlier, so that no other one is there then. */
const NEARLY_GIVEN_UP_MS = 585_000;

/**
 * Payments that were taken and whose vendor tells nothing of them for ten minutes: then their search is given up, and once the
 * vendor speaks again, what it took is given back. The other runs go on meanwhile.
 */
export class GatewaySilence {
  readonly #vendors: Vendors;
  readonly #silent = new Map<string, Track>();

  constructor(vendors: Vendors) {
    this.#vendors = vendors;
  }

  async begin(track: Track): Promise<void> {
    if (track.id === null) return;
    this.#silent.set(track.id, track);
    await this.#vendors.silence(track.id, true);
  }

  /** The vendor speaks again: of the sessions that are over, or of `everything`. */
  async end({ everything }: { everything: boolean }): Promise<void> {
    for (const [id, { isFinal }] of this.#silent) if (everything || isFinal) await this.#vendors.silence(id, false);
  }

  /** The places that a run can come to now. */
  due(): (typeof GIVEN_UP | typeof REVERSAL)[] {
    const ledger = this.#vendors.ledger();
    const isOld = (at: string) => Date.now() - Date.parse(at) > NEARLY_GIVEN_UP_MS;
    const tracks = [...this.#silent];
    const canBeGivenUp = ([id, { isFinal }]: (typeof tracks)[number]) =>
      !isFinal && ledger.some(({ reference, at }) => reference?.startsWith(id) && isOld(at));
    return [
      ...(tracks.some(([, track]) => unreversed(track, ledger).length > 0) ? ([REVERSAL] as const) : []),
      ...(tracks.some(canBeGivenUp) ? ([GIVEN_UP] as const) : []),
    ];
  }
}
