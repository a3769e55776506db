import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { simulatorNames, startSimulators } from "./index.ts";
import type { Simulators } from "./index.ts";
import { cardNumbersIn } from "./kit/cards.ts";
import { changed, senderTo } from "./kit/wrong-requests.ts";
import type { Send, WrongRequests } from "./kit/wrong-requests.ts";

const LEAST = 25;

let simulators: Simulators;
before(async () => {
  simulators = await startSimulators({ port: 0, host: "127.0.0.1" });
});
after(() => simulators.close());

for (const name of simulatorNames()) {
  const { wrongRequests } = (await import(`./${name}/wrong-requests.ts`)) as { wrongRequests: WrongRequests };
  const { requests, cases, codeOf, sign } = wrongRequests;
  const send: Send = (sent) => senderTo(simulators, name)(sign?.(sent) ?? sent);

  describe(`the ${name} simulator refuses what the vendor refuses`, () => {
    for (const [request, make] of Object.entries(requests)) {
      test(`${request} is accepted as it stands`, async () => {
        const answer = await send(await make(send));
        assert.equal(codeOf(answer), null, answer.text);
      });
    }

    test("many ways to be wrong are tried, each of them once", () => {
      const told = cases.map(([request, changes]) => JSON.stringify([request, changes], (_name, value: unknown) => value ?? "absent"));
      assert.ok(new Set(told).size >= LEAST, `only ${new Set(told).size}`);
      assert.equal(new Set(told).size, told.length);
    });

    for (const [request, changes, code] of cases) {
      const told = Object.entries(changes).map(
        ([field, value]) => `${field} ${value === undefined ? "left out" : JSON.stringify(value).slice(0, 60)}`,
      );
      test(`${request}: ${told.join(", ")} -> ${String(code)}`, async () => {
        const made = await requests[request]?.(send);
        assert.ok(made, `no request is called ${request}`);
        const answer = await senderTo(simulators, name)(changed(made, changes, sign));
        const said = codeOf(answer);
        if (typeof code === "string") assert.equal(said, code, answer.text);
        else assert.match(said ?? "accepted", code, answer.text);
        assert.deepEqual(cardNumbersIn(answer.text), [], "the answer holds a card number");
      });
    }
  });
}
