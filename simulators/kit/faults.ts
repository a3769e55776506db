const FAULTS = ["reset_before", "reset_after", "hang", "slow", "http_500", "garbage", "truncated"] as const;
/** How the vendor stands when a request comes, rather than what happens to the request. */
const CONDITIONS = ["lookup_lag", "settle", "expire_tokens"] as const;
type FaultKind = (typeof FAULTS)[number];

/**
 * An armed fault. Only `reset_before` stops the vendor from acting; every other kind strikes after it has acted, because
 * that is the hard case: the money is taken and the answer is lost, late or broken. `lookup_lag`: look-ups do not find what is
 * younger than `ms` (nothing at all without `ms`). `settle`: the batch closes before the request is worked on. `expire_tokens`: access tokens that
 * were issued are good no more when the request comes.
 */
export interface Fault {
  gateway: string;
  kind: FaultKind | (typeof CONDITIONS)[number];
  /** How many requests it still strikes. */
  times: number;
  /** Only requests to paths that begin so. */
  path: string;
  /** Only requests whose body or query has this text in it. */
  containing: string;
  /** Of `lookup_lag`; Infinity when left out. */
  ms: number;
}

/** Reads the body of `POST /_faults`; a string says what is wrong with it. */
export function readFault(body: unknown, gateways: readonly string[]): Fault | string {
  if (typeof body !== "object" || body === null) return "the body is not a JSON object";
  const { gateway, kind, times = 1, path = "/", containing = "", ms = Infinity } = body as Record<string, unknown>;
  if (typeof gateway !== "string" || !gateways.includes(gateway)) return `gateway is not one of ${gateways.join(", ")}`;
  const kinds = [...FAULTS, ...CONDITIONS];
  const known = kinds.find((name) => name === kind);
  if (known === undefined) return `kind is not one of ${kinds.join(", ")}`;
  if (typeof times !== "number" || !Number.isInteger(times) || times < 0) return "times is not a whole number";
  if (typeof path !== "string" || !path.startsWith("/")) return "path does not begin with /";
  if (typeof containing !== "string") return "containing is not a text";
  if (typeof ms !== "number" || ms < 0) return "ms is not a number";
  return { gateway, kind: known, times, path, containing, ms };
}

/** What a fault is matched against. */
interface Struck {
  gateway: string;
  path: string;
  query: string;
  body: Buffer;
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
  strike(request: Struck): FaultKind | null {
    const struck = this.#use(request, (kind) => FAULTS.includes(kind as FaultKind));
    return struck === null ? null : (struck.kind as FaultKind);
  }

  /** True when the batch closes before this request. */
  settles(request: Struck): boolean {
    return this.#use(request, (kind) => kind === "settle") !== null;
  }

  /** True when access tokens end before this request. */
  expiresTokens(request: Struck): boolean {
    return this.#use(request, (kind) => kind === "expire_tokens") !== null;
  }

  /** Ms for which look-ups do not see what was made; 0 when none is armed. */
  lookUpLag(request: Struck): number {
    return this.#use(request, (kind) => kind === "lookup_lag")?.ms ?? 0;
  }

  #use({ gateway, path, query, body }: Struck, isMeant: (kind: Fault["kind"]) => boolean): Fault | null {
    const fault = this.#armed.find(
      (armed) =>
        isMeant(armed.kind) &&
        armed.gateway === gateway &&
        path.startsWith(armed.path) &&
        (body.includes(armed.containing) || query.includes(armed.containing)),
    );
    if (fault === undefined) return null;
    fault.times--;
    this.#armed = this.#armed.filter((armed) => armed.times > 0);
    return fault;
  }
}
