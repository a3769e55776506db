import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#src/kernel/testing.ts";
import { parseAmountText } from "#src/kernel/money.ts";
import type { Project } from "#src/projects/index.ts";
import { createCheckout } from "./checkout.ts";
import type { CheckoutFault, CheckoutResult, VoiceRequest, WidgetRequest } from "./types.ts";

const REQUESTER = { organizationId: "o", environment: "test" } as const;
const NO_ADDRESS = { takesBillingAddress: false, connectedAccountOption: null };

interface Setting {
  project?: Partial<Project>;
  /** Null: the project has no credentials for it. */
  options?: Record<string, boolean> | null;
  capabilities?: { takesBillingAddress: boolean; connectedAccountOption: string | null };
  numbers?: string[];
  dialsNumbers?: boolean;
  dialsTls?: boolean;
  roundsFractions?: boolean;
  /** Of the gateway, for every sum. */
  refusal?: string | null;
  /** Log events, added here. */
  warnings?: string[];
}

/** A checkout of an organisation whose one project, "shop", and its gateway are as said. */
function checkoutOf({
  project = {},
  options = {},
  capabilities = NO_ADDRESS,
  numbers = [],
  dialsNumbers = true,
  dialsTls = false,
  roundsFractions = false,
  refusal = null,
  warnings = [],
}: Setting = {}) {
  const shop = {
    id: "p",
    slug: "shop",
    currency: "USD",
    country: "US",
    voice: { transfer: { allow: [] as string[] } },
    ...project,
  } as Project;
  const settings = { environment: "test", credentials: {}, options: options ?? {}, endpoint: "", version: 1 } as const;
  return createCheckout({
    database: { db: null as never },
    projects: {
      findProject: async (_db, organization, name) => (organization === "o" && name === "shop" ? shop : null),
      gatewaySettings: async () => (options ? settings : null),
      numbersOf: async () => numbers,
    },
    gateways: { stripe: { capabilities, refusalOf: ({ currency }) => refusal && `${refusal} ${currency}` } },
    clock: new ManualClock(),
    settings: {
      phoneNumber: "+15550009999",
      sessionTtlSeconds: 300,
      dialsNumbers,
      dialsTls,
      roundsFractions,
      isTrunkHost: (host) => host === "trunk.example",
    },
    log: { warn: (event) => void warnings.push(event) },
  });
}

const amount = (text: string) => ({ decimal: parseAmountText(text)!, noise: 0 });
const VOICE: VoiceRequest = {
  project: "shop",
  gateway: "stripe",
  mode: "charge",
  amount: amount("10.00"),
  caller: "+14155550100",
  description: null,
  callback: null,
  memory: null,
  connectedAccount: null,
  billingAddress: null,
};
const WIDGET: WidgetRequest = {
  project: "shop",
  gateway: "stripe",
  mode: "charge",
  amountMinor: 1000,
  description: null,
  connectedAccount: null,
};
const ADDRESS = {
  street: "14 Main Street",
  city: "San Francisco",
  state: "CA",
  zip: "94105",
  country: null,
  first_name: null,
  last_name: null,
};

function sessionOf(result: CheckoutResult) {
  assert.equal(result.kind, "valid");
  return result.session;
}
const faultsOf = (result: CheckoutResult) => (result.kind === "invalid" ? result.faults : []);
const voice = (changes: Partial<VoiceRequest>, setting?: Setting) => checkoutOf(setting).voiceSession(REQUESTER, { ...VOICE, ...changes });
const widget = (changes: Partial<WidgetRequest>, setting?: Setting) =>
  checkoutOf(setting).widgetSession(REQUESTER, { ...WIDGET, ...changes });

test("a valid request becomes a session in its project's currency, for as long as its channel needs (R-197)", async () => {
  const called = sessionOf(await voice({}));
  assert.partialDeepStrictEqual(called, { projectId: "p", channel: "voice", amountMinor: 1000, currency: "USD", ttlSeconds: 300 });
  const browsed = sessionOf(await widget({}));
  assert.partialDeepStrictEqual(browsed, { projectId: "p", channel: "widget", amountMinor: 1000, caller: null, ttlSeconds: 1800 });
});

test("another organisation's project is none", async () => {
  assert.deepEqual(await checkoutOf().voiceSession({ ...REQUESTER, organizationId: "other" }, VOICE), { kind: "no project" });
  assert.deepEqual(await widget({ project: "theirs" }), { kind: "no project" });
});

test("the number to call is the project's first, else the installation's (R-085)", async () => {
  const numberOf = async (numbers: string[]) => {
    const result = await voice({}, { numbers });
    return result.kind === "valid" ? result.phoneNumber : undefined;
  };
  assert.equal(await numberOf(["+15550001111", "+15550002222"]), "+15550001111");
  assert.equal(await numberOf([]), "+15550009999");
});

const YEN = { project: { currency: "JPY", country: "JP" } };
const AMOUNTS: readonly (readonly [what: string, result: Promise<CheckoutResult>, fault: CheckoutFault | null])[] = [
  ["nothing", voice({ amount: amount("0.00") }), { field: "amount", fault: "zero" }],
  ["nothing, in a browser", widget({ amountMinor: 0 }), { field: "amount", fault: "zero" }],
  ["nothing, to store a card", voice({ amount: amount("0"), mode: "tokenize" }), null],
  ["half a cent", voice({ amount: amount("10.005") }), { field: "amount", fault: "fraction", decimals: 2 }],
  ["half a yen", voice({ amount: amount("500.5") }, YEN), { field: "amount", fault: "fraction", decimals: 0 }],
  ["the ceiling", voice({ amount: amount("999999.99") }), null],
  ["more", voice({ amount: amount("1000000") }), { field: "amount", fault: "too large", ceiling: 99_999_999, currency: "USD" }],
  ["too many yen", widget({ amountMinor: 1_000_000 }, YEN), { field: "amount", fault: "too large", ceiling: 999_999, currency: "JPY" }],
];
for (const [what, result, fault] of AMOUNTS) {
  test(`an amount of ${what} is ${fault ? fault.fault : "accepted"} (R-111, R-113 to R-115)`, async () => {
    assert.deepEqual(faultsOf(await result), fault ? [fault] : []);
  });
}

test("with AMOUNT_SUBCENT=round_half_up a fraction of a cent is rounded, to nothing too, and a fraction of a yen is not (R-111, R-115, table C2)", async () => {
  const minorOf = async (text: string, setting: Setting = {}) => {
    const result = await voice({ amount: amount(text) }, { ...setting, roundsFractions: true });
    return result.kind === "valid" ? result.session.amountMinor : faultsOf(result);
  };
  assert.deepEqual([await minorOf("10.005"), await minorOf("10.00499"), await minorOf("0.005")], [1001, 1000, 1]);
  assert.deepEqual(await minorOf("0.004"), [{ field: "amount", fault: "zero" }]);
  assert.deepEqual(await minorOf("999999.995"), [{ field: "amount", fault: "too large", ceiling: 99_999_999, currency: "USD" }]);
  assert.deepEqual(await minorOf("500.5", YEN), [{ field: "amount", fault: "fraction", decimals: 0 }]);
});

test("all faults are told at once, in the order of the fields", async () => {
  const setting = { options: null, capabilities: { ...NO_ADDRESS, connectedAccountOption: "platform" } };
  const wrong = { amount: amount("0.001"), callback: "+442079460958" };
  assert.deepEqual(faultsOf(await voice(wrong, setting)), [
    { field: "amount", fault: "fraction", decimals: 2 },
    { field: "gateway", fault: "not configured" },
    { field: "callback", fault: "not allowed" },
  ]);
});

test("a sum that the gateway never takes with the project's settings is refused, in a browser too", async () => {
  const setting = { ...YEN, refusal: "no such sum:" };
  const fault = { field: "gateway", fault: "not the sum", reason: "no such sum: JPY" } as const;
  assert.deepEqual(faultsOf(await voice({ amount: amount("500") }, setting)), [fault]);
  assert.deepEqual(faultsOf(await widget({ amountMinor: 500 }, setting)), [fault]);
  assert.deepEqual(faultsOf(await voice({ amount: amount("0.5") }, setting)), [{ field: "amount", fault: "fraction", decimals: 0 }]);
});

test("a callback is a destination that the project allows (R-124, R-330)", async () => {
  assert.deepEqual(faultsOf(await voice({ callback: "sip:agent@pbx.example?Replaces=x" })), [
    { field: "callback", fault: "not a destination" },
  ]);
  assert.deepEqual(faultsOf(await voice({ callback: "+19005550100" })), [{ field: "callback", fault: "not allowed" }]);
  assert.equal(sessionOf(await voice({ callback: "tel:+14155550199" })).callback, "tel:+14155550199");
});

test("a connected account needs the platform's key, and means nothing to a gateway without such accounts (R-127)", async () => {
  const capabilities = { ...NO_ADDRESS, connectedAccountOption: "platform" };
  const connectedAccount = "acct_1";
  for (const session of [voice, widget]) {
    const refused = await session({ connectedAccount }, { capabilities, options: { platform: false } });
    assert.deepEqual(faultsOf(refused), [{ field: "connectedAccount", fault: "no platform key" }]);
    const charged = await session({ connectedAccount }, { capabilities, options: { platform: true } });
    assert.equal(sessionOf(charged).connectedAccount, connectedAccount);
    assert.equal(sessionOf(await session({ connectedAccount }, { options: { platform: true } })).connectedAccount, null);
  }
});

test("an address reaches the gateways that take one, from the US where it names no country (R-128, R-131)", async () => {
  const capabilities = { ...NO_ADDRESS, takesBillingAddress: true };
  assert.deepEqual(sessionOf(await voice({ billingAddress: ADDRESS }, { capabilities })).billingAddress, { ...ADDRESS, country: "US" });
  const british = { ...ADDRESS, country: "GB" };
  assert.deepEqual(sessionOf(await voice({ billingAddress: british }, { capabilities })).billingAddress, british);
  assert.equal(sessionOf(await voice({ billingAddress: ADDRESS })).billingAddress, null);
});

test("a callback that needs TLS is taken only where SIP is spoken over TLS, one by a transport that there is not never", async () => {
  for (const callback of ["sips:agent@pbx.example", "sip:agent@pbx.example;transport=TLS", "sip:agent@pbx.example;lr;tran%73port=tls"]) {
    assert.deepEqual(faultsOf(await voice({ callback })), [{ field: "callback", fault: "not allowed" }], callback);
    assert.equal(sessionOf(await voice({ callback }, { dialsTls: true })).callback, callback);
  }
  for (const callback of ["sips:agent@pbx.example;transport=udp", "sip:agent@pbx.example;transport=ws", "sip:agent@pbx.example;x=%zz"])
    assert.deepEqual(
      faultsOf(await voice({ callback }, { dialsTls: true })),
      [{ field: "callback", fault: "not a destination" }],
      callback,
    );
});

test("a callback that is a number is taken without a trunk, and the log says that it cannot be dialled (R-432)", async () => {
  const warningsOf = async (callback: string | null, dialsNumbers: boolean) => {
    const warnings: string[] = [];
    sessionOf(await voice({ callback }, { dialsNumbers, warnings }));
    return warnings;
  };
  assert.deepEqual(await warningsOf("+14155550100", false), ["callback_without_trunk"]);
  assert.deepEqual(await warningsOf("tel:+14155550100", false), ["callback_without_trunk"]);
  for (const [callback, dialsNumbers] of [
    ["+14155550100", true],
    ["sip:agent@pbx.example", false],
    [null, false],
  ] as const)
    assert.deepEqual(await warningsOf(callback, dialsNumbers), []);
});

test("a callback at a trunk's host obeys the rules for numbers (R-330)", async () => {
  const result = await voice({ callback: "sip:+19005551234@trunk.example" });
  assert.deepEqual(result, { kind: "invalid", faults: [{ field: "callback", fault: "not allowed" }] });
  sessionOf(await voice({ callback: "sip:+14155550100@trunk.example" }));
});
