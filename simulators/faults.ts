const FAULTS = ["reset_before", "reset_after", "hang", "slow", "http_500", "garbage", "truncated"] as const;
type FaultKind = (typeof FAULTS)[number];

/**
 * An armed fault. Only `reset_before` stops the vendor from acting; every other kind strikes after it has acted, because
 * that is the hard case: the money is taken and the answer is lost, late or broken.
 */
export interface Fault {
  gateway: string;
  kind: FaultKind;
  /** How many requests it still strikes. */
  times: number;
  /** Only requests to paths that begin so. */
  path: string;
  /** Only requests whose body has this text in it. */
  containing: string;
}

/** Reads the body of `POST /_faults`; a string says what is wrong with it. */
export function readFault(body: unknown, gateways: readonly string[]): Fault | string {
  if (typeof body !== "object" || body === null) return "the body is not a JSON object";
  const { gateway, kind, times = 1, path = "/", containing = "" } = body as Record<string, unknown>;
  if (typeof gateway !== "string" || !gateways.includes(gateway)) return `gateway is not one of ${gateways.join(", ")}`;
  const known = FAULTS.find((name) => name === kind);
  if (known === undefined) return `kind is not one of ${FAULTS.join(", ")}`;
  if (typeof times !== "number" || !Number.isInteger(times) || times < 0) return "times is not a whole number";
  if (typeof path !== "string" || !path.startsWith("/")) return "path does not begin with /";
  if (typeof containing !== "string") return "containing is not a text";
  return { gateway, kind: known, times, path, containing };
}

export class Faults {
  #armed: Fault[] = [];

  /** Arms a fault; `times: 0` takes back all whose gateway, path and text it names, or begins to name. */
  arm({ gateway, path, containing, ...fault }: Fault): void {
    const isMeant = (armed: Fault) => armed.gateway === gateway && armed.path.startsWith(path) && armed.containing.startsWith(containing);
    if (fault.times > 0) this.#armed.push({ gateway, path, containing, ...fault });
    else this.#armed = this.#armed.filter((armed) => !isMeant(armed));
  }

  /** The fault that strikes this request, used up by one; null when none does. The oldest strikes first. */
  strike(gateway: string, path: string, body: Buffer): FaultKind | null {
    const fault = this.#armed.find((armed) => armed.gateway === gateway && path.startsWith(armed.path) && body.includes(armed.containing));
    if (fault === undefined) return null;
    fault.times--;
    this.#armed = this.#armed.filter((armed) => armed.times > 0);
    return fault.kind;
  }
}
