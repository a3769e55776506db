import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, GatewaySettings, Outcome } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { SESSION, answered, cardOf, orderOf, settingsOf, testIo, traceOf } from "../testing.ts";

const cardconnect = GATEWAYS_BUILT.cardconnect!;
const ORDER_ID = `ps-${orderOf().reference}`;
const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };

/** The sheet's recorded answers. */
const PAID = {
  amount: "49.95",
  resptext: "Approval",
  commcard: " C ",
  cvvresp: "M",
  batchid: "1900941444",
  avsresp: " ",
  respcode: "00",
  merchid: "496160873888",
  token: "9405701444882224",
  authcode: "PPS500",
  respproc: "FNOR",
  retref: "363652261392",
  respstat: "A",
  account: "9405701444882224",
};
const DECLINED = {
  respproc: "FNOR",
  amount: "0.00",
  resptext: "Insufficient funds",
  retref: "005533134378",
  respstat: "C",
  respcode: "NU",
  token: "9435885049491053",
};
const TIMED_OUT = { ...DECLINED, resptext: "Timed out", setlstat: "Declined", respcode: "62", respproc: "PPS", respstat: "B" };
const NOT_FOUND = { respproc: "PPS", resptext: "Txn not found", respcode: "29", respstat: "C" };
const STORED = { ...PAID, amount: "0.00", profileid: "16700875781344019340", acctid: "1" };
const VOIDED = { ...PAID, amount: "0.00", authcode: "REVERS" };

function ioWith(answers: readonly GatewayAnswer[], changes: Partial<GatewaySettings> = {}) {
  let count = 0;
  return testIo({ ...settingsOf(cardconnect), ...changes }, () => Promise.resolve(answers[Math.min(count++, answers.length - 1)]!));
}
const charge = (...answers: (object | GatewayAnswer)[]): Promise<Outcome> =>
  cardconnect.charge(orderOf(), ioWith(answers.map((answer) => ("kind" in answer ? answer : answered(200, answer)))));
const look = (answer: object | GatewayAnswer, order = orderOf()) =>
  cardconnect.lookUp!(traceOf(order), ioWith(["kind" in answer ? answer : answered(200, answer)]));
const storing = orderOf({ mode: "tokenize", amountMinor: 0 });
const codeOf = (outcome: { outcome: string; code?: string }) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

describe("cardconnect requests", () => {
  test("a sale is the sheet's JSON at the site's own host, under Basic authentication", async () => {
    const io = ioWith([answered(200, PAID)]);
    const card = cardOf("4788250000121443", { month: "05", year: "2030", name: "Jané Doe", zip: "19406-1234" });
    const outcome = await cardconnect.charge(orderOf({ card }), io);
    assert.deepEqual(outcome, { outcome: "approved", capture: "captured", processor: { cardconnect_retref: "363652261392" } });
    const { request, body } = io.sent[0]!;
    assert.equal(`${request.method} ${request.url}`, "POST https://fts-uat.cardconnect.com/cardconnect/rest/auth");
    assert.deepEqual(request.headers, {
      "Content-Type": "application/json",
      Accept: "application/json",
      Authorization: "Basic ZXhhbXBsZXVzZXI6ZXhhbXBsZXBhc3M=",
    });
    assert.equal(
      body,
      `{"merchid":"496160873888","orderid":"${ORDER_ID}","amount":"49.95","currency":"USD",` +
        '"account":"4788250000121443","expiry":"0530","cvv2":"123","name":"Jane Doe","postal":"194061234",' +
        '"ecomind":"T","capture":"Y","tokenize":"N","receipt":"N","userfields":[{"udf0":"Invoice 1001"}]}',
    );
  });

  test("a postal code that is none of the country's is not sent as one, which the vendor would refuse; a Canadian one names Canada", async () => {
    const sent = async (zip: string, country?: string) => {
      const credentials = { ...settingsOf(cardconnect).credentials, ...(country !== undefined && { country: new Secret(country) }) };
      const io = ioWith([answered(200, PAID)], { credentials });
      await cardconnect.charge(orderOf({ card: cardOf("4242424242424242", { zip }) }), io);
      const body = JSON.parse(io.sent[0]!.body) as { postal?: string; country?: string };
      return [body.postal, body.country];
    };
    assert.deepEqual(await sent("44628-1234"), ["446281234", undefined]);
    assert.deepEqual(await sent("K1A 0B1"), ["K1A0B1", "CA"]);
    assert.deepEqual(await sent("k1a0b1", "US"), ["k1a0b1", "CA"]);
    // The digits of a Canadian or British code, as a call takes them, and codes that do not tell their country.
    for (const zip of ["102", "21", "SW1A 1AA", "1234567890"]) assert.deepEqual(await sent(zip), [undefined, undefined], zip);
    assert.deepEqual(await sent("102", "CA"), ["102", "CA"]);
    assert.deepEqual(await sent("SW1A 1AA", "GB"), ["SW1A1AA", "GB"]);
  });

  test("live hosts have no -uat; the widget is e-commerce; empty fields are left out; a country is named where there is one", async () => {
    const credentials = { ...settingsOf(cardconnect).credentials, site: new Secret("isv"), country: new Secret("CA") };
    const io = ioWith([answered(200, PAID)], { environment: "live", endpoint: cardconnect.hosts.live, credentials });
    const card = cardOf("4788250000121443", { cvv: "", zip: null });
    await cardconnect.charge(orderOf({ card, channel: "widget", description: " " }), io);
    assert.equal(io.sent[0]?.request.url, "https://isv.cardconnect.com/cardconnect/rest/auth");
    assert.partialDeepStrictEqual(JSON.parse(io.sent[0].body), { ecomind: "E", country: "CA" });
    assert.doesNotMatch(io.sent[0].body, /cvv2|postal|userfields|name|""/);
  });

  test("an order id never looks like a card number, which the vendor would hide: the attempt would not be found again (R-422)", async () => {
    const sent = async (sessionId: string) => {
      const io = ioWith([answered(200, PAID)]);
      await cardconnect.charge(orderOf({ sessionId }), io);
      return (JSON.parse(io.sent[0]!.body) as { orderid: string }).orderid;
    };
    // A run of digits and dashes; digits that pass the Luhn check when all else is left out.
    for (const risky of ["a1b2c3d4-e5f6-4a7b-9012-345678901234", "3f6c0a5e-9b1d-4c7a-8e21-5d0f7b6a1c26"]) {
      assert.match(await sent(risky), /^ps-[a-z]{32}$/, risky);
      assert.equal(await sent(risky), await sent(risky));
    }
    assert.equal(await sent(SESSION), ORDER_ID);
  });

  test("an amount always has its point and two places, or is refused", async () => {
    const io = ioWith([answered(200, { ...PAID, amount: "500.00" })]);
    assert.equal((await cardconnect.charge(orderOf({ amountMinor: 500, currency: "JPY" }), io)).outcome, "approved");
    assert.equal((JSON.parse(io.sent[0]!.body) as { amount: string }).amount, "500.00");
    const none = ioWith([answered(200, PAID)]);
    assert.equal(codeOf(await cardconnect.charge(orderOf({ amountMinor: 1235, currency: "KWD" }), none)), "gateway_misconfigured");
    assert.equal(none.sent.length, 0);
  });

  test("a card is verified by an authorization of nothing that makes its profile, or stored unseen", async () => {
    const io = ioWith([answered(200, STORED)]);
    const outcome = await cardconnect.tokenize(storing, io);
    assert.deepEqual(outcome.outcome === "approved" && outcome.processor, { cardconnect_profile_id: "16700875781344019340/1" });
    assert.partialDeepStrictEqual(JSON.parse(io.sent[0]!.body), {
      amount: "0",
      profile: "Y",
      cof: "C",
      cofscheduled: "N",
      cofpermission: "Y",
      ecomind: "T",
      cvv2: "123",
    });
    assert.doesNotMatch(io.sent[0]!.body, /capture/);
    const unseen = ioWith([answered(200, { ...STORED, respcode: "09", resptext: "Profile Saved", respproc: "PPS" })], {
      options: { verify: false },
    });
    assert.equal((await cardconnect.tokenize(storing, unseen)).outcome, "approved");
    assert.equal(unseen.sent[0]?.request.url, "https://fts-uat.cardconnect.com/cardconnect/rest/profile");
    assert.equal(
      unseen.sent[0].body,
      '{"merchid":"496160873888","account":"4242424242424242","expiry":"0360","postal":"44628","cofpermission":"Y","defaultacct":"Y"}',
    );
  });

  test("credentials are refused by name", () => {
    const fault = (name: string, value: string) =>
      cardconnect.checkSettings({
        ...settingsOf(cardconnect),
        credentials: { ...settingsOf(cardconnect).credentials, [name]: new Secret(value) },
      });
    assert.match(fault("merchant_id", "4961-60873888") ?? "", /^merchant_id is not a number/);
    assert.match(fault("username", "user:name") ?? "", /^username is not/);
    assert.match(fault("country", "usa") ?? "", /^country is not/);
    for (const site of ["fts-uat", "fts.evil", "fts/x", "FTS", "-fts", ""]) assert.match(fault("site", site) ?? "", /^site is not/, site);
    assert.equal(fault("site", "isv"), null);
  });
});

/** Codes of the sheet's table: a code means another thing at each processor. */
const CODES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  PPS: {
    incorrect_number: "11 12 13 99",
    incorrect_cvc: "14 37 38",
    invalid_expiry: "15",
    expired_card: "16",
    incorrect_zip: "17 35 101",
    fraud_suspected: "18 19",
    card_not_supported: "33 44",
    gateway_misconfigured: "41 43 21 22 23 31 32 34 48 92 94 95 97 102 103 104 96 98",
    limit_exceeded: "42",
    gateway_unavailable: "61 91 93",
  },
  FNOR: {
    do_not_honor: "01 05",
    card_declined: "51 12 NN ZZ",
    insufficient_funds: "NU",
    incorrect_number: "14 N3",
    expired_card: "54",
    incorrect_cvc: "C2",
    lost_or_stolen: "60",
    card_not_supported: "57 63",
    limit_exceeded: "61 NH NQ NR",
    authentication_required: "1A 1B",
    gateway_misconfigured: "03 13 25 89 NP",
    processing_error: "28 91 CE NL NM NK",
  },
  RPCT: {
    do_not_honor: "100 107 108 727",
    card_declined: "500 504 302 304 332 104 940 399",
    insufficient_funds: "116",
    incorrect_number: "118 131 303 373 726",
    expired_card: "101 509 510 511",
    invalid_expiry: "132 518",
    incorrect_cvc: "517 954 958 959",
    incorrect_zip: "721",
    lost_or_stolen: "208 209 704 767",
    fraud_suspected: "102 105 122 129 514 729",
    limit_exceeded: "121 123 152 154 521 528 554 771 782 805 809 817 824 924",
    card_not_supported: "119 120 512 513 526 941",
    authentication_required: "351 531 540",
    gateway_misconfigured: "001 109 110 130 150 355 515 527 722 904",
    processing_error: "505 508 516 906 907 909 911 920 923 963",
  },
};

describe("cardconnect responses", () => {
  for (const [respproc, table] of Object.entries(CODES)) {
    test(`every code of ${respproc} means what the vendor says, in both modes (R-417)`, async () => {
      for (const [ours, codes] of Object.entries(table)) {
        for (const respcode of codes.split(" ")) {
          const said = { ...DECLINED, respproc, respcode, resptext: "No." };
          assert.equal(codeOf(await charge(said)), ours, respcode);
          assert.equal(codeOf(await cardconnect.tokenize(storing, ioWith([answered(200, said)]))), ours, respcode);
        }
      }
    });
  }

  test("a decline keeps its retref with the leading zeros, and the vendor's words", async () => {
    const outcome = await charge({ ...DECLINED, resptext: " Insufficient funds " });
    assert.deepEqual(outcome, {
      outcome: "declined",
      code: "insufficient_funds",
      message: "Insufficient funds",
      processor: { cardconnect_retref: "005533134378" },
    });
  });

  test("other processors' codes are not guessed at, but for their plain words; what failed without a code is a processing error", async () => {
    const other = (resptext: string, more: object = {}) => charge({ ...DECLINED, respproc: "VPS", respcode: "14", resptext, ...more });
    assert.equal(codeOf(await other("Insufficient funds")), "insufficient_funds");
    assert.equal(codeOf(await other("Expired card")), "expired_card");
    assert.equal(codeOf(await other("Pick up card")), "lost_or_stolen");
    assert.equal(codeOf(await other("CVV2 mismatch")), "incorrect_cvc");
    assert.equal(codeOf(await other("Amex CID mismatch")), "incorrect_cvc");
    assert.equal(codeOf(await other("Wrong expiration date")), "expired_card");
    assert.equal(codeOf(await other("Do not honor")), "do_not_honor");
    assert.equal(codeOf(await other("Suspected fraud")), "fraud_suspected");
    // American Express', Paymentech's, Tampa's and Vantiv's words in the vendor's own list.
    for (const [ours, texts] of Object.entries({
      incorrect_number: ["Invalid card", "Invalid card number", "Invalid CC number", "Check digit error"],
      invalid_expiry: ["Invalid expiry", "Invalid expiry date"],
      incorrect_zip: ["AVS mismatch"],
      limit_exceeded: ["Limit exceeded", "Exceeds withdrawal limit", "Over activity limit", "Velocity limit exceeded"],
      card_not_supported: ["Card type not allowed", "Invalid card for merchant", "Invalid txn for card"],
      do_not_honor: ["Refer to issuer", "Refer to issuer - special", "Call", "Call issuer"],
      gateway_misconfigured: ["Invalid merchant", "Invalid Amex merchant", "Invalid merchant code", "Invalid term id"],
      card_declined: ["Invalid transaction", "No such card issuer", "PIN tries exceeded", "Invalid PIN"],
    }))
      for (const text of texts) assert.equal(codeOf(await other(text)), ours, text);
    // First Data Nashville speaks First Data North's codes.
    assert.equal(codeOf(await other("No.", { respproc: "NASH", respcode: "54" })), "expired_card");
    assert.equal(codeOf(await other("Declined")), "card_declined");
    assert.equal(codeOf(await other("Declined", { cvvresp: "N" })), "incorrect_cvc");
    assert.equal(codeOf(await other("Insufficient funds", { respstat: "B" })), "processing_error");
    assert.equal(codeOf(await charge({ ...DECLINED, respproc: "constructor", respcode: "constructor" })), "insufficient_funds");
  });

  test("a merchant that cannot verify cards is told of the option", async () => {
    const refused = { ...DECLINED, respproc: "PPS", respcode: "43", resptext: "Invalid amount" };
    const outcome = await cardconnect.tokenize(storing, ioWith([answered(200, refused)]));
    assert.match((outcome.outcome === "declined" && outcome.reason) || "", /option verify/);
  });

  test("a duplicate is looked up before it counts", async () => {
    for (const [respproc, respcode, resptext = "No."] of [
      ["PPS", "36"],
      ["FNOR", "94"],
      ["RPCT", "913"],
      ["NASH", "94"],
      ["VANT", "98", "Duplicate transaction"],
      ["PMT", "234", "Duplicate order number"],
      ["MNS", "98", " Duplicate "],
    ]) {
      const refused = { ...DECLINED, respproc, respcode, resptext };
      assert.equal((await charge(refused, PAID)).outcome, "approved");
      assert.equal((await charge(refused, NOT_FOUND)).outcome, "unknown");
    }
  });

  test("a part is voided, after the batch refunded, and unknown when that fails", async () => {
    const part = { ...PAID, amount: "5.00", resptext: "Partial Approval", respcode: "10" };
    const io = ioWith([
      answered(200, part),
      answered(200, DECLINED),
      answered(200, { ...part, setlstat: "Accepted" }),
      answered(200, VOIDED),
    ]);
    assert.equal(codeOf(await cardconnect.charge(orderOf(), io)), "insufficient_funds");
    assert.deepEqual(
      [io.sent[1]!, io.sent[3]!].map(({ request, body }) => [request.url.split("/").at(-1), body]),
      [
        ["void", '{"merchid":"496160873888","retref":"363652261392"}'],
        ["refund", `{"merchid":"496160873888","retref":"363652261392","orderid":"ps-${orderOf().reference}-r"}`],
      ],
    );
    assert.equal(codeOf(await charge(part, VOIDED)), "insufficient_funds");
    assert.equal((await charge(part, LOST)).outcome, "unknown");
  });

  test("a processor that did not answer the gateway is a doubt; the inquiry's own word on it counts", async () => {
    for (const respcode of ["62", "63", "64", "65", "66"]) {
      for (const respstat of ["A", "B", "C"]) assert.equal((await charge({ ...TIMED_OUT, respcode, respstat })).outcome, "unknown");
    }
    assert.equal(codeOf(await look(TIMED_OUT)), "gateway_unavailable");
    assert.equal((await look({ ...TIMED_OUT, setlstat: undefined })).outcome, "unknown");
    // Of the vendor's lists: First Data Omaha, DPS, Credorax, Rapid Connect.
    for (const [respproc, respcode, respstat, resptext] of [
      ["FOMA", "09", "B", "Timeout - retry"],
      ["DPS", "U9", "B", "Timeout"],
      ["CRDX", "04", "C", "Interchange timeout"],
      ["CRDX", "08", "C", "Time-Out"],
      ["RPCT", "911", "C", "Card issuer timed out"],
    ] as const) {
      const silent = { ...DECLINED, respproc, respcode, respstat, resptext };
      assert.equal((await charge(silent)).outcome, "unknown", resptext);
      assert.equal((await look({ ...silent, setlstat: "Declined" })).outcome, "declined", resptext);
    }
  });

  test("any other sum, result, id or status is never approved (R-422)", async () => {
    const odd = [
      { amount: "49.96" },
      { amount: "-49.95" },
      { amount: undefined },
      { retref: "" },
      { retref: "constructor" },
      { respstat: "" },
      { respstat: "constructor" },
      { respcode: "76" },
      { respproc: "NASH", respcode: "76" },
      { respproc: "FOMA", respcode: "76" },
      { respproc: "AMEX", respcode: "400" },
      { amount: "0.00" },
    ];
    for (const change of odd) assert.equal((await charge({ ...PAID, ...change })).outcome, "unknown", JSON.stringify(change));
    for (const answer of [
      answered(200, "<html>"),
      answered(200, [PAID]),
      answered(500, PAID),
      answered(408, PAID),
      answered(400, ""),
      LOST,
    ])
      assert.equal((await charge(answer)).outcome, "unknown");
    assert.equal(codeOf(await charge(answered(400, { message: "bad", errorcode: 49 }))), "gateway_misconfigured");
    assert.equal(codeOf(await charge(answered(401, ""))), "gateway_credentials_invalid");
    const path = "/cardconnect/rest/auth";
    assert.equal(codeOf(await charge(answered(404, { status: 404, error: "Not Found", path }))), "gateway_misconfigured");
    assert.equal(codeOf(await charge(answered(404, { status: 404, error: "Not Found" }))), "unknown", "of a proxy before or behind it");
    assert.equal(codeOf(await charge(answered(429, { error: "rate limited" }))), "gateway_unavailable");
  });

  test("an answer about another order decides nothing and voids nothing, nor does an approval with a refusal's code (R-422)", async () => {
    const alone = async (answer: object) => {
      const io = ioWith([answered(200, answer)]);
      assert.equal((await cardconnect.charge(orderOf(), io)).outcome, "unknown", JSON.stringify(answer));
      assert.equal(io.sent.length, 1);
    };
    for (const orderId of ["another", [ORDER_ID], 7])
      for (const one of [PAID, DECLINED, { ...PAID, amount: "5.00" }]) await alone({ ...one, orderId });
    for (const [respproc, respcode] of [
      ["FNOR", "NU"],
      ["FNOR", "05"],
      ["RPCT", "116"],
      ["PPS", "13"],
    ])
      await alone({ ...PAID, respproc, respcode });
    await alone({ ...PAID, currency: ["USD"] });
    assert.equal((await charge({ ...PAID, orderId: ORDER_ID, currency: " USD " })).outcome, "approved");
    const part = { ...PAID, amount: "5.00", respproc: "RPCT", respcode: "100" };
    assert.equal(codeOf(await charge(part, VOIDED)), "insufficient_funds");
    const stored = ioWith([answered(200, { ...STORED, respcode: "NU" })]);
    assert.equal(codeOf(await cardconnect.tokenize(storing, stored)), "gateway_unavailable");
  });

  test("a lost store is sent again, since it takes nothing; a profile without its account is none", async () => {
    const store = (...answers: GatewayAnswer[]) => cardconnect.tokenize(storing, ioWith(answers));
    assert.equal((await store(LOST, answered(500, ""), answered(200, STORED))).outcome, "approved");
    assert.equal(codeOf(await store(LOST)), "gateway_unavailable");
    const io = ioWith([LOST, LOST, LOST, answered(200, [STORED, STORED])]);
    assert.equal((await cardconnect.tokenize(storing, io)).outcome, "approved");
    assert.match(io.sent[3]?.request.url ?? "", /inquireByOrderid/);
    assert.equal(codeOf(await store(answered(200, { ...STORED, acctid: undefined }))), "gateway_unavailable");
  });
});

describe("cardconnect look-ups", () => {
  test("an inquiry goes by our order id at this merchant, percent-encoded", async () => {
    const io = ioWith([answered(200, NOT_FOUND)]);
    assert.equal((await cardconnect.lookUp!(traceOf(orderOf()), io)).outcome, "absent");
    const { method, url } = io.sent[0]!.request;
    assert.equal(`${method} ${url}`, `GET https://fts-uat.cardconnect.com/cardconnect/rest/inquireByOrderid/${ORDER_ID}/496160873888/1`);
  });

  test("one hit or several: a refused twin does not hide the one that stands, two that stand are a doubt", async () => {
    const found = { ...PAID, setlstat: "Queued for Capture" };
    assert.equal((await look(found)).outcome, "approved");
    assert.equal((await look([DECLINED, found])).outcome, "approved");
    assert.equal((await look([found, { ...found, retref: "363652261393" }])).outcome, "unknown");
    assert.equal(codeOf(await look(DECLINED)), "insufficient_funds");
    assert.equal(codeOf(await look({ ...found, setlstat: "Voided" })), "processing_error");
    assert.equal((await look({ ...found, amount: "50.00" })).outcome, "unknown");
    assert.equal((await look({ ...found, currency: "CAD" })).outcome, "unknown");
    assert.equal((await look({ ...found, currency: "USD" })).outcome, "approved");
    for (const answer of [LOST, answered(401, ""), answered(429, {}), answered(200, "x")])
      assert.equal((await look(answer)).outcome, "unknown");
  });

  test("a second delivery that was refused as a duplicate is passed over: it neither hides the first one nor proves anything of it", async () => {
    const found = { ...PAID, setlstat: "Queued for Capture" };
    for (const [respproc, respcode] of [
      ["PPS", "36"],
      ["FNOR", "94"],
      ["RPCT", "913"],
      ["MNS", "98"],
    ] as const) {
      const twin = { ...DECLINED, respproc, respcode, resptext: "Duplicate" };
      for (const listed of [twin, { ...twin, setlstat: "Declined" }]) {
        assert.equal((await look([found, listed])).outcome, "approved", respproc);
        assert.equal((await look([listed, DECLINED])).outcome, "declined", respproc);
        assert.equal((await look([listed])).outcome, "absent", respproc);
      }
      assert.equal((await look([{ ...twin, setlstat: "Declined" }, STORED], storing)).outcome, "approved");
      assert.equal((await look({ ...twin, orderId: `${ORDER_ID}1` })).outcome, "unknown");
      assert.equal((await look({ ...twin, setlstat: "Accepted" })).outcome, "unknown");
    }
  });

  test("a refusal of the inquiry itself decides nothing, nor does another order's payment or one that is approved and not settled", async () => {
    for (const [respcode, respstat] of [
      ["32", "C"],
      ["23", "C"],
      ["43", "C"],
      ["61", "B"],
      ["91", "B"],
      ["93", "B"],
    ] as const) {
      const refused = { respproc: "PPS", resptext: "No.", respcode, respstat };
      for (const order of [orderOf(), storing]) {
        assert.equal((await look(refused, order)).outcome, "unknown", respcode);
        assert.equal((await look({ ...refused, setlstat: " " }, order)).outcome, "unknown", respcode);
      }
      assert.equal((await look({ ...refused, setlstat: "Declined" })).outcome, "declined", respcode);
    }
    assert.equal((await look({ ...PAID, orderId: `${ORDER_ID}1` })).outcome, "unknown");
    assert.equal((await look({ ...PAID, orderId: ORDER_ID })).outcome, "approved");
    for (const setlstat of ["Declined", "Rejected"]) assert.equal((await look({ ...PAID, setlstat })).outcome, "unknown");
    for (const setlstat of ["Queued for Capture", "Authorized", "Accepted"])
      assert.equal((await look({ ...DECLINED, setlstat })).outcome, "unknown");
    assert.equal(codeOf(await look({ ...DECLINED, setlstat: "Declined" })), "insufficient_funds");
    // Nothing found has a code of its own.
    assert.equal((await look(answered(200, []))).outcome, "unknown");
    assert.equal((await look([{ ...PAID, orderId: "another" }, NOT_FOUND])).outcome, "unknown");
  });

  test("a part that an inquiry finds is voided too", async () => {
    const io = ioWith([answered(200, { ...PAID, amount: "5.00" }), answered(200, VOIDED)]);
    assert.equal(codeOf(await cardconnect.lookUp!(traceOf(orderOf()), io)), "insufficient_funds");
    assert.match(io.sent[1]?.request.url ?? "", /\/void$/);
  });

  test("a stored card is found with its profile, however often it was verified", async () => {
    assert.equal((await look([DECLINED, STORED, STORED], storing)).outcome, "approved");
    assert.equal((await look({ ...STORED, profileid: undefined }, storing)).outcome, "unknown");
    assert.equal((await look(NOT_FOUND, storing)).outcome, "absent");
  });

  test("a payment is voided by its retref; a profile never, another session may have it", async () => {
    const reverse = (order: typeof storing, ...answers: object[]) =>
      cardconnect.void!(traceOf(order), ioWith(answers.map((answer) => answered(200, answer))));
    assert.deepEqual(await reverse(orderOf(), PAID, NOT_FOUND, VOIDED), { outcome: "voided" });
    assert.deepEqual(await reverse(orderOf(), NOT_FOUND), { outcome: "absent" });
    assert.equal((await reverse(orderOf(), PAID, NOT_FOUND, { ...DECLINED, respstat: "B" })).outcome, "unknown");
    assert.equal((await reverse(storing, STORED)).outcome, "unknown");
  });

  test("a void that is granted as `Txn Settled` is none: the payment is refunded (R-422)", async () => {
    const settled = answered(200, { ...VOIDED, respproc: "PPS", respcode: "26", resptext: "Txn Settled" });
    const answers = [answered(200, PAID), answered(200, NOT_FOUND), settled];
    const refunded = ioWith([...answers, answered(200, PAID), answered(200, { ...VOIDED, respproc: "PPS" })]);
    assert.deepEqual(await cardconnect.void!(traceOf(orderOf()), refunded), { outcome: "voided" });
    assert.equal(refunded.sent.at(-1)?.request.url.split("/").at(-1), "refund");
    assert.equal((await cardconnect.void!(traceOf(orderOf()), ioWith(answers))).outcome, "unknown");
    // A void that arrived twice, and was refused for the first one: what is voided is not refunded.
    const twice = ioWith([
      answered(200, PAID),
      answered(200, NOT_FOUND),
      answered(200, DECLINED),
      answered(200, { ...PAID, setlstat: "Voided" }),
    ]);
    assert.deepEqual([(await cardconnect.void!(traceOf(orderOf()), twice)).outcome, twice.sent.length], ["voided", 4]);
  });

  test("a refund whose answer was lost is found by its own order id, and none is sent again while that is not known (R-422)", async () => {
    const refund = {
      ...PAID,
      retref: "134550534076",
      authcode: "REFUND",
      setlstat: "Queued for Capture",
      orderId: `ps-${orderOf().reference}-r`,
    };
    for (const [found, outcome] of [
      [answered(200, refund), "voided"],
      [answered(200, { ...refund, setlstat: "Declined" }), "unknown"],
      [answered(200, { ...refund, orderId: `ps-${orderOf().reference}` }), "unknown"],
      [answered(200, { ...refund, orderId: undefined }), "voided"],
      [answered(200, { ...refund, orderId: undefined, retref: PAID.retref }), "unknown"],
      [answered(200, { ...refund, orderId: undefined, retref: undefined }), "unknown"],
      [answered(200, { ...refund, amount: "9.95" }), "unknown"],
      [answered(200, { ...refund, currency: "CAD" }), "unknown"],
      [answered(200, { ...refund, setlstat: undefined }), "unknown"],
      [answered(200, DECLINED), "unknown"],
      [answered(503, {}), "unknown"],
      [LOST, "unknown"],
    ] as const) {
      const io = ioWith([answered(200, PAID), found]);
      assert.equal((await cardconnect.void!(traceOf(orderOf()), io)).outcome, outcome);
      assert.equal(io.sent.length, 2);
    }
  });

  test("a refund without a clear answer is not sent again while an inquiry does not show it: the vendor knows no repetition (R-422)", async () => {
    const tooLate = answered(200, { ...DECLINED, respstat: "C" });
    for (const [first, outcome, sent] of [
      [LOST, "unknown", 3],
      [answered(200, { ...DECLINED, respstat: "B" }), "unknown", 3],
      [answered(200, { ...DECLINED, respproc: "CRDX", respcode: "04", resptext: "Interchange timeout" }), "unknown", 3],
      [answered(200, { ...TIMED_OUT, respstat: "C" }), "unknown", 3],
      [answered(200, { ...DECLINED, respproc: "PPS", respcode: "36" }), "unknown", 3],
      [answered(200, { ...DECLINED, respproc: "VANT", respcode: "94", resptext: "Duplicate transaction" }), "unknown", 3],
      [tooLate, "voided", 5],
    ] as const) {
      const io = ioWith([answered(200, PAID), answered(200, NOT_FOUND), tooLate, answered(200, PAID), first]);
      assert.equal((await cardconnect.void!(traceOf(orderOf()), io)).outcome, "unknown");
      const later = ioWith([answered(200, PAID), answered(200, NOT_FOUND), tooLate, answered(200, PAID), answered(200, VOIDED)]);
      assert.equal((await cardconnect.void!(traceOf(orderOf(), io.notes), later)).outcome, outcome);
      assert.equal(later.sent.length, sent);
    }
  });

  test("what was approved in part is not refunded twice either, however often it is looked up", async () => {
    const part = { ...PAID, amount: "5.00", resptext: "Partial Approval", respcode: "10" };
    const tooLate = answered(200, { ...DECLINED, respstat: "C" });
    const io = ioWith([answered(200, part), tooLate, answered(200, part), LOST]);
    assert.equal((await cardconnect.lookUp!(traceOf(orderOf()), io)).outcome, "unknown");
    const later = ioWith([answered(200, part), tooLate]);
    assert.equal((await cardconnect.lookUp!(traceOf(orderOf(), io.notes), later)).outcome, "unknown");
    assert.equal(later.sent.length, 2);
  });
});
