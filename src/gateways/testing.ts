import { CardCells } from "#src/kernel/card.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { Secret } from "#src/kernel/secret.ts";
import type { AttemptTrace, Gateway, GatewayAnswer, GatewayIo, GatewayRequest, GatewaySettings, Order } from "./contract.ts";

/** For tests: cards, orders and a GatewayIo whose pauses pass at once. */

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
