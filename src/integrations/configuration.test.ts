import assert from "node:assert/strict";
import { test } from "node:test";
import { configurationFor, type Setting } from "./configuration.ts";

const SETTING: Setting = {
  baseUrl: "https://pay.example.test",
  sip: "pay.example.test:5060",
  project: "shop",
  mode: "charge",
  gateway: "stripe",
  environment: "live",
  callback: "sip:agent@pbx.example;transport=tcp",
  phoneNumber: "+15550001111",
  hasAlphaSecret: true,
  transfersByControl: false,
};

test("printed settings are JSON with this installation's addresses, and the callback survives the address (R-380, R-381)", () => {
  const { alpha, beta, api } = configurationFor(SETTING);
  const addresses = [...JSON.stringify([alpha, beta]).matchAll(/"url":"([^"]+)"/g)].map(([, url = ""]) => new URL(url));
  assert.equal(addresses.length, 5);
  for (const { origin, pathname, searchParams } of addresses) {
    assert.match(origin + pathname, /^https:\/\/pay\.example\.test\/integrations\/(?:alpha|beta)\/webhook$/);
    assert.deepEqual(Object.fromEntries(searchParams), {
      project: "shop",
      mode: "charge",
      gateway: "stripe",
      callback: SETTING.callback,
    });
  }
  assert.deepEqual([alpha.callback, beta.callback], [SETTING.callback, SETTING.callback]);
  const open = configurationFor({ ...SETTING, callback: null });
  assert.deepEqual([open.alpha.callback, open.beta.callback], ["sip:YOUR_AGENT@sip.vapi.ai", "sip:YOUR_AGENT@YOUR_TRUNK"]);
  assert.deepEqual([api.transfer_to, api.phone_number], ["sip:SESSION_ID@pay.example.test:5060", "+15550001111"]);
});

test("the key stands in a header and not in an address, and what is secret is left to be filled in (R-386)", () => {
  const text = JSON.stringify(configurationFor(SETTING));
  assert.doesNotMatch(text, /api_key=/);
  assert.match(text, /"Authorization":"Bearer svc_live_API_KEY"/);
  assert.match(text, /"X-Vapi-Secret":"SECRET"/);
  assert.doesNotMatch(JSON.stringify(configurationFor({ ...SETTING, hasAlphaSecret: false })), /X-Vapi-Secret/);
});

test("the first platform's definitions have its own fields alone: it refuses others, and its model is given the tokens that arguments need (R-380)", () => {
  const { tools, assistant } = configurationFor(SETTING).alpha;
  const fields = tools.map((tool) => Object.keys(tool).toSorted());
  const functionFields = ["async", "function", "server", "type"];
  assert.deepEqual(fields, [functionFields, functionFields, ["destinations", "function", "type"]]);
  const [{ server }] = tools as [{ server: object }];
  assert.deepEqual(assistant, { server, serverMessages: ["transfer-destination-request"], model: { maxTokens: 500 } });
});

test("where this service has the call transferred, the agent is given no tool for it and the assistant no other server (R-380)", () => {
  const { alpha, beta, prompt } = configurationFor({ ...SETTING, transfersByControl: true });
  assert.deepEqual(
    (alpha.tools as { type: string; server: { url: string } }[]).map(({ type, server }) => [
      type,
      new URL(server.url).searchParams.get("transfer"),
    ]),
    [
      ["function", "control"],
      ["function", "control"],
    ],
  );
  assert.deepEqual(alpha.assistant, { model: { maxTokens: 500 } });
  assert.equal(JSON.stringify(beta).includes("transfer=control"), false);
  assert.match(prompt, /Where there is a transfer tool/);
});

test("what the model is asked for is what the tools take, and the prompt forbids asking for a card (R-380)", () => {
  const { alpha, beta, prompt } = configurationFor(SETTING);
  const tools = alpha.tools as { function: { name: string; parameters?: { properties: object; required?: string[] } } }[];
  const names = tools.map(({ function: { name, parameters } }) => [
    name,
    Object.keys(parameters?.properties ?? {}),
    parameters?.required ?? [],
  ]);
  assert.deepEqual(names, [
    ["collect_payment", ["amount", "description", "memory"], ["amount"]],
    ["get_payment_result", ["session_id"], []],
    ["go_to_payment", [], []],
  ]);
  assert.deepEqual(
    (beta.general_tools as { name: string }[]).map(({ name }) => name),
    names.map(([name]) => name),
  );
  assert.match(prompt, /Never ask for a card number/);
  assert.match(prompt, /call go_to_payment at once\. Where the answer has a pay_url, send them that link instead, and do not transfer\./);
});

test("to store a card there is no amount to ask for: the address has it (R-380)", () => {
  const { alpha, prompt } = configurationFor({ ...SETTING, mode: "tokenize" });
  const [collect] = alpha.tools as [{ function: { parameters: { properties: object; required: string[] } }; server: { url: string } }];
  assert.deepEqual(
    [Object.keys(collect.function.parameters.properties), collect.function.parameters.required],
    [["description", "memory"], []],
  );
  assert.equal(new URL(collect.server.url).searchParams.get("amount"), "0");
  assert.doesNotMatch(prompt, /confirm the amount/);
});
