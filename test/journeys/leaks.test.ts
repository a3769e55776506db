import assert from "node:assert/strict";
import { test } from "node:test";
import { openTelephone } from "#softphone/caller.ts";
import { findCards } from "../../prove/kill/scan.ts";
import { searchable } from "./searchable.ts";
import { shared, startService } from "./service.ts";
import { PROMPT_CACHE } from "./installation.ts";

/** After payments of every kind, nothing that this service wrote may hold a card number or a security code. */

/** Luhn-valid numbers that appear nowhere else in this project, and a code that no number in the log is written like: a time in ms may be 8317. */
const CARDS = ["4916338506082832", "5425233430109903", "4000000000000002"];
const CODE = "0317";
const AMEX = "374245455400126";

const telephone = await shared(openTelephone(PROMPT_CACHE));
const service = await shared(startService());

test("no card number and no security code is in logs, data folder, WAL or output, and a planted one is found (S-04, S-06, S-07)", async () => {
  const pay = async (card: string, code: string, fields: object = {}, callerLeaves = false) => {
    const { session_id, sip_uri } = await service.create(fields);
    const keys = `${card}#1230#${code}#94105#1`;
    const turns = [
      { do: "wait for", text: "payment line" } as const,
      { do: "dtmf", digits: keys } as const,
      ...(callerLeaves ? [{ do: "wait for", text: "One moment" } as const, { do: "hang up" } as const] : []),
    ];
    await telephone.call({
      target: sip_uri,
      turns: callerLeaves ? turns : [...turns, { do: "wait", seconds: 3 }, { do: "hang up" }],
    });
    return session_id;
  };
  const ended = await Promise.all([
    pay(CARDS[0] ?? "", "831"),
    pay(AMEX, CODE),
    pay(CARDS[2] ?? "", "831"),
    pay(CARDS[1] ?? "", "831", { gateway: "webhook" }),
    pay(CARDS[1] ?? "", "831", { mode: "tokenize", amount: "0" }),
    pay(CARDS[0] ?? "", "831", { gateway: "webhook", mode: "tokenize", amount: "0" }, true),
  ]);
  for (const id of ended) assert.notEqual((await service.session(id))["status"], "PENDING");
  // Speech off or on, a card number typed where it does not belong is refused without an echo.
  const refused = await service.request("POST", "/v1/sessions", {
    project: "shop",
    caller: CARDS[0],
    amount: CARDS[0],
    mode: CARDS[1],
    gateway: AMEX,
  });
  assert.equal(refused.status, 422);
  const cards = [...CARDS, AMEX];
  assert.deepEqual(findCards([["answer", Buffer.from(JSON.stringify(refused.body))]], cards, cards), []);

  const places = await searchable(service);
  assert.ok(places.length > 1);
  assert.deepEqual(findCards(places, cards, cards), []);
  const withCode = places.filter(([where, bytes]) => where === "output" && new RegExp(`\\b${CODE}\\b`).test(bytes.toString("latin1")));
  assert.deepEqual(
    withCode.map(([where]) => where),
    [],
  );

  // The search is no better than what it would have found.
  const [planted] = CARDS as [string];
  const groups = planted.match(/.{4}/g) ?? [];
  const forms = [
    `{"note":"${planted}"}`,
    groups.join(" "),
    groups.join("-"),
    Buffer.from(planted).toString("hex"),
    planted.split("").toReversed().join(""),
    ...["", "x", "xy"].map((before) => Buffer.from(`${before}${planted} and more`).toString("base64")),
  ].map((text) => Buffer.from(text));
  for (const form of [...forms, Buffer.from(planted, "utf16le")]) {
    assert.equal(findCards([["planted", Buffer.concat([Buffer.from("x"), form, Buffer.from("y")])]], [planted], [planted]).length, 1);
  }
});
