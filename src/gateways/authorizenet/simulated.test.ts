import assert from "node:assert/strict";
import { test } from "node:test";
import { simulator as simulatorOf } from "#simulators/authorizenet/index.ts";
import { systemRandom } from "#src/kernel/random.ts";
import type { GatewayAnswer, GatewayRequest, Order } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import type { TestIo } from "../testing.ts";
import { nameOf } from "./requests.ts";

/** The adapter against the simulator of its vendor, without a network and with the vendor's clock in the test's hand. */

const gateway = GATEWAYS_BUILT.authorizenet!;
const HOUR_MS = 3_600_000;

interface Entry {
  kind: string;
  id: string | null;
  reference: string | null;
  outcome: string | null;
  details?: Record<string, unknown>;
}

function vendor() {
  const ledger: Entry[] = [];
  let passedMs = 0;
  const letters = (length: number) => Array.from(systemRandom.bytes(length), (byte) => String.fromCharCode(97 + (byte % 26))).join("");
  const simulator = simulatorOf({
    now: () => Date.now() + passedMs,
    id: (prefix, length = 24) => prefix + letters(length),
    digits: (length) => `1${Array.from(systemRandom.bytes(length - 1), (byte) => byte % 10).join("")}`,
    record: (entry) => void ledger.push(entry),
  });
  async function send(request: GatewayRequest): Promise<GatewayAnswer> {
    const { pathname } = new URL(request.url);
    const answer = await simulator.handle({
      method: request.method,
      path: pathname,
      query: new URLSearchParams(),
      headers: { "content-type": request.headers["Content-Type"] },
      body: Buffer.from(request.body ?? []),
      secure: true,
      work: () => Promise.resolve(),
      lookUpLag: () => 0,
    });
    if (answer === "reset" || answer.lost) return { kind: "lost", reason: "connection reset" };
    return { kind: "answered", status: answer.status, headers: answer.headers ?? {}, body: Buffer.from(answer.body as string) };
  }
  const settings = settingsOf(gateway);
  const io = (options: Record<string, string | boolean> = {}): TestIo => {
    const plain = testIo({ ...settings, options: { ...settings.options, ...options } }, send);
    return { ...plain, clock: { ...plain.clock, now: () => Date.now() + passedMs } };
  };
  return { ledger, io, pass: (ms: number) => (passedMs += ms) };
}

const newOrder = (changes: Partial<Order> = {}) => orderOf({ sessionId: systemRandom.uuid(), ...changes });
const ADDRESS = {
  street: "14 Main Street",
  city: "Pecan Springs",
  state: "TX",
  zip: "44628",
  country: "US",
  first_name: null,
  last_name: null,
};
const zip = (postalCode: string, cvv = "123") => cardOf("4111111111111111", { zip: postalCode, cvv });

test("Authorize Only ends authorized and the hold is left alone; Auto Capture takes the money (R-198, R-410)", async () => {
  const { io, ledger } = vendor();
  const held = await gateway.charge(newOrder(), io({ capture: "authorize_only" }));
  const taken = await gateway.charge(newOrder(), io());
  assert.deepEqual(
    [held.outcome === "approved" && held.capture, taken.outcome === "approved" && taken.capture],
    ["authorized", "captured"],
  );
  assert.equal(held.outcome === "approved" && held.processor["authnet_capture_status"], "authorized");
  assert.deepEqual(
    ledger.map(({ kind, outcome }) => [kind, outcome]),
    [
      ["authorization", "approved"],
      ["charge", "approved"],
    ],
  );
});

test("a lost answer is found authorized where the money was only held", async () => {
  const { io } = vendor();
  const order = newOrder({ card: cardOf("4000000000000259") });
  assert.equal((await gateway.charge(order, io({ capture: "authorize_only" }))).outcome, "unknown");
  const found = await gateway.lookUp!(traceOf(order), io());
  assert.equal(found.outcome === "approved" && found.capture, "authorized");
});

test("ZIP alone gives Z, or U where the issuer does not say; an address gives Y (R-408)", async () => {
  const { io } = vendor();
  const avs = async (changes: Partial<Order>) => {
    const outcome = await gateway.charge(newOrder(changes), io());
    return outcome.outcome === "approved" && outcome.processor["authnet_avs_result_code"];
  };
  assert.equal(await avs({}), "Z");
  assert.equal(await avs({ card: cardOf("38000000000006") }), "U");
  assert.equal(await avs({ billingAddress: ADDRESS }), "Y");
});

test("each letter that the vendor's triggers give comes through (R-404)", async () => {
  const { io } = vendor();
  const fieldOf = async (card: Order["card"], field: string) => {
    const outcome = await gateway.charge(newOrder({ card }), io());
    return outcome.outcome === "approved" ? outcome.processor[field] : outcome.outcome;
  };
  const zips = {
    46201: "A",
    46203: "E",
    46204: "G",
    46205: "N",
    46206: "P",
    46207: "R",
    46208: "S",
    46209: "U",
    46211: "W",
    46214: "X",
    46217: "Z",
  };
  for (const [code, letter] of Object.entries(zips)) assert.equal(await fieldOf(zip(code), "authnet_avs_result_code"), letter);
  for (const [code, letter] of Object.entries({ 900: "M", 902: "S", 903: "U", 904: "P" })) {
    assert.equal(await fieldOf(zip("44628", code), "authnet_cvv_result_code"), letter);
  }
  const refused = await gateway.charge(newOrder({ card: zip("44628", "901") }), io());
  assert.ok(refused.outcome === "declined" && refused.code === "incorrect_cvc");
  assert.equal(refused.processor["authnet_cvv_result_code"], "N");
});

test("the general decline and the partial approval of the sandbox take nothing", async () => {
  const { io, ledger } = vendor();
  for (const code of ["46282", "46225"]) {
    const outcome = await gateway.charge(newOrder({ card: zip(code) }), io());
    assert.equal(outcome.outcome === "declined" && outcome.code, "card_declined");
  }
  assert.ok(ledger.every(({ outcome }) => outcome === "declined"));
});

test("a payment that the fraud filter holds fails, keeps its id, and is found held again; nothing is voided (R-405)", async () => {
  const { io, ledger } = vendor();
  const order = newOrder({ amountMinor: 5_000_000 });
  const outcome = await gateway.charge(order, io());
  assert.ok(outcome.outcome === "declined" && outcome.code === "held_for_review");
  assert.match(outcome.processor["authnet_transaction_id"] ?? "", /^[1-9][0-9]{10}$/);
  assert.deepEqual(await gateway.lookUp!(traceOf(order), io()), outcome);
  assert.ok(!ledger.some(({ kind }) => kind === "void"));
});

test("the vendor is told who and where: the address with the collected name, on the stored profile too (R-131, R-132, R-134)", async () => {
  const { io, ledger } = vendor();
  const card = cardOf("4242424242424242", { name: "Ada Byron" });
  for (const mode of ["charge", "tokenize"] as const) {
    assert.equal((await gateway[mode](newOrder({ mode, card, billingAddress: ADDRESS }), io())).outcome, "approved");
    const { details = {} } = ledger.at(-1)!;
    const { first_name, last_name, street, zip: code, country } = details;
    assert.deepEqual([first_name, last_name, street, code, country], ["Ada", "Byron", "14 Main Street", "44628", "US"]);
  }
});

test("a stored card can be charged later with the kept ids alone, and inherits its address (R-134, R-201)", async () => {
  const { io, ledger } = vendor();
  const stored = await gateway.tokenize(newOrder({ mode: "tokenize", billingAddress: ADDRESS }), io());
  assert.ok(stored.outcome === "approved");
  const merchant = io();
  const answer = await merchant.send({
    method: "POST",
    url: "https://apitest.authorize.net/xml/v1/request.api",
    headers: { "Content-Type": "application/json" },
    body: Buffer.from(
      JSON.stringify({
        createTransactionRequest: {
          merchantAuthentication: { name: "simulator1", transactionKey: "simulatorKey0001" },
          transactionRequest: {
            transactionType: "authCaptureTransaction",
            amount: "25.00",
            profile: {
              customerProfileId: stored.processor["authnet_customer_profile_id"],
              paymentProfile: { paymentProfileId: stored.processor["authnet_payment_profile_id"] },
            },
          },
        },
      }),
    ),
  });
  assert.ok(answer.kind === "answered");
  const { transactionResponse } = JSON.parse(Buffer.from(answer.body).toString().slice(1)) as {
    transactionResponse: Record<string, string>;
  };
  assert.deepEqual([transactionResponse["responseCode"], transactionResponse["avsResultCode"]], ["1", "Y"]);
  assert.equal(ledger.at(-1)?.kind, "charge");
});

test("what was taken, held or stored can be undone without the card, once", async () => {
  const { io, ledger } = vendor();
  for (const [mode, capture] of [
    ["charge", "auto"],
    ["charge", "authorize_only"],
    ["tokenize", "auto"],
  ] as const) {
    const order = newOrder({ mode });
    assert.equal((await gateway[mode](order, io({ capture }))).outcome, "approved");
    assert.deepEqual(await gateway.void!(traceOf(order), io()), { outcome: "voided" });
    // A customer profile that was deleted leaves no trace.
    const again = mode === "charge" ? "nothing to void" : "absent";
    assert.deepEqual(await gateway.void!(traceOf(order), io()), { outcome: again });
    assert.equal(ledger.filter(({ kind, reference }) => kind === "void" && reference === nameOf(order)).length, 1);
  }
  assert.deepEqual(await gateway.void!(traceOf(newOrder()), io()), { outcome: "absent" });
});

test("a payment whose answer was lost is still found when it has settled a day later", async () => {
  const { io, pass } = vendor();
  const order = newOrder({ card: cardOf("4000000000000259") });
  assert.equal((await gateway.charge(order, io())).outcome, "unknown");
  const trace = traceOf(order);
  pass(30 * HOUR_MS);
  const later = io();
  const found = await gateway.lookUp!(trace, later);
  assert.equal(found.outcome === "approved" && found.capture, "captured");
  assert.ok(later.sent.some(({ body }) => body.includes("getTransactionListRequest")));
  // The batch is closed: what cannot be voided any more is refunded.
  assert.equal((await gateway.void!(trace, io())).outcome, "voided");
});
