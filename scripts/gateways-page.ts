import { GATEWAYS_BUILT, type Gateway } from "../src/gateways/index.ts";
import { GATEWAYS } from "../src/kernel/payment.ts";
import { row } from "./markdown.ts";

/** docs/gateways.md and a page for each gateway, from what the gateways say of themselves. */

type Capabilities = Gateway["capabilities"];

const REPEAT: Readonly<Record<Capabilities["idempotency"], string>> = {
  replay: "A request may be repeated: the vendor answers a second one with the same key with the first result.",
  refuse: "A request is never repeated blindly: the vendor refuses a second one, and which one was refused is looked up.",
  none: "The request is sent once and never again.",
};

const seconds = (ms: number) => `${ms / 1000} s`;

function lostAnswer({ lookUp, absenceIsProofAfterMs, voidBy }: Capabilities): string[] {
  if (lookUp === "by rule")
    return ["A lost answer fails the session, as the interface prescribes; nobody is asked. The vendor may have acted on the card."];
  if (lookUp === "none" && voidBy === "reference")
    return [
      "A lost answer cannot be looked up: what it took is released again, without the card, and the session fails; where even that fails it ends `outcome_unknown`.",
    ];
  if (lookUp === "none" && voidBy === "vendor id")
    return [
      "A lost answer cannot be looked up later, and what was taken can be reversed only by the id that an answer gave: a payment without any answer ends `outcome_unknown`, and a person must look at the vendor's.",
      "Money that was taken under a known id for a session that has ended otherwise is reversed (void or refund).",
    ];
  if (lookUp === "none")
    return ["A lost answer cannot be looked up: the session ends `outcome_unknown`, and a person must look at the vendor's."];
  const how =
    lookUp === "by reference"
      ? "by our reference (the session's id and the attempt)"
      : "by the id that the vendor gave before the answer was lost";
  return [
    `A lost answer is looked up ${how}, first while the caller waits, then by the janitor, without the card. "No such transaction" counts as proof that nothing was taken ${seconds(absenceIsProofAfterMs)} after sending.`,
    voidBy === "none"
      ? "What was taken cannot be reversed by us."
      : "Money that was taken for a session that has ended otherwise is reversed (void or refund).",
  ];
}

const code = (name: string) => `\`${name}\``;
const codes = (names: readonly string[]) => names.map(code).join(", ");

function applyBlock({ name, credentialFields, credentialsIn }: Gateway): string {
  const fields = credentialFields
    .filter(({ required }) => required)
    .map((field) => `${field.name}: "${field.secret ? `\${${field.name.toUpperCase()}}` : "..."}"`);
  const block = `{ ${fields.join(", ")} }`;
  return `gateways:\n  ${name}:\n    test: ${credentialsIn === "block" ? block : `{ credentials: ${block} }`}`;
}

function pageOf(gateway: Gateway): string {
  const { name, capabilities, credentialFields, credentialsIn, optionFields, hosts, documentation } = gateway;
  const where = credentialsIn === "block" ? "directly in `test` or `live`" : "in `credentials` of `test` or `live`";
  const host = hosts.live === "" ? "your own endpoint" : [...new Set([hosts.test, hosts.live])].map(code).join(" (test), ");
  return `# ${name}

Generated from the gateway's own description by \`npm run pages\`. What all gateways have in common: [docs/gateways.md](../gateways.md).

Vendor's address: ${host}${hosts.test !== hosts.live ? " (live)" : ""}. Stored card: ${capabilities.token}.

\`\`\`yaml
${applyBlock(gateway)}
\`\`\`

Fields, ${where}:

| field | | meaning |
|---|---|---|
${credentialFields
  .map(({ name, required, secret, meaning }) =>
    row(code(name), [required ? "required" : "optional", ...(secret ? ["secret"] : [])].join(", "), meaning),
  )
  .join("\n")}
${
  optionFields.length === 0
    ? ""
    : `
Options, beside \`test\` and \`live\`:

| option | values | meaning |
|---|---|---|
${optionFields.map((option) => row(code(option.name), `${option.values.map((value) => code(String(value))).join(", ")}; default ${code(String(option.default))}`, option.meaning)).join("\n")}
`
}
Processor fields: ${codes(capabilities.processorFields.charge)} after a charge; ${codes(capabilities.processorFields.tokenize)} after storing a card; \`card_brand\` and \`card_last4\` always.

${[REPEAT[capabilities.idempotency], ...lostAnswer(capabilities)].join(" ")} One attempt may take ${seconds(capabilities.deadlineMs)} in all.
${documentation ? `\n${documentation}\n` : ""}`;
}

const LOST: Readonly<Record<Capabilities["lookUp"], string>> = {
  "by reference": "by our reference",
  "by vendor id": "by the vendor's id",
  "by rule": "it failed",
  none: "not without the card",
};

const yes = (value: boolean) => (value ? "yes" : "no");

export function renderGateways(): string {
  const built = Object.values(GATEWAYS_BUILT);
  const missing = GATEWAYS.filter((name) => !(name in GATEWAYS_BUILT));
  return (
    `# Gateways

Generated from the gateways' own descriptions by \`npm run pages\`; a test keeps it current. \`voicetill gateways\` prints the fields too.

A test key whose project has no credentials for a gateway uses that gateway's simulator when simulators are on. \`endpoint\` beside \`credentials\`, in test mode only,
replaces the vendor's address.

| gateway | charges | stores | telephone mark | postal code | address | cards per session | lost answer is found | reversal |
|---|---|---|---|---|---|---|---|---|
${built
  .map(({ name, capabilities: can }) =>
    row(
      `[${name}](gateways/${name}.md)`,
      can.authorizeOnly ? "at once, or holds (`capture`)" : "at once",
      `${can.token}; ${can.verifiesOnTokenize ? "asks the issuer" : "does not ask the issuer"}`,
      yes(can.moto),
      can.sendsPostalCode ? "sent" : "not sent",
      can.needsAddress ? "needed" : can.takesBillingAddress ? "`billing_address`" : "no",
      can.oneAttempt ? "one" : "up to three",
      LOST[can.lookUp],
      can.voidBy === "none" ? "no" : `by ${can.voidBy}`,
    ),
  )
  .join("\n")}

${missing.length === 0 ? "" : `Not built yet, although the interface names them: ${missing.join(", ")}. A session that asks for one of these is a 422, \`gateway_not_configured\`.`}
`.trimEnd() + "\n"
  );
}

/** docs/gateways/NAME.md of every gateway that is built. */
export const GATEWAY_PAGES: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.values(GATEWAYS_BUILT).map((gateway) => [`docs/gateways/${gateway.name}.md`, () => `${pageOf(gateway).trimEnd()}\n`]),
);
