import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { GatewaySettings } from "#src/gateways/index.ts";
import { behaviours, settingsOf, wrongSettings } from "#src/gateways/testing.ts";
import { systemClock } from "#src/kernel/clock.ts";
import type { GatewayName } from "#src/kernel/payment.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { createOutbound, silentLog } from "#src/platform/index.ts";
import { startSimulators } from "#simulators/index.ts";
import type { Simulators } from "#simulators/index.ts";
import { AccessTokens } from "./access-tokens.ts";
import { checkCredentials } from "./credentials-check.ts";
import type { PaymentsDeps } from "./types.ts";

const COLUMNS = await behaviours();
/** A merchant's own endpoint answers nothing but payments. */
const ANSWERS_PAYMENTS_ALONE = new Set<string>(["webhook"]);

const hasQuestion = (name: GatewayName) => ["lookUp", "authenticate"].some((method) => Object.hasOwn(GATEWAYS_BUILT[name]!, method));

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

function check(name: GatewayName, settings: GatewaySettings | null) {
  const deps = {
    database: { db: null },
    projects: {
      gatewaySettings: () => Promise.resolve(settings),
      rotateCredentials: async (...[, , , change]: Parameters<PaymentsDeps["projects"]["rotateCredentials"]>) =>
        (await change(settings?.credentials ?? {})) ?? {},
    },
    gateways: GATEWAYS_BUILT,
    outbound: createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  } as unknown as PaymentsDeps;
  return checkCredentials(deps, new AccessTokens(systemClock), { projectId: "p", currency: "USD", gateway: name, environment: "test" });
}

for (const [name, column] of Object.entries(COLUMNS) as [GatewayName, (typeof COLUMNS)["stripe"] & object][]) {
  const gateway = GATEWAYS_BUILT[name]!;
  const settings = () => settingsOf(gateway, { endpoint: `${simulators.url}/${name}` });
  /** Nor has a vendor without look-ups and access tokens a question that costs nothing. */
  const canBeAsked = !ANSWERS_PAYMENTS_ALONE.has(name) && hasQuestion(name);

  describe(`${name}'s credentials`, () => {
    test("the vendor's word on them is told, and no payment is made to learn it", async () => {
      assert.equal((await check(name, settings())).result, canBeAsked ? "accepted" : "cannot be asked");
      const { entries } = (await (await fetch(`${simulators.url}/_ledger/${name}`)).json()) as { entries: { kind: string }[] };
      assert.deepEqual(
        entries.filter(({ kind }) => kind !== "look-up"),
        [],
      );
    });

    test("wrong ones are refused", async () => {
      const wrong = wrongSettings(settings(), column);
      assert.equal((await check(name, wrong)).result, canBeAsked ? "refused" : "cannot be asked");
    });

    test("an address where nobody answers says nothing about them", async () => {
      const away = { ...settings(), endpoint: "http://127.0.0.1:9" };
      assert.equal((await check(name, away)).result, canBeAsked ? "not reached" : "cannot be asked");
    });
  });
}

test("all vendors but two have a look-up or an access token by which credentials are tried", () => {
  const silent = Object.keys(COLUMNS).filter((name) => !hasQuestion(name as GatewayName));
  assert.deepEqual(silent.sort(), ["adyen", "moneris"]);
});

test("a project without credentials is told so", async () => {
  assert.deepEqual(await check("stripe", null), { result: "no credentials", simulated: false });
});
