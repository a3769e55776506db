import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GATEWAYS } from "#src/kernel/payment.ts";
import { BODY, KEYS, startTestApi, type TestApi } from "../testing.ts";

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.close());

const create = (changes: object = {}, options: object = {}) =>
  api.call("POST", "/v1/sessions", { body: { ...BODY, ...changes }, ...options });
const get = async (id: string) => (await api.call("GET", `/v1/sessions/${id}`)).json();

test("a minimal body makes a session that reads back as PENDING (R-080 to R-085, R-150, R-159)", async () => {
  const response = await create();
  assert.equal(response.statusCode, 201);
  const { session_id: id, created_at, ...rest } = response.json();
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual(rest, { status: "created", phone_number: "+15550001111", sip_uri: `sip:${id}@127.0.0.1:5060` });
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(await get(id), {
    session_id: id,
    status: "PENDING",
    is_terminal: false,
    processor: null,
    error: null,
    amount: "10.00",
    currency: "USD",
    mode: "charge",
    description: null,
    caller: "+14155550100",
    project_slug: "shop",
    gateway: "stripe",
    callback: null,
    memory: null,
    transfer_status: null,
    created_at,
    updated_at: created_at,
    expires_at: new Date(Date.parse(created_at) + 300_000).toISOString(),
    completed_at: null,
    step: null,
  });
});

test("texts come back as they were sent, whatever script they are in (R-421, R-125)", async () => {
  const description = "e\u0301 \u05d0\u05d1 👩‍👩‍👧 \u2028 <script>";
  const memory = "m".repeat(16 * 1024 - 4) + "😀";
  const session = await get((await create({ description, memory, callback: "sip:agent@pbx.example;transport=tcp" })).json().session_id);
  assert.equal(session.description, description);
  assert.equal(session.memory, memory);
  assert.equal(session.callback, "sip:agent@pbx.example;transport=tcp");
});

test("a project is named by UUID of any case or by slug; archived and foreign ones do not exist (R-090 to R-093, R-053)", async () => {
  const [project] = (await api.call("GET", "/v1/projects")).json();
  for (const name of [project.id, project.id.toUpperCase(), "shop"]) assert.equal((await create({ project: name })).statusCode, 201, name);
  const [theirs] = (await api.call("GET", "/v1/projects", { key: KEYS.other })).json();
  for (const name of ["nowhere", "SHOP", "closed", "theirs", theirs.id]) {
    const response = await create({ project: name });
    assert.equal(response.statusCode, 404, name);
    assert.equal(response.payload, '{"detail":"Project not found"}');
  }
});

test("a caller is kept in one canonical form (R-100)", async () => {
  for (const caller of ["+14155550100", "+1 (415) 555-0100", "+1.415.555.0100"]) {
    assert.equal((await get((await create({ caller })).json().session_id)).caller, "+14155550100");
  }
});

test("what is no E.164 number is refused as caller (R-101)", async () => {
  for (const caller of [
    "4155550100",
    "0014155550100",
    "tel:+14155550100",
    "+04155550100",
    "+1234567890123456",
    "+1415555010a",
    "+１４１５５５５０１００",
    "",
    "+",
    "+14155550100\n",
  ]) {
    const response = await create({ caller });
    assert.equal(response.statusCode, 422, caller);
    assert.deepEqual(
      response.json().detail.map((item: { loc: unknown }) => item.loc),
      [["body", "caller"]],
    );
  }
});

test("a gateway that the project has no credentials for is refused at create; unknown names are not gateways (R-121, R-122)", async () => {
  for (const gateway of GATEWAYS) {
    const response = await create({ gateway });
    if (gateway === "stripe") assert.equal(response.statusCode, 201);
    else
      assert.deepEqual(
        response.json().detail.map(({ loc, type }: { loc: unknown; type: unknown }) => [loc, type]),
        [[["body", "gateway"], "gateway_not_configured"]],
      );
  }
  for (const gateway of ["paypal", "Stripe", ""]) assert.equal((await create({ gateway })).json().detail[0].type, "enum");
});

test("the mode is one of two words (R-120)", async () => {
  for (const mode of ["CHARGE", " charge", null, "", 1]) {
    const [item] = (await create({ mode })).json().detail;
    assert.deepEqual(item, { type: "enum", loc: ["body", "mode"], msg: "Input should be 'charge' or 'tokenize'" });
  }
});

test("a connected account needs the project's platform key, and is ignored for other gateways (R-126, R-127)", async () => {
  const account = { stripe_account: "acct_1ABC" };
  assert.deepEqual((await create(account)).json().detail[0].loc, ["body", "stripe_account"]);
  assert.equal((await create({ ...account, project: "platform" })).statusCode, 201);
  const refused = (await create({ ...account, gateway: "nmi" })).json().detail;
  assert.deepEqual(
    refused.map((item: { loc: unknown }) => item.loc),
    [["body", "gateway"]],
  );
  for (const bad of ["acct_", "acct_1\n", "ACCT_1", "acct_ü", `acct_${"a".repeat(251)}`]) {
    assert.equal((await create({ stripe_account: bad, project: "platform" })).statusCode, 422, bad);
  }
});

test("an address is checked for every gateway and kept for authorizenet alone (R-128, R-130, R-133)", async () => {
  const address = { street: "1 Main", city: "X", state: "CA", zip: "94105-1234" };
  const id = (await create({ billing_address: address })).json().session_id;
  assert.equal((await api.sessions.find(api.database.db, id))?.billingAddress, null);
  const limits: Record<string, [number, number]> = {
    street: [1, 60],
    city: [1, 40],
    state: [2, 40],
    zip: [3, 20],
    country: [2, 60],
    first_name: [0, 50],
    last_name: [0, 50],
  };
  for (const [field, [min, max]] of Object.entries(limits)) {
    const status = async (length: number) => (await create({ billing_address: { ...address, [field]: "x".repeat(length) } })).statusCode;
    assert.deepEqual(await Promise.all([min, max, max + 1].map(status)), [201, 201, 422], field);
    if (min > 0) assert.equal(await status(min - 1), 422, field);
  }
  for (const field of ["street", "city", "state", "zip"]) {
    const { [field]: _, ...rest } = address as Record<string, string>;
    assert.deepEqual((await create({ billing_address: rest })).json().detail[0], {
      type: "missing",
      loc: ["body", "billing_address", field],
      msg: "Field required",
    });
  }
});

test("response_status replaces the status of success and of nothing else (R-140, R-141, R-143)", async () => {
  const post = (status: string, options = {}) => api.call("POST", `/v1/sessions?response_status=${status}`, { body: BODY, ...options });
  for (const status of ["200", "201", "202", "203", "206", "226", "299"]) {
    const response = await post(status);
    assert.equal(response.statusCode, Number(status));
    assert.deepEqual(Object.keys(response.json()), ["session_id", "status", "phone_number", "sip_uri", "created_at"]);
  }
  assert.equal((await post("200", { body: {} })).statusCode, 422);
  assert.equal((await post("200", { key: null })).statusCode, 401);
});

test("a response_status that is no such status makes no session (R-141, R-142)", async () => {
  const sessions = () => api.database.db.selectFrom("sessions").select("id").execute();
  const before = (await sessions()).length;
  const wrong = [
    "204",
    "205",
    "100",
    "101",
    "199",
    "300",
    "302",
    "304",
    "400",
    "404",
    "500",
    "599",
    "600",
    "0",
    "-1",
    "999",
    "1e30",
    "abc",
    "",
    "null",
    "2e2",
    "200.0",
    "%20200",
    "%2B200",
    "200&response_status=200",
  ];
  for (const status of wrong) {
    const response = await api.call("POST", `/v1/sessions?response_status=${status}`, { body: BODY });
    assert.equal(response.statusCode, 422, status);
    assert.deepEqual(response.json().detail[0].loc, ["query", "response_status"]);
  }
  assert.equal((await sessions()).length, before);
});

test("the session of a caller is the newest open one, else the one that ended last (R-160, R-161, R-162, R-102)", async () => {
  const caller = "+14155550177";
  const find = (query: string, key: string = KEYS.test) => api.call("GET", `/v1/sessions?caller=${query}`, { key });
  assert.equal((await find("+14155550177")).payload, '{"detail":"Session not found"}');
  const [a, b, c] = [
    await api.createSession({ caller }),
    await api.createSession({ caller, project: "yen" }),
    await api.createSession({ caller }),
  ];
  const cancel = (id: string | undefined) => api.call("POST", `/v1/sessions/${id}/cancel`);
  await cancel(a);
  for (const query of ["+14155550177", "%2B14155550177", "%2B1%20415%20555%200177"]) assert.equal((await find(query)).json().session_id, c);
  assert.equal((await find("%2B14155550177&project=yen")).json().session_id, b);
  assert.equal((await find("%2B14155550177", KEYS.other)).statusCode, 404);
  assert.equal((await find("%2B14155550177", KEYS.live)).statusCode, 404);
  await cancel(c);
  assert.equal((await find("+14155550177")).json().session_id, b);
  await cancel(b);
  assert.equal((await find("+14155550177")).json().session_id, b);
  assert.deepEqual((await api.call("GET", "/v1/sessions")).json().detail, [
    { type: "missing", loc: ["query", "caller"], msg: "Field required" },
  ]);
  for (const query of ["", "4155550177", "x"]) assert.deepEqual((await find(query)).json().detail[0].loc, ["query", "caller"]);
});

test("an id is a UUID with or without hyphens, in any case (R-151, R-152)", async () => {
  const id = await api.createSession();
  for (const form of [id, id.toUpperCase(), id.replaceAll("-", "")]) assert.equal((await get(form)).session_id, id);
  for (const [text, why] of [
    ["abc", "invalid length: expected length 32 for simple format, found 3"],
    [`{${id}}`, "invalid character: found `{` at 1"],
    [`urn:uuid:${id}`, "invalid character: found `u` at 1"],
    [id.slice(0, -2), "invalid group length in group 4: expected 12, found 10"],
    [`${id}-`, "invalid group count: expected 5, found 6"],
    ["%zz", "invalid character: found `%` at 1"],
    ["\0", "invalid character: found `\0` at 1"],
  ] as const) {
    const response = await api.call("GET", `/v1/sessions/${encodeURI(text).replace("%25zz", "%zz")}`);
    assert.equal(response.statusCode, 422, text);
    assert.deepEqual(response.json().detail, [
      { type: "uuid_parsing", loc: ["path", "session_id"], msg: `Input should be a valid UUID, ${why}` },
    ]);
  }
});

test("another organisation's session, another mode's and none at all answer with the same bytes (R-052, R-053)", async () => {
  const id = await api.createSession();
  for (const [method, path] of [
    ["GET", ""],
    ["GET", "/stream"],
    ["POST", "/cancel"],
  ] as const) {
    const none = await api.call(method, `/v1/sessions/00000000-0000-4000-8000-000000000000${path}`);
    assert.equal(none.statusCode, 404);
    for (const key of [KEYS.other, KEYS.live]) {
      const foreign = await api.call(method, `/v1/sessions/${id}${path}`, { key });
      const { "x-request-id": _a, date: _b, ...headers } = foreign.headers;
      const { "x-request-id": _c, date: _d, ...expected } = none.headers;
      assert.deepEqual([foreign.statusCode, foreign.payload, headers], [none.statusCode, none.payload, expected]);
    }
  }
  assert.equal((await get(id)).status, "PENDING");
});

test("a waiting session can be cancelled once (R-180, R-182, R-183)", async () => {
  const id = await api.createSession();
  const cancel = (body?: string) =>
    api.call("POST", `/v1/sessions/${id}/cancel?x=1`, body === undefined ? {} : { body, headers: { "content-type": "nonsense" } });
  const first = await cancel("not json");
  assert.deepEqual([first.statusCode, first.payload], [204, ""]);
  const session = await get(id);
  assert.deepEqual([session.status, session.is_terminal, session.completed_at], ["cancelled", true, session.updated_at]);
  const second = await cancel();
  assert.deepEqual([second.statusCode, second.json()], [409, { detail: "Session cannot be cancelled (status: cancelled)" }]);
  assert.equal((await api.call("POST", "/v1/sessions/abc/cancel")).statusCode, 422);
});

test("of two cancels at once exactly one wins (R-184)", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => api.createSession()));
  for (const id of ids) {
    const answers = await Promise.all([1, 2].map(() => api.call("POST", `/v1/sessions/${id}/cancel`)));
    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode).sort((a, b) => a - b),
      [204, 409],
    );
  }
});

test("a session being collected can be cancelled until the gateway is asked (R-181, R-270, R-271)", async () => {
  const [collecting, charging] = [await api.createSession(), await api.createSession()];
  for (const id of [collecting, charging]) await api.sessions.claim(id, { owner: "test", callId: "call" });
  assert.equal((await api.call("POST", `/v1/sessions/${collecting}/cancel`)).statusCode, 204);
  await api.sessions.apply(charging, "charge");
  const refused = await api.call("POST", `/v1/sessions/${charging}/cancel`);
  assert.deepEqual([refused.statusCode, refused.json()], [409, { detail: "Session cannot be cancelled (payment in progress)" }]);
  assert.equal((await get(charging)).status, "COLLECTING");
});

test("a failed session shows its error, a paid one its gateway's fields and no other's (R-155 to R-158, R-416)", async () => {
  const [failed, paid] = [await api.createSession(), await api.createSession()];
  for (const id of [failed, paid]) {
    await api.sessions.claim(id, { owner: "test", callId: "call" });
    await api.sessions.apply(id, "charge");
  }
  await api.sessions.apply(failed, "fail", { errorCode: "card_declined", errorMessage: "No" });
  await api.sessions.apply(paid, "approve", {
    processor: { stripe_charge_id: "ch_1", nmi_transaction_id: "7", secret: "x" },
    cardBrand: "visa",
    cardLast4: "0007",
  });
  const seen = await get(failed);
  assert.deepEqual(
    [seen.status, seen.is_terminal, seen.error, seen.processor],
    ["payment-failed", true, { code: "card_declined", message: "No" }, null],
  );
  const session = await get(paid);
  assert.deepEqual(
    [session.status, session.error, session.processor],
    ["payment-success", null, { stripe_charge_id: "ch_1", card_brand: "visa", card_last4: "0007" }],
  );
});
