import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, settingsOf, testIo } from "../testing.ts";
import type { GatewayAnswer } from "../contract.ts";
import { declined, isDone, isGone, refundOnce, voidElseRefund } from "./index.ts";
import type { Answered, ReversalStep } from "./index.ts";

const LOST: GatewayAnswer = { kind: "lost", reason: "reset" };
const NOT_SENT: GatewayAnswer = { kind: "not sent", reason: "refused" };
const said = (step: ReversalStep) => answered(200, step);
const [DONE, REFUSED, NONE_LEFT, UNCLEAR] = [said("done"), said("settled already"), said("none left"), said("unclear")];
const read = ({ body }: Answered) => Buffer.from(body).toString() as ReversalStep;

const request = (step: string) => () => ({ method: "POST", url: `https://vendor.example/${step}`, headers: {} }) as const;
const ioOf = (answers: readonly GatewayAnswer[]) => {
  const left = [...answers];
  return testIo(settingsOf(GATEWAYS_BUILT.stripe!), () => Promise.resolve(left.shift()!));
};

/** One reversal after the other, as the janitor tries them with the notes that the ones before left. */
async function reversals(secondRefund: "harmless" | undefined, ...tries: (readonly GatewayAnswer[])[]): Promise<string[]> {
  const [results, notes]: [string[], Record<string, string>] = [[], {}];
  for (const answers of tries) {
    const io = ioOf(answers);
    const steps = { void: request("void"), refund: request("refund"), ...(secondRefund && { secondRefund }) };
    const isDone = await voidElseRefund(io, steps, read, { ...notes });
    Object.assign(notes, io.notes);
    results.push(`${io.sent.map(({ request: { url } }) => url.slice(url.lastIndexOf("/") + 1)).join("+")} ${isDone}`);
  }
  return results;
}

describe("a void, else a refund", () => {
  for (const second of ["harmless", undefined] as const) {
    test(`is a refund only after a clear refusal of the void; a second refund ${second ?? "perhaps pays twice"}`, async () => {
      assert.deepEqual(await reversals(second, [DONE]), ["void true"]);
      for (const answer of [LOST, NOT_SENT, UNCLEAR]) assert.deepEqual(await reversals(second, [answer]), ["void false"]);
      for (const answer of [REFUSED, NONE_LEFT]) assert.deepEqual(await reversals(second, [answer, DONE]), ["void+refund true"]);
    });

    test(`sends a refund again that was refused or never left; a second refund ${second ?? "perhaps pays twice"}`, async () => {
      for (const answer of [REFUSED, NONE_LEFT, NOT_SENT])
        assert.deepEqual(await reversals(second, [REFUSED, answer], [REFUSED, DONE]), ["void+refund false", "void+refund true"]);
    });

    test(`takes "none left" as done only while a step's answer is missing; a second refund ${second ?? "perhaps pays twice"}`, async () => {
      assert.deepEqual(await reversals(second, [REFUSED, NONE_LEFT]), ["void+refund false"]);
      assert.deepEqual(await reversals(second, [LOST], [NONE_LEFT, NONE_LEFT]), ["void false", "void+refund true"]);
      assert.deepEqual(await reversals(second, [NOT_SENT], [NONE_LEFT, NONE_LEFT]), ["void false", "void+refund false"]);
    });

    test(`forgets a void without an answer once a refund is refused; a second refund ${second ?? "perhaps pays twice"}`, async () => {
      assert.deepEqual(await reversals(second, [LOST], [REFUSED, REFUSED], [NONE_LEFT, NONE_LEFT]), [
        "void false",
        "void+refund false",
        "void+refund false",
      ]);
    });
  }

  test("a refund without a clear answer is sent again only where a second one is harmless (R-422)", async () => {
    for (const answer of [LOST, UNCLEAR]) {
      assert.deepEqual(await reversals("harmless", [REFUSED, answer], [REFUSED, NONE_LEFT]), ["void+refund false", "void+refund true"]);
      assert.deepEqual(await reversals(undefined, [REFUSED, answer], [REFUSED]), ["void+refund false", "void false"]);
    }
    assert.deepEqual(await reversals("harmless", [REFUSED, LOST], [REFUSED, REFUSED], [REFUSED, NONE_LEFT]), [
      "void+refund false",
      "void+refund false",
      "void+refund false",
    ]);
  });

  test("a refund that was done is not sent again by a process that does not know it", async () => {
    assert.deepEqual(await reversals(undefined, [REFUSED, DONE], [REFUSED]), ["void+refund true", "void false"]);
  });

  test("what the version before noted of a reversal without an answer may have been its refund", async () => {
    const io = ioOf([REFUSED]);
    const steps = { void: request("void"), refund: request("refund") };
    assert.equal(await voidElseRefund(io, steps, read, { reversal: "sent" }), false);
    assert.equal(io.sent.length, 1);
  });

  test("nothing is sent when the refund cannot be noted", async () => {
    const io = ioOf([]);
    io.note = () => Promise.reject(new Error("the database is away"));
    await assert.rejects(refundOnce(io, () => io.send(request("refund")()), read, {}));
    assert.equal(io.sent.length, 0);
  });
});

test("a single step back is done only where the vendor says so (R-422)", async () => {
  const done = await Promise.all(
    [DONE, REFUSED, NONE_LEFT, UNCLEAR, LOST, NOT_SENT].map((answer) => isDone(ioOf([answer]), request("void")(), read)),
  );
  assert.deepEqual(done, [true, false, false, false, false, false]);
  assert.deepEqual(await Promise.all([LOST, answered(204, "")].map((answer) => isDone(ioOf([answer]), request("card")(), isGone))), [
    false,
    true,
  ]);
});

test("a refund for which there was no access token was not sent, and is the next time", async () => {
  const io = ioOf([]);
  assert.equal(await refundOnce(io, () => Promise.resolve(declined("gateway_credentials_invalid")), read), false);
  assert.equal(await refundOnce(ioOf([]), () => Promise.resolve(DONE), read, io.notes), true);
});

test("a stored card is gone where the vendor says so; a page before it says nothing (I4)", () => {
  const gone = (status: number, body: unknown) => {
    const answer = answered(status, body);
    return answer.kind === "answered" && isGone(answer);
  };
  assert.deepEqual([gone(204, ""), gone(200, { deleted: true }), gone(404, { error: {} })], [true, true, true]);
  assert.deepEqual(
    [gone(200, "<html>"), gone(404, "<html>"), gone(404, ""), gone(401, {}), gone(500, {})],
    [false, false, false, false, false],
  );
});
