import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import { Secret } from "#src/kernel/secret.ts";
import { createOutbound } from "#src/platform/index.ts";
import { startSimulators, type Simulators } from "#simulators/index.ts";
import { GATEWAYS_BUILT } from "./registry.ts";
import { cardOf, orderOf, settingsOf, testIo, type TestIo, traceOf } from "./testing.ts";

/** Whatever the apply file takes for a gateway goes into a request or decides about one, or its meaning says that it does not. */
/** Used with a certificate in place of the client secret, which the simulator's credentials have: jpmorgan.test.ts. */
const WITH_CERTIFICATE = new Set(["resource_id", "token_url"]);

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

/** What a vendor shows and asks for nowhere: taken so that the merchant's own list may stand in the file. */
const ONLY_KEPT = /for display|not sent|not needed to charge/;

for (const gateway of Object.values(GATEWAYS_BUILT)) {
  test(`${gateway.name} acts on each of its credentials and options`, async () => {
    const used = new Set<string>(gateway.capabilities.connectedAccountOption === null ? [] : [gateway.capabilities.connectedAccountOption]);
    const noted = (name: string, value: string) => {
      const secret = new Secret(value);
      return Object.assign(Object.create(secret) as Secret, { reveal: () => (used.add(name), secret.reveal()) });
    };
    const settings = settingsOf(gateway, { endpoint: `${simulators.url}/${gateway.name}` });
    const options = new Proxy(settings.options, { get: (values, name: string) => (used.add(name), values[name]) });
    const credentialsWith = (more: Record<string, string>) => {
      const values = {
        ...Object.fromEntries(Object.entries(settings.credentials).map(([name, secret]) => [name, secret.reveal()])),
        ...more,
      };
      return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, noted(name, value)]));
    };
    // Those without a value in the sandbox get one whose use alone matters; so does a country with states.
    const missing = gateway.credentialFields.filter(({ name }) => settings.credentials[name] === undefined).map(({ name }) => name);
    const all = credentialsWith(Object.fromEntries([...missing.map((name) => [name, "1"]), ["country", "US"]]));
    const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] });
    const unreached = async () => ({ kind: "not sent", reason: "not asked" }) as const;
    const orders = (["charge", "tokenize"] as const).flatMap((mode) =>
      (["voice", "widget"] as const).flatMap((channel) =>
        [null, "94105"].map((zip) => ({ mode, channel, card: cardOf("4242424242424242", { zip }) })),
      ),
    );
    for (const order of orders) {
      const pay = async (io: TestIo) => {
        const paid = orderOf({ ...order, sessionId: systemRandom.uuid(), card: order.card.copy() });
        await gateway[order.mode](paid, io);
        await gateway.lookUp?.(traceOf(paid, io.notes), io);
      };
      for (const credentials of [credentialsWith({}), all])
        await pay(testIo({ ...settings, credentials, options }, (request) => outbound.send(request)));
      // At the vendor's own host, where a credential may be a part of its name.
      for (const environment of ["test", "live"] as const)
        await pay(testIo({ ...settings, environment, endpoint: gateway.hosts[environment], credentials: all, options }, unreached));
    }
    const fields = [...gateway.credentialFields, ...gateway.optionFields];
    assert.deepEqual(
      fields
        .filter(({ name, meaning }) => !used.has(name) && !ONLY_KEPT.test(meaning) && !WITH_CERTIFICATE.has(name))
        .map(({ name }) => name),
      [],
    );
  });
}
