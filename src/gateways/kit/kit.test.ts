import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Cell } from "#src/kernel/card.ts";
import { Secret } from "#src/kernel/secret.ts";
import type { Gateway, GatewayIo, Order, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";
import { Joined, PartOf, formBody, jsonBody, jsonNumber } from "./body.ts";
import { guarded } from "./guard.ts";
import { at, readJson, textAt } from "./json.ts";
import { holdsNumber, words } from "./scrub.ts";

const NUMBER = Cell.fromText("4242424242424242");

test("words loses runs of twelve digits and more however they are spaced, and nothing shorter (R-423)", () => {
  assert.equal(words("call 1-800-555-0199 about 4242 4242 4242 4242"), "call 1-800-555-0199 about");
  assert.equal(words("12345678901"), "12345678901");
  assert.equal(words("123456789012"), null);
  assert.equal(words("a\u0000b\r\nc"), "a b c");
  assert.equal(words("\ud800x"), "\ufffdx");
  assert.equal(words(undefined), null);
});

test("no text that words lets through holds a card number", () => {
  const around = fc.array(fc.oneof(fc.string(), fc.constantFrom("4242424242424242", "4242 4242-4242.4242", "４２４２424242424242")));
  fc.assert(
    fc.property(around, (parts) => {
      assert.ok(!/\d{12}/.test(words(parts.join("")) ?? ""));
    }),
  );
});

test("a card number is found whatever stands between its digits", () => {
  for (const text of ["x4242424242424242y", "4-2-4-2-4242 4242 4242", "1234242424242424242", "４２42424242424242"]) {
    assert.ok(holdsNumber(text, NUMBER), text);
  }
  assert.ok(!holdsNumber("4242424242424241", NUMBER));
  assert.ok(!holdsNumber("", new Cell(19)));
});

test("a JSON path never reaches into prototypes, arrays or strings", () => {
  const body = readJson(Buffer.from('{"a":{"b":"c"},"list":[1],"__proto__":{"x":"y"}}'));
  assert.equal(textAt(body, "a", "b"), "c");
  assert.equal(at(body, "list", "0"), undefined);
  assert.equal(at(body, "constructor"), undefined);
  assert.equal(textAt(body, "a", "b", "length"), undefined);
  assert.equal(textAt(body, "__proto__", "x"), "y");
  assert.equal(readJson(Buffer.from("[]")), null);
});

test("form fields survive any text, lone surrogates too", () => {
  const body = Buffer.from(
    formBody([
      ["a", "x&y=z \ud800"],
      ["b", null],
      ["c", NUMBER],
    ]),
  ).toString();
  assert.equal(body, "a=x%26y%3Dz%20%EF%BF%BD&c=4242424242424242");
});

test("cells are joined with text between them as one value, in JSON and in a form", () => {
  const [month, year] = [Cell.fromText("03"), Cell.fromText("2060")];
  assert.equal(
    Buffer.from(jsonBody({ a: jsonNumber("12.30"), b: [jsonNumber("212000000001")] })).toString(),
    '{"a":12.30,"b":[212000000001]}',
  );
  assert.equal(Buffer.from(jsonBody({ a: new Joined(year, "-", month) })).toString(), '{"a":"2060-03"}');
  assert.equal(Buffer.from(formBody([["a", new Joined(month, new PartOf(year, 2))]])).toString(), "a=0360");
});

function gatewayThat(charge: (order: Order, io: GatewayIo) => Promise<Outcome>): Gateway {
  const verbs = { charge, tokenize: charge, lookUp: () => Promise.reject(new Error("broken")) };
  return guarded(GATEWAYS_BUILT.stripe!, verbs, { resolve: (settings) => settings });
}

test("an adapter that breaks after it sent something is an unknown outcome that says where, not an exception (R-422)", async () => {
  const broken = gatewayThat(async (_order, io) => {
    await io.send({ method: "GET", url: "https://vendor.example", headers: {} });
    throw new TypeError("holds 4242424242424242");
  });
  const io = testIo(settingsOf(broken), () => Promise.resolve({ kind: "lost", reason: "" }));
  const outcome = await broken.charge(orderOf(), io);
  assert.ok(outcome.outcome === "unknown");
  assert.match(outcome.reason, /^the gateway's adapter failed \(TypeError at kit\/kit\.test\.ts:\d+\)$/);
  assert.equal((await broken.lookUp!(traceOf(orderOf()), io)).outcome, "unknown");
});

test("an adapter that breaks before it sent anything has charged nothing", async () => {
  const broken = gatewayThat(() => Promise.reject(new Error("broken")));
  const io = testIo(settingsOf(broken), () => Promise.resolve({ kind: "lost", reason: "" }));
  const outcome = await broken.charge(orderOf(), io);
  assert.equal(outcome.outcome === "declined" && outcome.code, "processing_error");
});

test("a vendor's text with a NUL, half a surrogate pair or more than 255 characters is dropped, never the outcome (R-436)", async () => {
  for (const bad of ["a\u0000b", "half \ud83d", "\udc00", "line\nbreak", "x".repeat(256)]) {
    const careless = gatewayThat(async (_order, io) => {
      await io.note({ bad, good: "id_1" });
      return { outcome: "approved", capture: "captured", processor: { bad, good: "id_1" }, webhookProcessor: { bad } };
    });
    const io = testIo(settingsOf(careless), () => Promise.resolve({ kind: "lost", reason: "" }));
    const outcome = await careless.charge(orderOf(), io);
    assert.ok(outcome.outcome === "approved");
    assert.deepEqual([outcome.processor, outcome.webhookProcessor, io.notes], [{ good: "id_1" }, {}, { good: "id_1" }]);
    const declining = guarded(
      GATEWAYS_BUILT.stripe!,
      {
        charge: async () => outcome,
        tokenize: async () => outcome,
        lookUp: async () => ({ outcome: "declined", code: "card_declined", message: bad, processor: { bad } }),
      },
      { resolve: (settings) => settings },
    );
    const found = await declining.lookUp!(traceOf(orderOf()), io);
    assert.ok(found.outcome === "declined");
    assert.deepEqual(found.processor, {});
    assert.ok((found.message ?? "").isWellFormed() && !/\p{Cc}/u.test(found.message ?? ""));
  }
});

test("no kept field and no note repeats the card number or is longer than 255, whatever the adapter passes on (R-423)", async () => {
  const careless = gatewayThat(async (_order, io) => {
    await io.note({ good: "id_1", echo: "4242-4242-4242-4242" });
    const processor = { good: "id_1", echo: "pi_4242424242424242", long: "x".repeat(256), blank: "" };
    return { outcome: "approved", capture: "captured", processor, webhookProcessor: { echo: "4242424242424242", auth_only: true } };
  });
  const io = testIo(settingsOf(careless), () => Promise.resolve({ kind: "lost", reason: "" }));
  const outcome = await careless.charge(orderOf(), io);
  assert.ok(outcome.outcome === "approved");
  assert.deepEqual(outcome.processor, { good: "id_1", blank: "" });
  assert.deepEqual(outcome.webhookProcessor, { auth_only: true });
  assert.deepEqual(io.notes, { good: "id_1" });
});

test("no kept field, note or support id repeats the security code as a word; ids that hold its digits by chance are kept", async () => {
  const card = cardOf("4242424242424242", { cvv: "987" });
  const echoes = ["987", "cvv:987", "９８７", "CVV 987 is wrong", "x_987-y"];
  const ids = ["57-9-198700", "pi_x987y", "a987", "9870", "3f6c0a5e-1234-4c7a-8e21-5d0f7b6a1c22-1"];
  const fields = Object.fromEntries([...echoes, ...ids].map((value, index) => [`f${index}`, value]));
  const kept = Object.fromEntries(Object.entries(fields).slice(echoes.length));
  const careless = gatewayThat(async (_order, io) => {
    await io.note(fields);
    return { outcome: "approved", capture: "captured", processor: fields, webhookProcessor: fields, supportId: "cvv-987" };
  });
  const io = testIo(settingsOf(careless), () => Promise.resolve({ kind: "lost", reason: "" }));
  const outcome = await careless.charge(orderOf({ card }), io);
  assert.ok(outcome.outcome === "approved");
  assert.deepEqual([outcome.processor, outcome.webhookProcessor, io.notes], [kept, kept, kept]);
  assert.match(outcome.reason ?? "", /security code/);
  assert.equal(outcome.supportId, undefined);
  const amex = await careless.charge(orderOf({ card: cardOf("371449635398431", { cvv: "1234" }) }), io);
  assert.deepEqual(amex.outcome === "approved" && amex.processor, fields);
});

test("a note of the merchant's own setting is kept whatever the card: the look-up goes by it", async () => {
  const noting = gatewayThat(async (_order, io) => {
    await io.note({ account: "ACME-987", other: "OTHER-987" });
    return { outcome: "declined", code: "card_declined", message: null, processor: {} };
  });
  const settings = { ...settingsOf(noting), credentials: { merchant_account: new Secret("ACME-987") } };
  const io = testIo(settings, () => Promise.resolve({ kind: "lost", reason: "" }));
  await noting.charge(orderOf({ card: cardOf("4242424242424242", { cvv: "987" }) }), io);
  assert.deepEqual(io.notes, { account: "ACME-987" });
});

test("a refusal whose answer names a duplicate, in whatever form, is looked up as one; the refusal stands once no first one is found (R-422)", async () => {
  const answerTo = (status: number, body: string) => ({ kind: "answered", status, headers: {}, body: Buffer.from(body) }) as const;
  const charged = async (
    status: number,
    body: string,
    { idempotency }: Pick<Gateway["capabilities"], "idempotency"> = { idempotency: "none" },
  ) => {
    const refused: Outcome = { outcome: "declined", code: "gateway_misconfigured", message: null, processor: {} };
    const verb = async (_order: Order, io: GatewayIo) => {
      await io.send({ method: "POST", url: "https://vendor.example", headers: {} });
      return refused;
    };
    const lookUp = async () => ({ outcome: "absent" }) as const;
    const { nmi } = GATEWAYS_BUILT;
    const gateway = guarded(
      { ...nmi!, capabilities: { ...nmi!.capabilities, idempotency } },
      { charge: verb, tokenize: verb, lookUp },
      { resolve: (settings) => settings },
    );
    const io = testIo(settingsOf(gateway), () => Promise.resolve(answerTo(status, body)));
    return [(await gateway.charge(orderOf(), io)).outcome, io.notes["refused_as"]];
  };
  assert.deepEqual(await charged(400, '{"message":"Duplicate request"}'), ["unknown", "gateway_misconfigured"]);
  assert.deepEqual(await charged(409, "<html>DUPLICATE</html>"), ["unknown", "gateway_misconfigured"]);
  // A name of a field, an answer that is no refusal, and a vendor whose key replays.
  assert.deepEqual(await charged(400, '{"declineDuplicates":false,"is_duplicate":"N","duplicateOf":null}'), ["declined", undefined]);
  assert.deepEqual(await charged(200, '{"message":"Duplicate request"}'), ["declined", undefined]);
  assert.deepEqual(await charged(400, '{"message":"Duplicate request"}', { idempotency: "replay" }), ["declined", undefined]);
});

test("the look-up of a duplicate is scrubbed as the attempt is, while its card is there", async () => {
  const duplicate: Outcome = { outcome: "declined", code: "duplicate_transaction", message: null, processor: {} };
  const processor = { good: "id_1", code: "987", number: "4242424242424242" };
  const twice = guarded(
    { ...GATEWAYS_BUILT.nmi! },
    {
      charge: async () => duplicate,
      tokenize: async () => duplicate,
      lookUp: async (_attempt, io: GatewayIo) => {
        await io.note(processor);
        return { outcome: "approved", capture: "captured", processor };
      },
    },
    { resolve: (settings) => settings },
  );
  const io = testIo(settingsOf(twice), () => Promise.resolve({ kind: "lost", reason: "" }));
  const outcome = await twice.charge(orderOf({ card: cardOf("4242424242424242", { cvv: "987" }) }), io);
  assert.ok(outcome.outcome === "approved");
  assert.deepEqual([outcome.processor, io.notes], [{ good: "id_1" }, { refused_as: "duplicate_transaction", good: "id_1" }]);
});

test("a decline's code and words are dropped when they repeat the card number, however it is spelt (R-256, R-423)", async () => {
  const decline = async (publicCode: string, message: string) => {
    const refusal: Outcome = { outcome: "declined", code: "card_declined", publicCode, publicMessage: message, message, processor: {} };
    const gateway = gatewayThat(async () => refusal);
    const io = testIo(settingsOf(gateway), () => Promise.resolve({ kind: "lost", reason: "" }));
    const outcome = await gateway.charge(orderOf(), io);
    assert.ok(outcome.outcome === "declined");
    return [outcome.publicCode, outcome.publicMessage, outcome.message];
  };
  for (const spelt of ["4242-4242-4242-4242", "4242.4242_4242.4242", "4_2_4_2_4_2_4_2_4_2_4_2_4_2_4_2"]) {
    assert.deepEqual(await decline(spelt, `no: ${spelt}`), ["card_declined", undefined, null]);
  }
  assert.deepEqual(await decline("E-42", "Ask 42 times"), ["E-42", "Ask 42 times", "Ask 42 times"]);
  const long = "x".repeat(600);
  assert.deepEqual(await decline("E-42", long), ["E-42", long.slice(0, 500), long.slice(0, 255)]);
});

test("a decline's words and its code are dropped when they repeat the security code", async () => {
  const decline = async (message: string, publicCode = "E-17") => {
    const gateway = gatewayThat(async () => ({ outcome: "declined", code: "incorrect_cvc", publicCode, message, processor: {} }));
    const io = testIo(settingsOf(gateway), () => Promise.resolve({ kind: "lost", reason: "" }));
    const outcome = await gateway.charge(orderOf({ card: cardOf("4242424242424242", { cvv: "987" }) }), io);
    assert.ok(outcome.outcome === "declined");
    return publicCode === "E-17" ? outcome.message : outcome.publicCode;
  };
  for (const code of ["987", "cvv-987"]) assert.equal(await decline("no", code), "incorrect_cvc");
  assert.equal(await decline("no", "E-9870"), "E-9870");
  for (const message of ["Value '987' of field cvv is invalid", "CVV2: 987", "９８７", "cvv=987"])
    assert.equal(await decline(message), null, message);
  for (const message of ["CVV is invalid", "Code 9870", "0.1987", ""]) assert.equal(await decline(message), message || null);
});
