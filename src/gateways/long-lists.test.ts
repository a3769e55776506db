import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { systemRandom } from "#src/kernel/random.ts";
import { createOutbound } from "#src/platform/index.ts";
import { startSimulators } from "#simulators/index.ts";
import type { Simulators } from "#simulators/index.ts";
import type { Gateway, GatewayAnswer } from "./contract.ts";
import { GATEWAYS_BUILT } from "./registry.ts";
import { orderOf, settingsOf, testIo, traceOf } from "./testing.ts";

/** Gateways whose look-up reads pages of a hundred payments, and where such a page has them. */
const LISTS = { stripe: "data", shift4: "list", clover: "data", usaepay: "data", qualpay: "data" } as const;
/** A payment as a vendor tells of it, with its addresses, checks, fees and what is expanded. */
const PAYMENT_BYTES = 8_000;
const OTHERS = { metadata: {}, external_reference_id: "another", orderid: "another", invoice: "another", merch_ref_num: "another" };

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

/** The list with ninety-nine payments of other people behind ours. */
function filled(answer: GatewayAnswer, member: string): string {
  assert.ok(answer.kind === "answered");
  const body = JSON.parse(Buffer.from(answer.body).toString()) as Record<string, Record<string, unknown>[]>;
  const [ours] = body[member]!;
  if (ours === undefined) return JSON.stringify(body);
  const others = Array.from({ length: 99 }, () => ({ ...ours, ...OTHERS, more: "x".repeat(PAYMENT_BYTES) }));
  return JSON.stringify({ ...body, [member]: [ours, ...others] });
}

describe("a page of a hundred payments", () => {
  for (const [name, member] of Object.entries(LISTS)) {
    test(`${name}: is read whole, however much the vendor tells of each of them`, async () => {
      const gateway: Gateway = GATEWAYS_BUILT[name as keyof typeof LISTS]!;
      const outbound = createOutbound({ allow: ["127.0.0.0/8"], extraCa: [simulators.ca] });
      const settings = settingsOf(gateway, { endpoint: `${simulators.url}/${name}` });
      const order = orderOf({ sessionId: systemRandom.uuid() });
      assert.equal(
        (
          await gateway.charge(
            order,
            testIo(settings, (request) => outbound.send(request)),
          )
        ).outcome,
        "approved",
      );

      let page = "";
      const vendor = createServer((_request, response) => response.end(page)).listen(0, "127.0.0.1");
      await once(vendor, "listening");
      const { port } = vendor.address() as AddressInfo;
      const io = testIo(settings, async (request) => {
        page = filled(await outbound.send({ ...request }), member);
        return outbound.send({ ...request, url: `http://127.0.0.1:${port}/` });
      });
      const found = await gateway.lookUp!(traceOf(order), io);
      vendor.close();
      assert.equal(found.outcome, "approved", JSON.stringify(found));
    });
  }
});
