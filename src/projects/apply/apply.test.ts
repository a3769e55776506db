import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Database } from "#src/platform/index.ts";
import { testDatabase } from "#src/platform/testing.ts";
import { SCOPES } from "#src/kernel/scopes.ts";
import { readVoice } from "../settings.ts";
import { cardWorks, testProjects } from "../testing.ts";
import { recordingsOf } from "./document.ts";

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEWER = "whsec_IAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/** The example of docs/operations.md, Apply file with the gateways of this module's stand-ins. */
const FULL = `
organizations:
  - slug: acme
    name: Acme
    api_keys:
      - name: ci
        mode: test
        key: svc_test_0123456789abcdefghijABCDEFGHIJ01
        scopes: [sessions:create, sessions:read]
        expires_at: null
      - name: generated
        mode: test
    projects:
      - slug: shop
        name: Shop
        currency: USD
        language: en-US
        country: US
        archived: false
        accepted_brands: [visa, mastercard]
        phone_numbers: ["+15550001111"]
        status_webhook:
          url: http://127.0.0.1:9000/hook
          amount_unit: dollars
        gateways:
          stripe:
            test: { credentials: { secret_key: "\${STRIPE_KEY}" }, endpoint: http://127.0.0.1:8090/stripe }
            live: { credentials: { secret_key: sk_live_x }, platform: true }
          webhook:
            test: { url: https://merchant.example/cards, signing_secret: [newer, older] }
        voice:
          collect: [number, expiry, cvv, zip]
          attempts: 3
          tries: 2
          name: Acme Flowers
          read_back: false
          prompts:
            - { sentence: you_pay, text: "The total is {amount}." }
            - { sentence: number_invalid, attempt: 2, error: number_invalid, brand: visa, text: Once more. }
          timeouts: { first_digit_ms: 20000, between_digits_ms: 4000 }
          transfer: { mode: bridge, allow: ["+1", "sip:*.merchant.example"] }
          test_word: true
        widget:
          origins: ["https://shop.example"]
          appearance: { theme: light, variables: { colorPrimary: "#0a7d5a" }, labels: above, fields: [number, expiry, cvv, zip] }
        integrations: { alpha: { secret: "alpha secret" }, beta: { api_key: "beta key" } }
`;
const ENV = { STRIPE_KEY: "sk_test_from_env" };

/** A one-project file with `body` as the project's further lines. */
const project = (body: string) => `organizations:\n  - slug: acme\n    projects:\n      - slug: shop\n        ${body}\n`;

describe("the apply file", () => {
  let database: Database;
  before(async () => {
    database = await testDatabase();
  });
  after(() => database.close());
  const apply = (text: string, env = {}) => testProjects(database).applyFile(text, env);

  /** Everything the file can touch, so that "nothing changed" means nothing. */
  const snapshot = async () =>
    JSON.stringify(
      await Promise.all(
        (["organizations", "projects", "api_keys", "phone_numbers", "gateway_settings", "webhook_endpoints", "audit_log"] as const).map(
          (table) => database.db.selectFrom(table).selectAll().execute(),
        ),
      ),
    );

  const projectRow = (slug: string) => database.db.selectFrom("projects").selectAll().where("slug", "=", slug).executeTakeFirstOrThrow();
  const shop = async () => {
    const row = await database.db.selectFrom("projects").selectAll().where("slug", "=", "shop").executeTakeFirstOrThrow();
    return { id: row.id, projects: testProjects(database) };
  };

  test("applying the same file again changes nothing, to the last byte and version", async () => {
    const first = await apply(FULL, ENV);
    assert.deepEqual(
      first.changes.map(({ object, action }) => `${object}: ${action}`),
      [
        "organization acme: created",
        "api key acme/ci: created",
        "api key acme/generated: created",
        "project acme/shop: created",
        "phone numbers of acme/shop: created",
        "status webhook of acme/shop: created",
        "gateway stripe (test) of acme/shop: created",
        "gateway stripe (live) of acme/shop: created",
        "gateway webhook (test) of acme/shop: created",
      ],
    );
    assert.deepEqual(
      first.generated.map(({ object }) => object),
      ["api key acme/generated", "status webhook of acme/shop"],
    );
    assert.match(first.generated[0]?.secret ?? "", /^svc_test_[A-Za-z0-9]{32}$/);
    assert.match(first.generated[1]?.secret ?? "", /^whsec_[A-Za-z0-9+/]{43}=$/);
    const before = await snapshot();
    assert.deepEqual(await apply(FULL, ENV), { changes: [], generated: [] });
    assert.equal(await snapshot(), before);
  });

  test("no secret of the file stands readable in the database", async () => {
    const dump = await snapshot();
    for (const secret of ["sk_test_from_env", "sk_live_x", "alpha secret", "beta key", "newer"]) assert.ok(!dump.includes(secret), secret);
  });

  test("a language that no voice speaks is refused in one sentence", async () => {
    for (const [tag, sentence] of [
      ["fr-CA", /line 5: .*language: no voice here speaks fr-CA: the embedded voice knows en-US alone, and VOICE names no other/],
      ["de", /calls have no sentences in this language, only in en-US, es-US, fr-CA/],
    ] as const)
      await assert.rejects(apply(project(`language: ${tag}`)), sentence);
  });

  test("a language that an endpoint's voice speaks is taken, and what callers hear of the projects is told once each", async () => {
    const projects = testProjects(database, { languages: ["en-US", "es-US", "fr-CA"] });
    const voice = "voice: { name: Flores, prompts: [{ sentence: one_moment, text: Espere. }] }";
    const { changes } = await projects.applyFile(project(`language: es-MX\n        ${voice}`).replace("shop", "flores"), {});
    assert.deepEqual(changes.at(-1), { object: "project acme/flores", action: "created" });
    const speaking = await projects.speaking(database.db);
    assert.deepEqual(
      speaking.filter(({ language }) => language === "es-MX"),
      [{ language: "es-MX", merchant: "Flores", acceptedBrands: [], wordings: [{ sentence: "one_moment", text: "Espere." }] }],
    );
    await projects.applyFile(project("archived: true").replace("shop", "flores"), {});
    assert.ok((await projects.speaking(database.db)).every(({ language }) => language !== "es-MX"));
    await database.db.deleteFrom("projects").where("slug", "=", "flores").execute();
  });

  test("words of the project's own are refused in one sentence where they do not fit the sentence that they stand for", async () => {
    for (const [entry, sentence] of [
      ['{ sentence: you_pay, text: "You pay." }', /voice\.prompts\.0\.text: must hold \{amount\}/],
      ["{ sentence: you_paid, text: x }", /there is no sentence "you_paid"; docs\/conversation\.md has them all/],
    ] as const)
      await assert.rejects(apply(project(`voice: { prompts: [${entry}] }`)), sentence);
    await assert.rejects(apply(project("voice: { timeouts: { first_digit_ms: 10 } }")), /voice\.timeouts\.first_digit_ms: .*3000/);
    await assert.rejects(apply(project("accepted_brands: [visa, vise]")), /accepted_brands\.1: /);
  });

  test("recordings are kept by their sound, named when they are exported, and gone when they are taken away", async () => {
    const projects = testProjects(database);
    const sound = (byte: number) => ({ ulaw: Buffer.alloc(4_000, byte).toString("base64") });
    const file = (names: string) => project(`voice: { recordings: ${names} }`).replace("shop", "flores");
    const two = file("{ greeting: audio/hello.wav, one_moment: audio/wait.wav }");
    const read = { "audio/hello.wav": sound(1), "audio/wait.wav": sound(2) };
    assert.deepEqual(recordingsOf(two, {}), Object.keys(read));
    const kept = async () => {
      const rows = await database.db.selectFrom("recordings").select(["digest", "ulaw"]).execute();
      return new Map(rows.map(({ digest, ulaw }) => [digest, ulaw[0]]));
    };
    const stored = async () => readVoice((await projectRow("flores")).voice).recordings;
    await projects.applyFile(two, {}, { recordings: read });
    assert.deepEqual((await projects.applyFile(two, {}, { recordings: read })).changes, []);
    const { greeting = "", one_moment = "" } = await stored();
    assert.deepEqual([(await kept()).get(greeting), (await kept()).get(one_moment)], [1, 2]);
    assert.deepEqual((await projects.recording(database.db, greeting))?.length, 4_000);
    const exported = JSON.stringify(await projects.exportState(database.db));
    assert.match(exported, /"recordings":\{"greeting":"audio\/hello\.wav","one_moment":"audio\/wait\.wav"\}/);
    assert.ok(!exported.includes(greeting));

    await projects.applyFile(two, {}, { recordings: { ...read, "audio/wait.wav": sound(3) } });
    assert.deepEqual(new Set((await kept()).values()), new Set([1, 3]));
    await projects.applyFile(file("{ greeting: null, one_moment: null }"), {});
    assert.deepEqual([await stored(), (await kept()).size], [{}, 0]);
    assert.ok(!JSON.stringify(await projects.exportState(database.db)).includes("recordings"));
    await database.db.deleteFrom("projects").where("slug", "=", "flores").execute();
  });

  test("every recording that cannot be used is told with its line, beside other faults, and nothing is changed", async () => {
    const before = await snapshot();
    const text = project(
      "currency: ZZZ\n        voice:\n          recordings:\n            greeting: a.wav\n            you_pay: b.wav\n            one_moment: c.wav",
    );
    const recordings = {
      "a.wav": { fault: "cannot be read" },
      "b.wav": { ulaw: "" },
      "c.wav": { fault: "has 96000 Hz, not 8000 to 48000" },
    };
    const told = await testProjects(database)
      .applyFile(text, {}, { recordings })
      .then(
        () => [],
        (error: Error) => error.message.split("\n"),
      );
    for (const [at, line] of [
      /line 5: .*currency: is no currency/,
      /line 8: the recording "a\.wav" cannot be read$/,
      /line 9: .*recordings\.you_pay: there is no sentence "you_pay" that is the same in every call$/,
      /line 10: the recording "c\.wav" has 96000 Hz, not 8000 to 48000$/,
    ].entries())
      assert.match(told[at] ?? "", line);
    assert.equal(told.length, 4);
    assert.equal(await snapshot(), before);
    await assert.rejects(apply(project("voice: { recordings: { greeting: a.wav } }")), /recordings are read by `voicetill apply` alone/);
  });

  test("a dry run says key by key what would differ, without secrets, and changes nothing", async () => {
    const before = await snapshot();
    const projects = testProjects(database);
    const tried = await projects.applyFile(
      FULL.replace("attempts: 3", "attempts: 4")
        .replace("#0a7d5a", "#0a6b4f")
        .replace("sk_live_x", "sk_live_y")
        .replace("name: generated", "name: third"),
      ENV,
      { dryRun: true },
    );
    assert.deepEqual(tried, {
      changes: [
        { object: "api key acme/third", action: "created" },
        { object: "project acme/shop", action: "changed" },
        { object: "gateway stripe (live) of acme/shop", action: "changed" },
      ],
      generated: [{ object: "api key acme/third", secret: "(made when it is applied)" }],
      differences: [
        { of: "acme/shop", key: "voice.attempts", from: 3, to: 4 },
        { of: "acme/shop", key: "widget.appearance.variables.colorPrimary", from: "#0a7d5a", to: "#0a6b4f" },
        { of: "acme", key: "api_keys.third.name", from: undefined, to: "third" },
        { of: "acme", key: "api_keys.third.mode", from: undefined, to: "test" },
        { of: "acme", key: "api_keys.third.scopes", from: undefined, to: [...SCOPES] },
        { of: "acme", key: "api_keys.third.expires_at", from: undefined, to: null },
      ],
    });
    assert.equal(await snapshot(), before);
    await assert.rejects(projects.applyFile(project("colour: red"), {}, { dryRun: true }), /line 5: unknown key "colour"/);
  });

  test("what is exported holds no secret, and applying it changes nothing", async () => {
    const projects = testProjects(database);
    const exported = JSON.stringify(await projects.exportState(database.db));
    for (const secret of ["sk_test_from_env", "sk_live_x", "alpha secret", "beta key", "newer", "whsec_", "svc_test_0"])
      assert.ok(!exported.includes(secret), secret);
    for (const kept of ["Acme", "sessions:read", "+15550001111", "https://merchant.example/cards", '"platform":true', "colorPrimary"])
      assert.ok(exported.includes(kept), kept);
    const before = await snapshot();
    assert.deepEqual(await apply(exported), { changes: [], generated: [] });
    assert.equal(await snapshot(), before);
  });

  test("what is exported, applied elsewhere, is refused for every secret that is missing there", async () => {
    const stripe = "stripe: { platform: true, test: { credentials: { secret_key: sk_test_x } } }";
    const integrations = 'integrations: { alpha: { secret: "alpha secret" }, beta: { api_key: "beta key" } }';
    await apply(project(`gateways: { ${stripe} }\n        ${integrations}`).replace("slug: shop", "slug: here"));
    const { organizations } = await testProjects(database).exportState(database.db);
    const here = organizations.flatMap(({ projects }) => projects).find(({ slug }) => slug === "here");
    const fileOf = (slug: string) => JSON.stringify({ organizations: [{ slug: "acme", projects: [{ ...here, slug }] }] }, null, 1);
    assert.deepEqual((await apply(fileOf("here"))).changes, []);
    const refused = (await apply(fileOf("elsewhere")).catch((error: Error) => error.message)) as string;
    assert.deepEqual(
      refused.split("\n").map((line) => line.replace(/^apply file, line \d+: /, "")),
      ["stripe needs secret_key", "alpha needs secret", "beta needs api_key"],
    );
  });

  test("projects exchange numbers in one file, whichever of them comes first", async () => {
    const two = (first: string, second: string) =>
      `organizations:\n  - slug: acme\n    projects:\n      - { slug: one, phone_numbers: [${first}] }\n      - { slug: two, phone_numbers: [${second}] }\n`;
    const [a, b] = ['"+15550004441"', '"+15550004442"'];
    await apply(two(a, b));
    const numbersOf = async (slug: string) => {
      const { id } = await projectRow(slug);
      const rows = await database.db.selectFrom("phone_numbers").select("number").where("project_id", "=", id).execute();
      return rows.map(({ number }) => `"${number}"`);
    };
    for (const [first, second, ...done] of [
      [b, a, "changed", "changed"],
      [`${a}, ${b}`, "", "changed", "removed"],
      ["", `${a}, ${b}`, "removed", "created"],
    ] as const) {
      const { changes } = await apply(two(first, second));
      assert.deepEqual(
        changes.map(({ object, action }) => `${object}: ${action}`),
        [`phone numbers of acme/one: ${done[0]}`, `phone numbers of acme/two: ${done[1]}`],
      );
      assert.deepEqual([(await numbersOf("one")).toSorted().join(", "), (await numbersOf("two")).toSorted().join(", ")], [first, second]);
    }
    await assert.rejects(apply(two(a, a)), /^OperatorError: apply file, line 4: this number belongs to another project$/);
  });

  test("a key that was revoked is not declared any more without a word", async () => {
    const file = (key: string) => `organizations:\n  - slug: acme\n    api_keys:\n      - { name: leaked, mode: test, key: ${key} }\n`;
    const [leaked, other] = ["2", "3"].map((end) => `svc_test_0123456789abcdefghijABCDEFGHIJ0${end}`) as [string, string];
    await apply(file(leaked));
    await database.db.updateTable("api_keys").set({ revoked_at: new Date() }).where("name", "=", "leaked").execute();
    await assert.rejects(apply(file(leaked)), /line 4: "leaked" is revoked: leave it out, or give it another key$/);
    assert.deepEqual((await apply(file(other))).changes, [{ object: "api key acme/leaked", action: "replaced" }]);
    assert.deepEqual((await apply(file(other))).changes, []);
  });

  test("the export of a key that has expired since can be applied where the key is, and a key can be let expire", async () => {
    const file = (time: string) =>
      `organizations:\n  - slug: acme\n    api_keys:\n      - { name: brief, mode: test, expires_at: '${time}' }\n`;
    await apply(file("2060-01-31T12:00:00Z"));
    assert.deepEqual((await apply(file("2020-01-31T12:00:00Z"))).changes, [{ object: "api key acme/brief", action: "changed" }]);
    assert.deepEqual((await apply(file("2020-01-31T12:00:00Z"))).changes, []);
  });

  test("all faults of a file are told at once, in its order, those of the database too", async () => {
    const faults = async (text: string) => (await apply(text).catch((error: Error) => error.message)) as string;
    const shape =
      "organizations:\n  - slug: acme\n    colour: red\n    projects:\n      - slug: x\n        currency: ZZZ\n        voice: { attempts: 9 }\n";
    assert.deepEqual(
      (await faults(shape)).split("\n").map((line) => /^apply file, line (\d+): /.exec(line)?.[1]),
      ["3", "6", "7"],
    );
    const stored =
      "organizations:\n  - slug: acme\n    projects:\n      - { slug: a, phone_numbers: ['+15550001111'] }\n      - { slug: b, phone_numbers: ['+15550001111'] }\n";
    assert.match(await faults(stored), /line 4: this number belongs to another project\n.*line 5: this number belongs to another project$/);
    assert.match(
      await faults('organizations: [{ slug: "${ONE}" }, { slug: "${TWO}" }]'),
      /variable ONE is not set\n.*variable TWO is not set$/,
    );
    assert.match(
      await faults(project('currency: "${ONE}"\n        colour: red')),
      /^apply file, line 5: the environment variable ONE is not set\napply file, line 6: unknown key "colour"[^\n]*$/,
    );
    assert.match(
      await faults(
        project(
          "phone_numbers: ['+15550001111']\n        gateways:\n          stripe: { live: {} }\n          webhook: { test: {} }",
        ).replace("shop", "elsewhere"),
      ),
      /^.*line 5: this number belongs to another project\n.*line 7: stripe needs secret_key\n.*line 8: webhook needs url$/,
    );
  });

  test("each fault of several in one list or map is told, at its own place, however often the file is read", async () => {
    const faults = async (text: string) => (await apply(text).catch((error: Error) => error.message)) as string;
    const rules = project(
      "voice:\n          transfer:\n            allow:\n              - '1'\n              - '+1'\n              - 'sip:*'",
    );
    const atRules = /^[^\n]*line 8: [^\n]*\.allow\.0: must be the beginning[^\n]*\n[^\n]*line 10: [^\n]*\.allow\.2: [^\n]*$/;
    assert.match(await faults(rules), atRules);
    assert.match(await faults(rules), atRules);
    assert.match(
      await faults(
        project(
          "widget:\n          appearance:\n            theme: neon\n            variables:\n              colorPrimary: red\n              colourText: '#000'",
        ),
      ),
      /^[^\n]*line 7: [^\n]*\.theme: must be one of [^\n]*\n[^\n]*line 9: [^\n]*\.colorPrimary: must be a colour such as [^\n]*\n[^\n]*line 10: unknown key "colourText" in [^\n]*did you mean "colorText"[^\n]*$/,
    );
  });

  test("colours are judged as they will be shown, with what is stored of them", async () => {
    const look = (text: string) => apply(project(`widget: { appearance: { ${text} } }`).replace("shop", "painted"));
    await look('theme: light, variables: { colorText: "#000000" }');
    await look('variables: { colorDanger: "#a00000" }');
    await assert.rejects(
      look("theme: dark"),
      /line 5: colorText #000000 on #16191d has a contrast of 1\.2 to 1; 4\.5 are needed to read it$/,
    );
    await look('theme: dark, variables: { colorText: "#ffffff", colorDanger: "#ff9d94" }');
    await database.db.deleteFrom("projects").where("slug", "=", "painted").execute();
  });

  test("an origin that no browser's page can have is refused: the card form would show itself on no page of it", async () => {
    for (const origin of ["https://*.shop.example", "https://shop_1.example", "wss://shop.example", "https://shop.example/"])
      await assert.rejects(apply(project(`widget: { origins: ["${origin}"] }`)), /origins\.0: must be an origin such as https:/, origin);
    await apply(project('widget: { origins: ["https://xn--bcher-kva.example:8443", "http://[::1]:4000"] }'));
  });

  test("a variable of the card form that is null is taken away, and the others stay", async () => {
    const look = (variables: string) => apply(project(`widget: { appearance: { variables: ${variables} } }`).replace("shop", "plain"));
    await look('{ colorPrimary: "#0a7d5a", fontFamily: Georgia }');
    await look("{ fontFamily: null }");
    const { widget } = await projectRow("plain");
    assert.deepEqual(widget, { appearance: { variables: { colorPrimary: "#0a7d5a" } } });
    assert.deepEqual((await look("{ fontFamily: null }")).changes, []);
    await database.db.deleteFrom("projects").where("slug", "=", "plain").execute();
  });

  test("every credential that is missing is told", async () => {
    const credentialFields = ["merchant_id", "public_key", "private_key"].map((name) => ({
      name,
      secret: true,
      required: true,
      meaning: name,
    }));
    const projects = testProjects(database, { gateways: { stripe: { ...cardWorks, credentialFields } } });
    const needs = (credentials: string) =>
      projects.applyFile(project(`gateways: { stripe: { live: { credentials: ${credentials} } } }`), {});
    await assert.rejects(needs("{}"), /line 5: stripe needs merchant_id, public_key, private_key$/);
    await assert.rejects(needs("{ public_key: x }"), /line 5: stripe needs merchant_id, private_key$/);
  });

  test("what stands in a list twice is refused with its line: both could not hold, and applying it again would change it again", async () => {
    const before = await snapshot();
    const twice = `
organizations:
  - slug: acme
    api_keys:
      - { name: twice, mode: test }
      - { name: twice, mode: test }
    projects:
      - { slug: shop, currency: USD }
      - { slug: shop, currency: EUR }
  - slug: acme
`;
    const told = await apply(twice).then(
      () => [],
      (error: Error) => error.message.split("\n"),
    );
    assert.deepEqual(told, [
      'apply file, line 6: organizations.0.api_keys.1.name: "twice" stands in this list already',
      'apply file, line 9: organizations.0.projects.1.slug: "shop" stands in this list already',
      'apply file, line 10: organizations.1.slug: "acme" stands in this list already',
    ]);
    assert.equal(await snapshot(), before);
  });

  test("JSON is read as well as YAML", async () => {
    const json = JSON.stringify({ organizations: [{ slug: "acme", projects: [{ slug: "shop", voice: { attempts: 3 } }] }] });
    assert.deepEqual((await apply(json)).changes, []);
  });

  test("what the file does not mention is left alone", async () => {
    const { id, projects } = await shop();
    const secrets = (await projects.webhookEndpoint(database.db, id, "test"))?.secrets.map((secret) => secret.reveal());
    const report = await apply(project("status_webhook: { url: https://new.example/hook }\n        voice: { attempts: 2 }"));
    assert.deepEqual(
      report.changes.map(({ object }) => object),
      ["project acme/shop", "status webhook of acme/shop"],
    );
    const endpoint = await projects.webhookEndpoint(database.db, id, "test");
    assert.equal(endpoint?.url, "https://new.example/hook");
    assert.deepEqual(
      endpoint?.secrets.map((secret) => secret.reveal()),
      secrets,
    );
    const voice = (await projects.projectById(database.db, id))?.voice;
    assert.equal(voice?.attempts, 2);
    assert.deepEqual(voice?.transfer.allow, ["+1", "sip:*.merchant.example"]);
    assert.deepEqual(await projects.numbersOf(database.db, id), ["+15550001111"]);
    assert.equal((await projects.integrationSecrets(database.db, id)).alpha?.reveal(), "alpha secret");
  });

  test("a changed gateway setting counts its version up and changes no other", async () => {
    const { id, projects } = await shop();
    const report = await apply(project("gateways: { stripe: { test: { credentials: { secret_key: sk_test_second } } } }"));
    assert.deepEqual(report.changes, [{ object: "gateway stripe (test) of acme/shop", action: "changed" }]);
    const settings = await projects.gatewaySettings(database.db, id, "stripe", "test");
    assert.equal(settings?.version, 2);
    assert.equal(settings?.credentials["secret_key"]?.reveal(), "sk_test_second");
    assert.equal(settings?.endpoint, "http://127.0.0.1:8090/stripe");
    assert.equal((await projects.gatewaySettings(database.db, id, "stripe", "live"))?.version, 1);
  });

  test("a credential that is a whole number may stand without quotes; others keep their zeros by being text", async () => {
    const { id, projects } = await shop();
    const credentials = (text: string) => apply(project(`gateways: { stripe: { test: { credentials: { ${text} } } } }`));
    await credentials("merchant_number: 12345");
    const settings = await projects.gatewaySettings(database.db, id, "stripe", "test");
    assert.equal(settings?.credentials["merchant_number"]?.reveal(), "12345");
    await assert.rejects(credentials("refresh_token: 12345"), /refresh_token/);
  });

  test("a rolled secret is kept beside the new one until the file names one only", async () => {
    const { id, projects } = await shop();
    const credentials = async () => (await projects.gatewaySettings(database.db, id, "webhook", "test"))?.credentials;
    assert.equal((await credentials())?.["previous_signing_secret"]?.reveal(), "older");
    await apply(project("gateways: { webhook: { test: { signing_secret: newer } } }"));
    assert.equal((await credentials())?.["signing_secret"]?.reveal(), "newer");
    assert.equal((await credentials())?.["previous_signing_secret"], undefined);

    await apply(project(`status_webhook: { url: https://new.example/hook, secret: [${NEWER}, ${SECRET}] }`));
    const endpoint = await projects.webhookEndpoint(database.db, id, "test");
    assert.deepEqual(
      endpoint?.secrets.map((secret) => secret.reveal()),
      [NEWER, SECRET],
    );
  });

  test("an endpoint that its receiver switched off is on again once it is applied", async () => {
    const { id, projects } = await shop();
    const { url } = (await projects.webhookEndpoint(database.db, id, "test")) ?? assert.fail();
    assert.equal(await projects.disableWebhookEndpoint(database.db, id, "test", "https://former.example/hook"), false);
    assert.equal((await projects.webhookEndpoint(database.db, id, "test"))?.disabledAt, null, "another address was gone");
    for (const _ of ["first", "again"]) assert.equal(await projects.disableWebhookEndpoint(database.db, id, "test", url), true);
    assert.ok((await projects.webhookEndpoint(database.db, id, "test"))?.disabledAt);
    const text = project("status_webhook: { url: https://new.example/hook }");
    assert.deepEqual((await apply(text)).changes, [{ object: "status webhook of acme/shop", action: "enabled" }]);
    assert.equal((await projects.webhookEndpoint(database.db, id, "test"))?.disabledAt, null);
    assert.deepEqual((await apply(text)).changes, []);
  });

  describe("a status webhook for each environment", () => {
    const endpoints = async (projects: ReturnType<typeof testProjects>, id: string) => {
      const told = async (environment: "test" | "live") => {
        const endpoint = await projects.webhookEndpoint(database.db, id, environment);
        return endpoint && [endpoint.url, endpoint.secrets.map((secret) => secret.reveal()).join(" ")];
      };
      return { test: await told("test"), live: await told("live") };
    };
    const hook = (text: string) => apply(project(`status_webhook: ${text}`));
    const [TEST, LIVE] = ["http://127.0.0.1:9000/test", "https://shop.example/live"];

    test("each environment may have its own address, secret and unit; applying them again changes nothing (R-431)", async () => {
      const { id, projects } = await shop();
      await hook("null");
      const pair = `{ test: { url: "${TEST}", secret: ${SECRET} }, live: { url: ${LIVE}, amount_unit: cents } }`;
      const { changes, generated } = await hook(pair);
      assert.deepEqual(changes, [
        { object: "status webhook (test) of acme/shop", action: "created" },
        { object: "status webhook (live) of acme/shop", action: "created" },
      ]);
      assert.deepEqual(
        generated.map(({ object }) => object),
        ["status webhook (live) of acme/shop"],
      );
      assert.deepEqual(await endpoints(projects, id), { test: [TEST, SECRET], live: [LIVE, generated[0]?.secret] });
      assert.equal((await projects.webhookEndpoint(database.db, id, "live"))?.amountUnit, "cents");
      assert.equal((await projects.webhookEndpoint(database.db, id, "test"))?.amountUnit, "dollars");
      assert.deepEqual(await hook(pair), { changes: [], generated: [] });
    });

    test("one endpoint becomes two and two become one, and what the file does not mention stays, secrets too (R-431)", async () => {
      const { id, projects } = await shop();
      await hook("null");
      await hook(`{ url: "${TEST}", secret: ${SECRET} }`);
      assert.deepEqual(await endpoints(projects, id), { test: [TEST, SECRET], live: [TEST, SECRET] });
      await hook(`{ live: { url: ${LIVE} } }`);
      assert.deepEqual(await endpoints(projects, id), { test: [TEST, SECRET], live: [LIVE, SECRET] });
      await hook(`{ live: { url: ${LIVE}, secret: ${NEWER} } }`);
      assert.deepEqual(await endpoints(projects, id), { test: [TEST, SECRET], live: [LIVE, NEWER] });
      await hook("{ test: null }");
      assert.deepEqual(await endpoints(projects, id), { test: null, live: [LIVE, NEWER] });
      await hook(`{ url: ${LIVE} }`);
      assert.deepEqual(await endpoints(projects, id), { test: [LIVE, NEWER], live: [LIVE, NEWER] });
      assert.equal((await database.db.selectFrom("webhook_endpoints").selectAll().where("project_id", "=", id).execute()).length, 1);
      assert.deepEqual((await projects.unopenedSecrets(database.db)).failed, []);
    });

    test("a 410 to one switches only that one off", async () => {
      const { id, projects } = await shop();
      await hook(`{ test: { url: "${TEST}" }, live: { url: ${LIVE} } }`);
      assert.equal(await projects.disableWebhookEndpoint(database.db, id, "test", LIVE), false);
      await projects.disableWebhookEndpoint(database.db, id, "test", TEST);
      assert.ok((await projects.webhookEndpoint(database.db, id, "test"))?.disabledAt);
      assert.equal((await projects.webhookEndpoint(database.db, id, "live"))?.disabledAt, null);
      await hook(`{ live: { url: ${LIVE} } }`);
      assert.ok((await projects.webhookEndpoint(database.db, id, "test"))?.disabledAt, "not mentioned, so left alone");
      await projects.enableWebhookEndpoint(database.db, id, "test");
      assert.equal((await projects.webhookEndpoint(database.db, id, "test"))?.disabledAt, null);
    });

    for (const [what, text, fault] of [
      ["an http address for live payments", `{ live: { url: "http://shop.example/" } }`, /line 5: .*must be an https address for live/],
      [
        "a port that nothing is ever sent to",
        `{ url: "http://shop.example/hook" }`,
        /line 5: .*must be at port 443 or above 1023, not at 80/,
      ],
      [
        "such a port for live payments",
        `{ live: { url: "https://shop.example:80/" } }`,
        /line 5: .*must be at port 443 or above 1023, not at 80/,
      ],
      ["one form inside the other", `{ url: "${TEST}", live: { url: ${LIVE} } }`, /line 5: unknown key "url"/],
      ["a misspelt key of one of the two", `{ live: { url: ${LIVE}, secrets: x } }`, /line 5: unknown key "secrets"/],
      ["neither form", "yes", /line 5: /],
    ] as const) {
      test(`${what} is refused with its line (R-431)`, async () => {
        await shop();
        const before = await snapshot();
        await assert.rejects(hook(text), fault);
        assert.equal(await snapshot(), before);
      });
    }
  });

  describe("null takes away", () => {
    const gateway = (text: string, env = {}) => apply(project(`gateways: ${text}`), env);
    const of = async (environment: "test" | "live") => {
      const { id, projects } = await shop();
      return await projects.gatewaySettings(database.db, id, "stripe", environment);
    };
    const BOTH =
      "{ stripe: { test: { credentials: { secret_key: sk_test_x, merchant_number: 7 }, endpoint: http://127.0.0.1:8090/stripe }, live: { credentials: { secret_key: sk_live_x }, platform: true } } }";

    test("one environment's credentials, options and endpoint, and leaves the other's alone", async () => {
      await gateway(BOTH);
      const { changes } = await gateway("{ stripe: { live: null } }");
      assert.deepEqual(changes, [{ object: "gateway stripe (live) of acme/shop", action: "removed" }]);
      assert.equal(await of("live"), null);
      assert.equal((await of("test"))?.credentials["secret_key"]?.reveal(), "sk_test_x");
      const before = await snapshot();
      assert.deepEqual((await gateway("{ stripe: { live: null } }")).changes, []);
      assert.deepEqual((await gateway("{ stripe: {} }")).changes, []);
      assert.equal(await snapshot(), before);
      const { projects } = await shop();
      assert.doesNotMatch(JSON.stringify(await projects.exportState(database.db)), /"stripe":[^}]*}[^}]*"live"/);
    });

    test("a whole gateway, which a dry run says before and the audit log after", async () => {
      await gateway(BOTH);
      const { projects } = await shop();
      const text = project("gateways: { stripe: null }");
      const tried = await projects.applyFile(text, {}, { dryRun: true });
      const removed = ["test", "live"].map((environment) => ({
        object: `gateway stripe (${environment}) of acme/shop`,
        action: "removed",
      }));
      assert.deepEqual(tried.changes, removed);
      assert.ok(tried.differences?.some(({ key, from, to }) => key.endsWith("merchant_number") && from === "7" && to === undefined));
      assert.deepEqual((await apply(text)).changes, removed);
      const rows = await database.db.selectFrom("audit_log").select("action").where("object", "=", removed[1]!.object).execute();
      assert.equal(rows.filter(({ action }) => action === "removed").length, 2);
      assert.equal(await of("test"), null);
    });

    test("and what is given again counts as other credentials than those of an open payment (R-289)", async () => {
      await gateway(BOTH);
      const { version } = (await of("live"))!;
      await gateway("{ stripe: null }");
      const { changes } = await gateway(BOTH);
      assert.deepEqual(
        changes.map(({ action }) => action),
        ["created", "created"],
      );
      assert.ok((await of("live"))!.version > version);
    });

    test("an option above both modes reaches no environment whose credentials were taken away", async () => {
      await gateway(BOTH);
      await gateway("{ stripe: { live: null } }");
      assert.deepEqual((await gateway("{ stripe: { platform: true } }")).changes, [
        { object: "gateway stripe (test) of acme/shop", action: "changed" },
      ]);
      assert.equal(await of("live"), null);
    });

    test("one credential, unless the gateway needs it", async () => {
      await gateway(BOTH);
      await gateway("{ stripe: { test: { credentials: { merchant_number: null } } } }");
      assert.deepEqual(Object.keys((await of("test"))!.credentials), ["secret_key"]);
      await assert.rejects(gateway("{ stripe: { test: { credentials: { secret_key: null } } } }"), /secret_key: must be a text$/);
      await assert.rejects(apply(project("gateways: { webhook: { test: { signing_secret: null } } }")), /signing_secret: must be a text$/);
    });

    test("what a voice platform shows", async () => {
      const { id, projects } = await shop();
      await apply(project("integrations: { alpha: { secret: a }, beta: { api_key: b } }"));
      await apply(project("integrations: { alpha: { secret: null } }"));
      const { alpha, beta } = await projects.integrationSecrets(database.db, id);
      assert.deepEqual([alpha, beta?.reveal()], [null, "b"]);
    });
  });

  test("options above both modes reach the simulator of a project without credentials", async () => {
    await apply("organizations: [{ slug: acme, projects: [{ slug: bare, gateways: { stripe: { platform: true } } }] }]");
    const row = await database.db.selectFrom("projects").select("id").where("slug", "=", "bare").executeTakeFirstOrThrow();
    const simulated = testProjects(database, { simulatorsUrl: "http://127.0.0.1:8090" });
    assert.deepEqual((await simulated.gatewaySettings(database.db, row.id, "stripe", "test"))?.options, { platform: true });
    assert.equal(await testProjects(database).gatewaySettings(database.db, row.id, "stripe", "test"), null);
    assert.equal(await simulated.gatewaySettings(database.db, row.id, "stripe", "live"), null);
  });

  test(
    "live keys are refused on the embedded database, with the reason",
    { skip: process.env["TEST_DATABASE_URL"] !== undefined },
    async () => {
      const text = "organizations:\n  - slug: acme\n    api_keys:\n      - name: prod\n        mode: live\n";
      await assert.rejects(apply(text), /line 5: live keys need PostgreSQL \(DATABASE_URL\)/);
      assert.equal((await database.db.selectFrom("api_keys").selectAll().where("name", "=", "prod").execute()).length, 0);
    },
  );

  const faults: readonly (readonly [string, string, RegExp])[] = [
    [
      "a key whose value is commented out, which is not null",
      project("gateways:\n          stripe:\n            live:\n              # credentials: { secret_key: x }"),
      /^apply file, line 7: there is no value here; null is written out where it is meant$/,
    ],
    [
      "an unknown key",
      project("colour: red"),
      /line 5: unknown key "colour" in organizations\.0\.projects\.0; there are slug, name, currency, .*integrations$/,
    ],
    ["an unknown gateway", project("gateways:\n          paypal: {}"), /line 6: unknown key "paypal"/],
    [
      "a gateway that is not built",
      project("gateways:\n          clover: { test: {} }"),
      /line 6: .*this gateway is not available in this version$/,
    ],
    [
      "an unknown credential",
      project("gateways:\n          stripe:\n            test:\n              credentials: { password: x }"),
      /line 8: unknown key "password"/,
    ],
    [
      "a missing credential",
      project("gateways:\n          webhook:\n            live: { signing_secret: x }"),
      /line 7: webhook needs url$/,
    ],
    [
      "a credential of the other mode",
      project("gateways:\n          stripe:\n            live: { credentials: { secret_key: sk_test_x } }"),
      /line 7: secret_key is not a live key$/,
    ],
    [
      "an endpoint in live mode",
      project("gateways:\n          stripe:\n            live:\n              endpoint: https://x.example"),
      /line 8: .*is for test mode only$/,
    ],
    ["a misspelt key", project("langauge: en-US"), /line 5: .*did you mean "language"\? There are slug, /],
    ["a misspelt key of a webhook", project("status_webhook: { url: 'https://x.example', secrets: x }"), /did you mean "secret"\?/],
    ["a currency that is none", project("currency: ZZZ"), /line 5: .*is no currency of today, which are AED .* USD .* ZWG$/],
    ["a currency that is no more", project("currency: DEM"), /line 5: .*is no currency of today/],
    ["a country that is none", project("country: ZZ"), /line 5: .*must be a country code/],
    ["a field that is none", project("voice: { collect: [number, expiry, street] }"), /must be one of number, expiry, cvv, zip, name$/],
    ["labels of another kind", project("widget: { appearance: { labels: beside } }"), /must be one of above, floating, hidden$/],
    [
      "a rule for callbacks that none can fit",
      project("voice: { transfer: { allow: ['+1', '4415'] } }"),
      /allow\.1: must be the beginning/,
    ],
    ["a number without quotes", project("phone_numbers: [+15550001111]"), /line 5: .*phone_numbers\.0: must be a text, in quotes$/],
    ["a list where a map belongs", project("voice: []"), /line 5: .*\.voice: must be a map of keys and values$/],
    ["a word that is none of the few", project("voice: { transfer: { mode: fax } }"), /\.mode: must be one of bridge, refer$/],
    ["a number that is too large", project("voice: { attempts: 9 }"), /\.attempts: must be at most 5$/],
    ["an empty credential", project('integrations: { alpha: { secret: "" } }'), /\.secret: must have at least one character$/],
    [
      "a secret that no header can show",
      project('integrations: { alpha: { secret: "open\\nsesame" } }'),
      /\.alpha\.secret: must be of visible characters, in one line, without space at its ends$/,
    ],
    [
      "a secret with the end of its file",
      project('integrations: { beta: { api_key: "key_synthetic\\n" } }'),
      /\.beta\.api_key: must be of visible characters, in one line, without space at its ends$/,
    ],
    ["one fault where a value has two", project("name: []"), /^apply file, line 5: .*\.name: must be a text$/],
    ["a name of two lines", project('name: "Shop\\nShop"'), /\.name: must be of visible characters, in one line$/],
    [
      "a time that is none",
      "organizations:\n  - slug: acme\n    api_keys:\n      - { name: x, mode: test, expires_at: soon }",
      /line 4: .*\.expires_at: must be a time with its zone such as/,
    ],
    [
      "a new API key whose time is over",
      "organizations:\n  - slug: acme\n    api_keys:\n      - { name: x, mode: test, expires_at: '2020-01-31T12:00:00Z' }",
      /line 4: expires_at: 2020-01-31T12:00:00Z is over already$/,
    ],
    [
      "an API key without a scope",
      "organizations:\n  - slug: acme\n    api_keys:\n      - { name: x, mode: test, scopes: [] }",
      /line 4: .*\.scopes: must have at least one entry$/,
    ],
    ["a missing key", "organizations:\n  - name: Acme", /line 2: organizations\.0\.slug: is missing$/],
    ["a key of many lines", project('"a\\nb": x'), /^apply file, line 5: unknown key "a\\nb" in .*$/],
    [
      "JSON that is not closed",
      '{"organizations":\n[{"slug":"acme"',
      /line 2: a bracket or brace above is not closed, or this line begins too far left inside it$/,
    ],
    [
      "JSON with a comma missing",
      '{"organizations": [{"slug": "acme" "name": "A"}]}',
      /line 1: this does not belong here, perhaps a comma or colon is missing before it$/,
    ],
    ["JSON with a brace too many", '{"organizations": []\n}}', /line 2: this does not belong here/],
    [
      "a line that is indented otherwise",
      "organizations:\n  - slug: a\n   name: b",
      /line 3: this line is indented otherwise than those beside it$/,
    ],
    ["a tab", "organizations:\n\t- slug: acme", /line 2: a tab indents this line; YAML takes spaces$/],
    [
      "a slug that looks like a UUID",
      "organizations:\n  - slug: 0B9F1E9C-55A4-4F52-9E2C-7D5A2A8B7C11",
      /line 2: .*must not look like a UUID$/,
    ],
    [
      "a weak webhook secret",
      project('status_webhook:\n          url: https://x.example\n          secret: "hunter2"'),
      /line 7: .*must be whsec_/,
    ],
    [
      "a webhook secret that is none",
      project("status_webhook: { url: 'https://x.example/', secret: none }"),
      /line 5: .*\.status_webhook\.secret: must be whsec_/,
    ],
    [
      "one bad webhook secret of two",
      project(`status_webhook: { url: 'https://x.example/', secret: [${SECRET}, none] }`),
      /line 5: .*\.status_webhook\.secret\.1: must be whsec_/,
    ],
    [
      "three webhook secrets",
      project(`status_webhook: { url: 'https://x.example/', secret: [a, b, c] }`),
      /line 5: .*\.status_webhook\.secret: must have at most 2 entries/,
    ],
    ["a webhook address with a password", project("status_webhook: { url: 'https://u:p@x.example/' }"), /line 5: .*without user name/],
    ["a variable that is not set", project('name: "${NOWHERE}"'), /line 5: the environment variable NOWHERE is not set$/],
    [
      "a key of another mode",
      "organizations:\n  - slug: acme\n    api_keys:\n      - { name: x, mode: live, key: svc_test_0123456789abcdefghijABCDEFGHIJ01 }",
      /line 4: the key is not of mode live$/,
    ],
    [
      "a key that is in use",
      "organizations:\n  - slug: acme\n    api_keys:\n      - { name: x, mode: test, key: svc_test_0123456789abcdefghijABCDEFGHIJ01 }",
      /line 4: this key is in use under another name$/,
    ],
    [
      "a number of another project",
      "organizations:\n  - slug: acme\n    projects:\n      - slug: else\n        phone_numbers: ['+15550001111']",
      /line 5: this number belongs to another project$/,
    ],
    ["the same key twice", "organizations:\n  - slug: acme\n    slug: acme", /line 3: this key stands there twice$/],
    ["text that is no map", "just words", /line 1: the file: /],
    ["an empty file", "", /line 1: the file: /],
  ];
  for (const [name, text, sentence] of faults) {
    test(`${name} is refused by its line, and nothing is changed`, async () => {
      const before = await snapshot();
      await assert.rejects(apply(text), (error: Error) => {
        assert.equal(error.name, "OperatorError");
        assert.match(error.message, sentence);
        return true;
      });
      assert.equal(await snapshot(), before);
    });
  }

  test("a fault late in the file undoes what came before it", async () => {
    const before = await snapshot();
    await assert.rejects(
      apply("organizations:\n  - slug: fresh\n  - slug: acme\n    projects: [{ slug: else, phone_numbers: ['+15550001111'] }]"),
    );
    assert.equal(await snapshot(), before);
  });

  test("a signing secret that the file leaves out is made with 256 random bits, shown once and kept (R-262)", async () => {
    const file =
      "organizations: [{ slug: acme, projects: [{ slug: made, gateways: { webhook: { test: { url: https://merchant.example/cards } } } }] }]";
    const first = await apply(file);
    assert.equal(first.generated[0]?.object, "signing_secret of gateway webhook (test) of acme/made");
    const secret = first.generated[0].secret;
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(await apply(file), { changes: [], generated: [] });
    const { id } = await database.db.selectFrom("projects").select("id").where("slug", "=", "made").executeTakeFirstOrThrow();
    const settings = await testProjects(database).gatewaySettings(database.db, id, "webhook", "test");
    assert.equal(settings?.credentials["signing_secret"]?.reveal(), secret);
    const roll = (value: string) => apply(file.replace("/cards", `/cards, signing_secret: ${value}`));
    assert.deepEqual((await roll(`[new, "${secret}"]`)).generated, []);
  });

  test("a signing secret that is the status webhook's too is refused, old or new, in either order, and nothing is changed (R-262)", async () => {
    const hook = (secrets: string) => `status_webhook: { url: https://x.example, secret: ${secrets} }`;
    const cards = (secrets: string) =>
      `gateways: { webhook: { test: { url: https://merchant.example/cards, signing_secret: ${secrets} } } }`;
    const both = (secret: string, signing: string) => project(`${hook(secret)}\n        ${cards(signing)}`);
    const refused = async (text: string) => {
      const before = await snapshot();
      await assert.rejects(apply(text), {
        name: "OperatorError",
        message: /line \d: signing_secret must not be a secret of status_webhook$/,
      });
      assert.equal(await snapshot(), before);
    };
    await refused(both(SECRET, SECRET));
    await refused(both(`["${NEWER}", "${SECRET}"]`, `[other, "${SECRET}"]`));
    await refused(both(SECRET, SECRET.slice("whsec_".length)));
    await apply(project(hook(SECRET)));
    await refused(project(cards(SECRET)));
    await apply(project(cards(NEWER)));
    await refused(project(hook(NEWER)));
  });

  test("every change is in the audit log with who made it, whose it is and what it was (S-16)", async () => {
    const rows = await database.db
      .selectFrom("audit_log")
      .selectAll()
      .where("object", "=", "gateway webhook (test) of acme/made")
      .orderBy("id")
      .execute();
    const acme = await database.db.selectFrom("organizations").select("id").where("slug", "=", "acme").executeTakeFirstOrThrow();
    assert.deepEqual(
      rows.map(({ actor, source, action, result, organization_id }) => ({ actor, source, action, result, organization_id })),
      ["created", "changed"].map((action) => ({ actor: "apply", source: "command", action, result: "done", organization_id: acme.id })),
    );
  });

  test("no complaint repeats a value of the file", async () => {
    const texts = [
      project("status_webhook: { url: https://x.example, secret: hunter2hunter2 }"),
      project("gateways: { stripe: { test: { credentials: { secret_key: hunter2hunter2 } } } }"),
      "organizations:\n  - slug: acme\n    api_keys: [{ name: x, mode: test, key: hunter2hunter2 }]",
      "organizations: [hunter2hunter2: [",
    ];
    for (const text of texts) await assert.rejects(apply(text), (error: Error) => !error.message.includes("hunter2hunter2"));
  });
});
