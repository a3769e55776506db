import { CardCells } from "#src/kernel/card.ts";
import type { GatewayName, Mode } from "#src/kernel/payment.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type {
  AttemptTrace,
  Gateway,
  GatewayAnswer,
  GatewayIo,
  GatewayRequest,
  GatewaySettings,
  Order,
  ProcessorFields,
} from "./contract.ts";
import { resolveSettings, sandboxSecrets } from "./kit/index.ts";
import { GATEWAYS_BUILT } from "./registry.ts";
import type { JsonObject, SettingsDescription, SettingsOf } from "./kit/index.ts";

/** For tests: cards, orders, what a gateway is expected to do, and a GatewayIo whose pauses pass at once. */

/** What src/gateways/behaviour.test.ts expects of one gateway beyond what it expects of all: `behaviour` of its folder's behaviour.ts. */
export interface Behaviour {
  /** docs/interface.md, Processor object: the gateway's row, by the mode that fills the field; blanks between the names. */
  specFields: Record<Mode, string>;
  /** The path of the request that takes the money or stores the card. */
  path: Record<Mode, string>;
  /** A credential, or more, that the simulator refuses in the place of its own. */
  wrong: Readonly<Record<string, string>>;
  /** The code of that refusal; gateway_credentials_invalid when absent. */
  refusedCredentials?: string;
  /** What a lost answer ends in, once it was looked up where it has to be; approved when absent. */
  lost?: ByMode<{ outcome: string; code?: string }>;
  /** What the card ends in whose answer is never sent, however often it is asked for; `lost` when absent. */
  neverAnswered?: ByMode<{ outcome: string; code?: string }>;
  /** What the vendor is told of the attempt's reference; the whole of it when absent. */
  told?: (order: Order) => string;
  /**
   * Refusals that the vendor itself does not tell apart: the uniform card's code, and what it comes out as; `absent` where its
   * answer decides nothing and the look-up then shows no payment, `unknown` where there is none.
   */
  folded?: Partial<Record<Mode, Record<string, string>>>;
  /** What the verb itself ends in when every answer to its payment request is lost; unknown when absent. */
  everyAnswerLost?: ByMode<string>;
  /** Charges a stored card by what was kept of it, as a merchant would; resolves whether the vendor took the money. */
  chargeStored?: (kept: ProcessorFields, order: Order, vendor: SimulatedVendor) => Promise<boolean>;
  /** A lost store is simply sent again, because it moves nothing: the vendor may then hold the card more than once. */
  storesAgain?: boolean;
  /** Its simulator shows a payment at once, whatever lag is ordered: what is asked is the payment itself, no index of them. */
  showsAtOnce?: boolean;
  /** The vendor takes a void of a payment that it never got like any other and says nothing of it: the void is then unknown. */
  voidsUnseen?: Readonly<Record<Mode, boolean>>;
  /** Nothing that the vendor documents tells whether a refund after the batch was made, when its answer was lost: an operator has to look. */
  lostRefundStaysUnknown?: boolean;
  /** A stored card cannot be taken out of the vendor's keeping again. */
  keepsStored?: boolean;
  /** The endpoint never came to act. */
  neverActed: ByMode<{ outcome: string; code?: string }>;
}

/** One expectation, or one for each mode. */
export type ByMode<T> = T | Readonly<Record<Mode, T>>;

/** The expectation for one mode, where the two differ. */
export function inMode<T extends object | string>(expected: ByMode<T>, mode: Mode): T {
  return typeof expected === "object" && "charge" in expected ? expected[mode] : expected;
}

/** What most of them do. */
const USUAL = { refusedCredentials: "gateway_credentials_invalid", lost: { outcome: "approved" } } satisfies Partial<Behaviour>;
/** The expectations with what is usual filled in. */
export type Column = Behaviour & Required<Pick<Behaviour, keyof typeof USUAL>>;

/** The expectations of every gateway that is built; a folder without them is a fault of its own. */
export async function behaviours(): Promise<Partial<Record<GatewayName, Column>>> {
  const names = Object.keys(GATEWAYS_BUILT) as GatewayName[];
  const modules = names.map((name) => import(new URL(`${name}/behaviour.ts`, import.meta.url).href) as Promise<{ behaviour: Behaviour }>);
  return Object.fromEntries((await Promise.all(modules)).map(({ behaviour }, index) => [names[index], { ...USUAL, ...behaviour }]));
}

/** The gateway's simulator as its merchant sees it. */
export interface SimulatedVendor {
  /** POST to a path of the simulator; resolves the body of the response. */
  post(path: string, headers: Record<string, string>, body: string): Promise<string>;
  /** The same in JSON, both ways. */
  postJson(path: string, headers: Record<string, string>, body: object): Promise<JsonObject>;
  ledger(): Promise<LedgerEntry[]>;
}

export interface LedgerEntry {
  kind: string;
  id: string | null;
  reference: string | null;
  outcome: string | null;
  card?: string;
  amountMinor?: number;
}

export const SESSION = "3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c22";

export function cardOf(
  number: string,
  parts: { month?: string; year?: string; cvv?: string; zip?: string | null; name?: string | null } = {},
): CardCells {
  const card = new CardCells();
  const fill = (cell: CardCells["number"], digits: string) => Array.from(digits).forEach((digit) => cell.push(Number(digit)));
  fill(card.number, number);
  fill(card.expMonth, parts.month ?? "03");
  fill(card.expYear, parts.year ?? "2060");
  fill(card.cvv, parts.cvv ?? "123");
  card.postalCode = parts.zip === undefined ? "44628" : parts.zip;
  card.cardholderName = parts.name ?? null;
  return card;
}

export function orderOf(changes: Partial<Order> = {}): Order {
  const sessionId = changes.sessionId ?? SESSION;
  const attempt = changes.attempt ?? 1;
  return {
    sessionId,
    attempt,
    reference: `${sessionId}-${attempt}`,
    mode: "charge",
    channel: "voice",
    amountMinor: 4995,
    currency: "USD",
    description: "Invoice 1001",
    caller: "+15550001111",
    connectedAccount: null,
    billingAddress: null,
    customerIp: null,
    card: cardOf("4242424242424242"),
    ...changes,
  };
}

/** What would be left of the order if its process died now. */
export function traceOf(order: Order, notes: Record<string, string> = {}, startedAtMs = Date.now()): AttemptTrace {
  const { sessionId, attempt, reference, mode, amountMinor, currency, connectedAccount } = order;
  return { sessionId, attempt, reference, mode, amountMinor, currency, connectedAccount, startedAtMs, notes };
}

export function settingsOf(gateway: Gateway, changes: Partial<GatewaySettings> = {}): GatewaySettings {
  const endpoint = changes.endpoint ?? gateway.hosts.test;
  const options = Object.fromEntries(gateway.optionFields.map((field) => [field.name, field.default]));
  return { environment: "test", credentials: gateway.sandboxCredentials(endpoint), options, endpoint, version: 1, ...changes };
}

/** Settings with a credential that the gateway's simulator refuses. */
export function wrongSettings(settings: GatewaySettings, { wrong }: Behaviour): GatewaySettings {
  return { ...settings, credentials: { ...settings.credentials, ...sandboxSecrets(wrong) } };
}

/** The same as an adapter's request half gets them. */
export function resolvedOf<D extends SettingsDescription>(description: D, settings: GatewaySettings): SettingsOf<D> {
  const resolved = resolveSettings(description, settings);
  if (resolved === null) throw new Error("a required credential is missing");
  return resolved;
}

export interface TestIo extends GatewayIo {
  /** Every request, with a copy of its body as text: what the wire saw. */
  readonly sent: { request: GatewayRequest; body: string }[];
  readonly notes: Record<string, string>;
}

/**
 * A GatewayIo over `send`. Pauses take no time but count against the deadline, so that a test sees the adapter's whole
 * patience in an instant.
 */
export function testIo(settings: GatewaySettings, send: (request: GatewayRequest) => Promise<GatewayAnswer>, deadlineMs = 60_000): TestIo {
  const sent: TestIo["sent"] = [];
  const notes: Record<string, string> = {};
  const startedMs = Date.now();
  let passed = 0;
  const credentials: Readonly<Record<string, Secret>> = settings.credentials;
  return {
    settings,
    sent,
    notes,
    clock: { now: () => startedMs + passed, monotonic: () => passed },
    random: systemRandom,
    egressIp: null,
    signal: new AbortController().signal,
    async send(request) {
      sent.push({ request, body: Buffer.from(request.body ?? []).toString() });
      const answer = await send(request);
      request.body?.fill(0);
      return answer;
    },
    wait(ms) {
      if (passed + ms > deadlineMs) return Promise.resolve(false);
      passed += ms;
      return Promise.resolve(true);
    },
    note(more) {
      Object.assign(notes, more);
      return Promise.resolve();
    },
    accessToken: (mint) => mint(),
    rotateCredentials: async (change) => (await change(credentials)) ?? credentials,
  };
}

/** An answer as a vendor's server would give it. */
export function answered(status: number, body: unknown, headers: Record<string, string> = {}): GatewayAnswer {
  return { kind: "answered", status, headers, body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) };
}
