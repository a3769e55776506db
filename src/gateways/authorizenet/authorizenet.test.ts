import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { Secret } from "#src/kernel/secret.ts";
import type { GatewayAnswer, Order, Outcome } from "../contract.ts";
import { answered, cardOf, orderOf, traceOf } from "../testing.ts";
import { nameOf } from "./requests.ts";
import { answer, error, FIELDS, gateway, ioWith, LOST, NAME, OK, settings } from "./testing.ts";

const NOT_SENT: GatewayAnswer = { kind: "not sent", reason: "connection refused" };
const APPROVAL = {
  responseCode: "1",
  authCode: "H6K4BU",
  avsResultCode: "Y",
  cvvResultCode: "M",
  cavvResultCode: "2",
  transId: "60198765432",
  refTransID: "",
  testRequest: "0",
  accountNumber: "XXXX4242",
  accountType: "Visa",
  messages: [{ code: "1", description: "This transaction has been approved." }],
  SupplementalDataQualificationIndicator: 0,
  networkTransId: "123456789NNNH",
};
const { messages: _approved, ...UNSETTLED } = APPROVAL;
const REFUSAL = { ...UNSETTLED, responseCode: "2", authCode: "", networkTransId: "" };
const STORED = { customerProfileId: "35959426", customerPaymentProfileIdList: ["32506918"], customerShippingAddressIdList: [] };

const paid = (changes: object = {}) => answer({ transactionResponse: { ...APPROVAL, ...changes } });
const refused = (reason: string, changes: object = {}, outer: object = {}) =>
  answer({ transactionResponse: { ...REFUSAL, errors: [{ errorCode: reason, errorText: "No." }], ...changes }, ...outer });

const charge = (script: GatewayAnswer, order: Partial<Order> = {}, options = {}): Promise<Outcome> =>
  gateway.charge(
    orderOf(order),
    ioWith(() => script, { options: { ...settings.options, ...options } }),
  );
const store = (script: GatewayAnswer): Promise<Outcome> =>
  gateway.tokenize(
    orderOf({ mode: "tokenize" }),
    ioWith(() => script),
  );
const codeOf = (outcome: Outcome) => (outcome.outcome === "declined" ? outcome.code : outcome.outcome);

const ADDRESS = {
  street: "14 Main Street",
  city: "Pecan Springs",
  state: "TX",
  zip: "44629",
  country: "US",
  first_name: null,
  last_name: null,
};

async function sentFor(order: Partial<Order>, options = {}): Promise<string> {
  const io = ioWith(() => LOST, { options: { ...settings.options, ...options } });
  await gateway[order.mode ?? "charge"](orderOf(order), io);
  return io.sent[0]?.body ?? "";
}

describe("authorizenet requests", () => {
  test("a charge is one request, byte for byte in the schema's order", async () => {
    const io = ioWith(() => paid());
    const order = orderOf({ card: cardOf("4242424242424242", { year: "2030", name: "Ada King Byron" }), billingAddress: ADDRESS });
    await gateway.charge(order, io);
    assert.equal(io.sent.length, 1);
    assert.equal(io.sent[0]?.request.url, "https://apitest.authorize.net/xml/v1/request.api");
    assert.deepEqual(io.sent[0]?.request.headers, { "Content-Type": "application/json", Accept: "application/json" });
    assert.equal(
      io.sent[0]?.body,
      '{"createTransactionRequest":{"merchantAuthentication":{"name":"simulator1","transactionKey":"simulatorKey0001"},' +
        `"refId":"${NAME}","transactionRequest":{"transactionType":"authCaptureTransaction","amount":"49.95","currencyCode":"USD",` +
        '"payment":{"creditCard":{"cardNumber":"4242424242424242","expirationDate":"2030-03","cardCode":"123"}},' +
        `"order":{"invoiceNumber":"${NAME}","description":"Invoice 1001"},` +
        '"billTo":{"firstName":"Ada King","lastName":"Byron","address":"14 Main Street","city":"Pecan Springs","state":"TX","zip":"44629","country":"US"},' +
        '"retail":{"marketType":"1"},"transactionSettings":{"setting":[{"settingName":"allowPartialAuth","settingValue":"false"},' +
        '{"settingName":"duplicateWindow","settingValue":"120"},{"settingName":"emailCustomer","settingValue":"false"}]}}}}',
    );
  });

  test("storing a card sends the address and asks the issuer, unless the project turned that off (R-134)", async () => {
    const body = await sentFor({ mode: "tokenize", amountMinor: 0, description: null, billingAddress: ADDRESS });
    assert.equal(
      body,
      '{"createCustomerProfileRequest":{"merchantAuthentication":{"name":"simulator1","transactionKey":"simulatorKey0001"},' +
        `"refId":"${NAME}","profile":{"merchantCustomerId":"${NAME}","paymentProfiles":[{"customerType":"individual",` +
        '"billTo":{"address":"14 Main Street","city":"Pecan Springs","state":"TX","zip":"44629","country":"US"},' +
        '"payment":{"creditCard":{"cardNumber":"4242424242424242","expirationDate":"2060-03","cardCode":"123"}}}]},"validationMode":"liveMode"}}',
    );
    assert.match(await sentFor({ mode: "tokenize" }, { validation: "testMode" }), /"validationMode":"testMode"/);
  });

  test("Authorize Only holds the money; nothing else of the request differs (R-198)", async () => {
    const held = await sentFor({}, { capture: "authorize_only" });
    assert.equal(held.replace("authOnlyTransaction", "authCaptureTransaction"), await sentFor({}));
    assert.ok(held.includes("authOnlyTransaction"));
  });

  test("the names of the address come first, each one missing is the collected one (R-132)", async () => {
    const names = async (first_name: string | null, last_name: string | null, name: string | null) => {
      const card = cardOf("4242424242424242", { name });
      const body = await sentFor({ billingAddress: { ...ADDRESS, first_name, last_name }, card });
      return [/"firstName":"([^"]*)"/.exec(body)?.[1], /"lastName":"([^"]*)"/.exec(body)?.[1]];
    };
    assert.deepEqual(await names("Grace", "Hopper", "Ada Byron"), ["Grace", "Hopper"]);
    assert.deepEqual(await names("Grace", null, "Ada Byron"), ["Grace", "Byron"]);
    assert.deepEqual(await names(null, null, "Ada Byron"), ["Ada", "Byron"]);
    assert.deepEqual(await names(" ", null, "Byron"), [undefined, "Byron"]);
    assert.deepEqual(await names(null, null, null), [undefined, undefined]);
  });

  test("without an address the caller's ZIP goes alone, and without a ZIP there is no billTo (R-408)", async () => {
    assert.match(await sentFor({}), /"billTo":\{"zip":"44628"\}/);
    assert.ok(!(await sentFor({ card: cardOf("4242424242424242", { zip: null, cvv: "" }) })).match(/billTo|cardCode/));
  });

  test("the widget, and a project with `moto` off, send no market type; the widget sends the shopper's IPv4 address alone", async () => {
    for (const body of [await sentFor({ channel: "widget", customerIp: "203.0.113.7" }), await sentFor({}, { moto: false })]) {
      assert.ok(!body.includes("retail"));
    }
    assert.match(await sentFor({ channel: "widget", customerIp: "203.0.113.7" }), /"customerIP":"203.0.113.7","transactionSettings"/);
    assert.ok(!(await sentFor({ channel: "widget", customerIp: "2001:db8::7" })).includes("customerIP"));
  });

  test("text is cut on code points, and what XML cannot carry is left out (R-421)", async () => {
    const body = await sentFor({ description: `a\u0000b\u2028\ud800${"\u{1F600}".repeat(300)}` });
    const { description } = (JSON.parse(body) as { createTransactionRequest: { transactionRequest: { order: { description: string } } } })
      .createTransactionRequest.transactionRequest.order;
    assert.equal(description.length, 255);
    assert.match(description, /^a b\u2028\ufffd\u{1F600}+$/u);
  });

  test("each attempt has a name of its own, of 20 characters", () => {
    const names = [1, 2, 10, 11].map((attempt) => nameOf(orderOf({ attempt })));
    assert.equal(new Set(names).size, 4);
    assert.ok(names.every((name) => name.length === 20));
  });

  test("a card number that the vendor's schema has no room for is refused and not sent", async () => {
    for (const mode of ["charge", "tokenize"] as const) {
      const io = ioWith(() => paid());
      assert.equal(codeOf(await gateway[mode](orderOf({ mode, card: cardOf("6212345678901265123") }), io)), "card_not_supported");
      assert.equal(io.sent.length, 0);
    }
  });

  test("credentials are checked when they are saved", () => {
    const fault = (api_login_id: string, transaction_key: string) =>
      gateway.checkSettings({
        ...settings,
        credentials: { api_login_id: new Secret(api_login_id), transaction_key: new Secret(transaction_key) },
      });
    assert.equal(fault("x", "y"), null);
    assert.match(fault("a".repeat(26), "y") ?? "", /^api_login_id/);
    assert.match(fault("x", "17characters_long") ?? "", /^transaction_key/);
    assert.match(fault("x", "with blank") ?? "", /^transaction_key/);
    assert.match(gateway.checkSettings({ ...settings, credentials: {} }) ?? "", /^api_login_id/);
  });
});

describe("authorizenet approvals", () => {
  test("fill every field of the interface, captured or authorized as was asked (R-198, R-406)", async () => {
    for (const [option, capture] of [
      ["auto", "captured"],
      ["authorize_only", "authorized"],
    ] as const) {
      assert.deepEqual(await charge(paid(), {}, { capture: option }), {
        outcome: "approved",
        capture,
        processor: { ...FIELDS, authnet_capture_status: capture },
      });
    }
  });

  test("a stored card is captured even with Authorize Only, and has the two ids that later charges name (R-199, R-201)", async () => {
    const io = ioWith(() => answer(STORED), { options: { ...settings.options, capture: "authorize_only" } });
    assert.deepEqual(await gateway.tokenize(orderOf({ mode: "tokenize" }), io), {
      outcome: "approved",
      capture: "captured",
      processor: { authnet_customer_profile_id: "35959426", authnet_payment_profile_id: "32506918" },
    });
  });

  const LETTERS = { avs: "YAZNUPBEGRSWX", cvv: "MNPSU", cavv: "0123456789AB" };
  for (const [check, letters] of Object.entries(LETTERS)) {
    test(`every ${check} result is passed on unchanged, a blank one too (R-404)`, async () => {
      for (const letter of ["", ...Array.from(letters)]) {
        const outcome = await charge(paid({ [`${check}ResultCode`]: letter }));
        assert.equal(outcome.outcome === "approved" && outcome.processor[`authnet_${check}_result_code`], letter);
      }
    });
  }

  test("the mocked values of an account in Test Mode are no payment (R-409)", async () => {
    const mocked = await charge(paid({ transId: "0", authCode: "000000", testRequest: "1" }));
    assert.deepEqual([codeOf(mocked), mocked.outcome === "declined" && mocked.processor], ["gateway_misconfigured", {}]);
    assert.match(mocked.outcome === "declined" ? (mocked.reason ?? "") : "", /Test Mode/);
    assert.equal((await charge(paid({ transId: "0" }))).outcome, "unknown");
  });

  for (const [name, changes] of [
    ["reason 295", { messages: [{ code: "295", description: "Partially approved." }] }],
    ["a smaller approved amount", { prePaidCard: { requestedAmount: "49.95", approvedAmount: "1.23", balanceOnCard: "0.00" } }],
    ["held for the rest of the sum", { responseCode: "4", messages: [{ code: "295", description: "Partially approved." }] }],
  ] as const) {
    test(`a partial approval (${name}) is given back and reported as insufficient funds`, async () => {
      const vendor = (given: GatewayAnswer) =>
        ioWith((body) => (body["transactionRequest"]?.["transactionType"] === "voidTransaction" ? given : paid(changes)));
      const io = vendor(paid());
      assert.equal(codeOf(await gateway.charge(orderOf(), io)), "insufficient_funds");
      assert.match(io.sent[1]?.body ?? "", /"transactionType":"voidTransaction","refTransId":"60198765432"/);
      assert.equal((await gateway.charge(orderOf(), vendor(LOST))).outcome, "unknown");
    });
  }
});

/** The sheet's section 6, row by row, without the rows that have tests of their own. */
const MAPPING: readonly (readonly [ours: string, codes: string])[] = [
  ["card_declined", "2 9999"],
  ["do_not_honor", "3"],
  ["fraud_suspected", "41 250 251 254"],
  ["lost_or_stolen", "4"],
  ["incorrect_number", "6 37 315 200"],
  ["invalid_expiry", "7 316 201"],
  ["expired_card", "8 317"],
  ["incorrect_cvc", "44 65 78 165"],
  ["incorrect_zip", "27 127 45 145"],
  ["card_not_supported", "17 28 155"],
  ["processing_error", "5 42 33 290 325 326 328 19 20 21 22 23 25 26 57 58 59 60 61 62 63 120 121 122 170 171 172 173"],
  ["processing_error", "180 181 192 209 214 220 223 224 261"],
  ["limit_exceeded", "49"],
  ["gateway_unavailable", "901"],
  ["gateway_credentials_invalid", "13"],
  ["gateway_misconfigured", "24 29 30 31 32 34 35 38 39 43 56 66 84 85 87 123 128 130 205 206 207 208 289 2007"],
  ["held_for_review", "193 252 253"],
];

describe("authorizenet refusals", () => {
  for (const [ours, codes] of MAPPING) {
    test(`${ours}: reasons ${codes.slice(0, 30)}, whatever the answer as a whole says (R-417)`, async () => {
      for (const code of codes.split(" ")) {
        for (const outer of [{}, error("E00027")]) assert.equal(codeOf(await charge(refused(code, {}, outer))), ours, code);
        if (code !== "2" && code !== "9999") assert.equal(codeOf(await charge(refused(code, { responseCode: "3", transId: "0" }))), ours);
      }
    });
  }

  const ANSWERS: readonly (readonly [code: string, text: string, ours: string])[] = [
    ["E00007", "User authentication failed due to invalid authentication values.", "gateway_credentials_invalid"],
    ["E00008", "The gateway account is inactive.", "gateway_credentials_invalid"],
    ["E00011", "Access denied.", "gateway_misconfigured"],
    ["E00044", "Customer Information Manager is not enabled.", "gateway_misconfigured"],
    ["E00053", "The server is too busy.", "gateway_unavailable"],
    ["E00118", "Your request was blocked.", "fraud_suspected"],
    ["E00013", "Credit Card Number is invalid.", "incorrect_number"],
    ["E00013", "Expiration Date is invalid.", "invalid_expiry"],
    ["E00015", "The field length is invalid for Card Number.", "incorrect_number"],
    ["E00003", "The 'AnetApi/xml/v1/schema/AnetApiSchema.xsd:cardCode' element is invalid", "incorrect_cvc"],
    ["E00003", "The element 'x' has invalid child element 'y'.", "processing_error"],
    ["E99999", "Something new.", "processing_error"],
  ];
  for (const [code, text, ours] of ANSWERS) {
    test(`${code} (${text.slice(0, 30)}) without a transaction is ${ours}, in both modes (R-417)`, async () => {
      assert.equal(codeOf(await charge(answer(error(code, text)))), ours);
      for (const transactionResponse of [{ SupplementalDataQualificationIndicator: 0 }, {}, null, ""])
        assert.equal(codeOf(await charge(answer({ transactionResponse, ...error(code, text) }))), ours);
      assert.equal(codeOf(await store(answer(error(code, text)))), ours);
    });
  }

  test("a duplicate is looked up, and unknown while nothing is found: the first request may have taken the money", async () => {
    for (const code of ["11", "318", "222"]) assert.equal(codeOf(await charge(refused(code))), "unknown");
  });

  test("held for review fails the session, keeps the transaction and leaves the words to us, who say that funds may be held (R-405)", async () => {
    const { networkTransId: _none, ...held } = APPROVAL;
    const outcome = await charge(
      answer({ transactionResponse: { ...held, responseCode: "4", messages: [{ code: "253", description: "Thanks!" }] } }),
    );
    assert.ok(outcome.outcome === "declined");
    assert.deepEqual([outcome.code, outcome.message], ["held_for_review", null]);
    assert.equal(outcome.processor["authnet_transaction_id"], "60198765432");
    assert.equal(outcome.processor["authnet_response_code"], "4");
    assert.ok(!("authnet_capture_status" in outcome.processor));
  });

  test("the processor's own code tells more than reason 2, where there is one", async () => {
    for (const [raw, ours] of [
      ["51", "insufficient_funds"],
      ["05", "do_not_honor"],
      ["61", "limit_exceeded"],
      ["14", "card_declined"],
    ] as const) {
      assert.equal(codeOf(await charge(refused("2", { rawResponseCode: raw }))), ours);
    }
  });

  test("a refusal that an option does without names the option", async () => {
    const helpFor = async (reason: string) => {
      const outcome = await charge(refused(reason, { responseCode: "3", transId: "0" }, error("E00027")));
      return outcome.outcome === "declined" ? (outcome.reason ?? "") : outcome.outcome;
    };
    for (const reason of ["85", "87"]) assert.match(await helpFor(reason), /set moto to false/);
    for (const reason of ["289", "2007"]) assert.match(await helpFor(reason), /set validation to testMode/);
    assert.equal(await helpFor("39"), "");
    const line = ["3", "1", "289", "No.", ...Array.from({ length: 64 }, () => "")].join(",");
    const outcome = await store(answer({ validationDirectResponseList: [line], ...error("E00027") }));
    assert.ok(outcome.outcome === "declined" && outcome.code === "gateway_misconfigured");
    assert.match(outcome.reason ?? "", /testMode/);
  });

  test("a mismatch that one reason stands for is told by the checks' letters; so is a decline without a reason", async () => {
    for (const [cvv, avs, reason, ours] of [
      ["N", "Y", "45", "incorrect_cvc"],
      ["M", "N", "45", "incorrect_zip"],
      ["N", "N", undefined, "incorrect_cvc"],
      ["M", "N", undefined, "incorrect_zip"],
      ["M", "Y", undefined, "card_declined"],
    ] as const) {
      const errors = reason && [{ errorCode: reason, errorText: "No." }];
      const given = { ...REFUSAL, cvvResultCode: cvv, avsResultCode: avs, messages: [{ code: "2", description: "No." }], errors };
      assert.equal(codeOf(await charge(answer({ transactionResponse: given, ...error("E00027") }))), ours);
    }
    assert.equal(
      codeOf(await charge(answer({ transactionResponse: { ...REFUSAL, responseCode: "3", transId: "0" } }))),
      "processing_error",
    );
  });

  test("a decline keeps its ids and letters; a zero or blank id is none; its words lose long digit runs (R-423)", async () => {
    const text = `Card 4242 4242 4242 4242 refused\u0007. ${"x".repeat(900)}`;
    const outcome = await charge(refused("2", { errors: [{ errorCode: "2", errorText: text }] }));
    assert.ok(outcome.outcome === "declined");
    const { authnet_auth_code: _code, authnet_network_trans_id: _network, ...left } = FIELDS;
    assert.deepEqual(outcome.processor, { ...left, authnet_response_code: "2" });
    assert.equal(outcome.message?.length, 255);
    assert.ok(!/\d|\u0007/.test(outcome.message));
    const bad = await charge(refused("6", { responseCode: "3", transId: "0" }));
    assert.ok(bad.outcome === "declined" && !("authnet_transaction_id" in bad.processor));
  });

  test("a refused validation is read from its line, with any delimiter and quotes, else from its words", async () => {
    const line = (reason: string, responseCode = "2", cvv = "") => {
      const fields = [responseCode, "1", reason, "No.", "", "Y", "60198765440", ...Array.from({ length: 61 }, () => "")];
      fields[38] = cvv;
      return fields;
    };
    const none = { customerPaymentProfileIdList: [], customerShippingAddressIdList: [] };
    const refusedAs = async (validation: string | undefined, text = "This transaction has been declined.") =>
      codeOf(await store(answer({ ...none, ...(validation && { validationDirectResponseList: [validation] }), ...error("E00027", text) })));
    assert.equal(await refusedAs(line("4").join(",")), "lost_or_stolen");
    assert.equal(await refusedAs(line("8", "3").join("|")), "expired_card");
    assert.equal(
      await refusedAs(
        line("45", "2", "N")
          .map((field) => `"${field}"`)
          .join(","),
      ),
      "incorrect_cvc",
    );
    assert.equal(await refusedAs(line("252", "4").join(",")), "held_for_review");
    assert.equal(await refusedAs(undefined, "The credit card has expired."), "expired_card");
    assert.equal(await refusedAs("rubbish", "The credit card number is invalid."), "incorrect_number");
    assert.equal(await refusedAs(undefined), "card_declined");
  });
});

describe("authorizenet, lost answers", () => {
  test("a charge or a profile whose answer is lost is sent once and unknown; one that was never sent is not", async () => {
    for (const mode of ["charge", "tokenize"] as const) {
      const io = ioWith(() => LOST);
      assert.equal((await gateway[mode](orderOf({ mode }), io)).outcome, "unknown");
      assert.equal(io.sent.length, 1);
      assert.equal(
        codeOf(
          await gateway[mode](
            orderOf({ mode }),
            ioWith(() => NOT_SENT),
          ),
        ),
        "gateway_unavailable",
      );
    }
  });

  test("a duplicate of our own reference, a failure after approval and a breakdown must be looked up", async () => {
    for (const reason of ["11", "36", "50", "52", "152"]) {
      assert.equal((await charge(refused(reason, { responseCode: "3" }, error("E00027")))).outcome, "unknown", reason);
    }
    // E00049: a database operation timed out. E00062 and E00063: a service behind the gateway broke down. Neither says before what.
    for (const code of ["E00001", "E00049", "E00062", "E00063"])
      assert.equal((await charge(answer(error(code, "An error occurred during processing.")))).outcome, "unknown", code);
    // What it meant counts when nothing is found; a breakdown is the gateway's, as an absence is.
    const refusedAs = async (given: GatewayAnswer) => {
      const io = ioWith(() => given);
      await gateway.charge(orderOf(), io);
      return io.notes["refused_as"];
    };
    for (const reason of ["36", "50", "52", "152"])
      assert.equal(await refusedAs(refused(reason, { responseCode: "3" }, error("E00027"))), "processing_error");
    for (const given of [answer(error("E00001")), refused("2"), paid(), LOST]) assert.equal(await refusedAs(given), undefined);
    assert.equal((await store(answer(error("E00039", "A duplicate record with ID 35959426 already exists.")))).outcome, "unknown");
  });
});

describe("authorizenet never takes an odd answer for a success (R-422)", () => {
  const ODD: readonly (readonly [name: string, answer: GatewayAnswer])[] = [
    ["HTML", answered(200, "<html>OK</html>")],
    ["an empty body", answered(200, "")],
    ["a truncated body", answered(200, JSON.stringify({ transactionResponse: APPROVAL, messages: OK }).slice(0, -1))],
    ["two byte order marks", answered(200, `\ufeff\ufeff${JSON.stringify({ transactionResponse: APPROVAL, messages: OK })}`)],
    ["an approval with errors", paid({ errors: [{ errorCode: "2", errorText: "No." }] })],
    ["an answer to another request", answered(200, { refId: "another", transactionResponse: APPROVAL, messages: OK })],
    ["a flood, turned away without words of the vendor's", answered(429, "<html>Too many requests</html>")],
    ["another status than 200", answered(500, { refId: NAME, transactionResponse: APPROVAL, messages: OK })],
    [
      "a duplicate key",
      answered(200, `{"transactionResponse":{"responseCode":"2","responseCode":"1","transId":"1"},"messages":${JSON.stringify(OK)}}`),
    ],
    ["success without a transaction", answer({})],
    ["a list for a transaction", answer({ transactionResponse: [APPROVAL] })],
    ["a profile without a card", answer({ ...STORED, customerPaymentProfileIdList: [] })],
  ];
  for (const [name, odd] of ODD) {
    test(`${name} is unknown`, async () => {
      assert.equal((await charge(odd)).outcome, "unknown");
      assert.equal((await store(odd)).outcome, "unknown");
    });
  }

  test("response code and transaction id replaced by any other JSON value are never approved", async () => {
    const property = fc.asyncProperty(fc.constantFrom("responseCode", "transId"), fc.jsonValue(), async (member, value) => {
      fc.pre(!/^"?[1-9][0-9]*"?$/.test(JSON.stringify(value)));
      assert.notEqual((await charge(paid({ [member]: value }))).outcome, "approved");
    });
    await fc.assert(property, { numRuns: 300 });
  });

  test("any bytes and any JSON with any status are never approved, in either mode, nor found by a look-up", async () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
    );
    const property = fc.asyncProperty(fc.integer({ min: 100, max: 599 }), bodies, async (status, body) => {
      const odd: GatewayAnswer = { kind: "answered", status, headers: {}, body };
      for (const mode of ["charge", "tokenize"] as const) {
        const order = orderOf({ mode });
        assert.notEqual(
          (
            await gateway[mode](
              order,
              ioWith(() => odd),
            )
          ).outcome,
          "approved",
        );
        assert.notEqual(
          (
            await gateway.lookUp!(
              traceOf(order),
              ioWith(() => odd),
            )
          ).outcome,
          "approved",
        );
      }
    });
    await fc.assert(property, { numRuns: 200 });
  });
});
