import { z } from "zod";
import { parseCallback } from "#src/checkout/index.ts";
import { GATEWAYS, MODES } from "#src/kernel/payment.ts";
import { parseE164 } from "#src/kernel/phone.ts";
import { parseUuid } from "#src/kernel/ids.ts";
import { amountField, zeroFault } from "./amount.ts";
import { FAULTS } from "./faults.ts";
import { DESCRIBED_GATEWAYS } from "./gateway.ts";
import { field, model, text, textField } from "./validate.ts";
import { uuidFault } from "./uuid.ts";

/** SessionCreate and what else /v1/sessions takes (docs/interface.md, SessionCreate). Optional fields take null for missing. */

const CALLER = FAULTS.value("caller must be a phone number in E.164 format, such as +14155550100");
const E164 = { description: "Phone number in E.164 format, such as +14155550100." };
export const STRIPE_ACCOUNT_ID = /^acct_[A-Za-z0-9]+$/;
const MEMORY_BYTES = 16 * 1024;

export const billingAddress = model({
  street: text({ min: 1, max: 60 }),
  city: text({ min: 1, max: 40 }),
  state: text({ min: 2, max: 40 }),
  zip: text({ min: 3, max: 20 }),
  country: text({ min: 2, max: 60 }).nullish(),
  first_name: text({ max: 50 }).nullish(),
  last_name: text({ max: 50 }).nullish(),
});

const callback = textField(
  { description: "A phone number in E.164 format or a SIP URI that the project allows." },
  (value) => (parseCallback(value) ? value : FAULTS.callback),
  { max: 256 },
);

const sessionFields = {
  project: text({ min: 1 }),
  caller: textField(E164, (value) => parseE164(value) ?? CALLER),
  amount: amountField,
  mode: z.enum(MODES),
  gateway: z.enum(GATEWAYS).meta({ enum: DESCRIBED_GATEWAYS }),
  description: text({ max: 500 }).nullish(),
  callback: callback.nullish(),
  memory: text({ maxBytes: MEMORY_BYTES }).nullish(),
  stripe_account: text({ max: 255, pattern: STRIPE_ACCOUNT_ID }).nullish(),
  billing_address: billingAddress.nullish(),
};
const anyCreate = model(sessionFields);

function refuseZero<T extends Pick<z.output<typeof anyCreate>, "amount" | "mode">>(create: T, context: z.core.ParsePayload): T {
  const fault = zeroFault(create.amount, create.mode);
  if (fault) context.issues.push({ code: "custom", input: create.amount, path: ["amount"], params: { fault } });
  return create;
}
export const sessionCreate = anyCreate.transform(refuseZero);
export type SessionCreate = z.output<typeof sessionCreate>;

/** Of a voice platform's call from a browser: it has no number. */
export const webCallCreate = model({ ...sessionFields, caller: z.null() }).transform(refuseZero);
export type WebCallCreate = z.output<typeof webCallCreate>;

/** 200 to 299 without the two that cannot carry the body; one plain decimal integer. */
const responseStatus = field({ type: "integer", minimum: 200, maximum: 299, not: { enum: [204, 205] } }, (input) => {
  if (typeof input !== "string" || !/^(?:0|-?[1-9][0-9]*)$/.test(input)) return FAULTS.intParsing;
  const status = Number(input);
  if (status < 200) return FAULTS.atLeast(200);
  if (status > 299) return FAULTS.atMost(299);
  return status === 204 || status === 205 ? FAULTS.value("this status cannot carry the answer's body") : status;
});

export const createQuery = model({ response_status: responseStatus.optional() });

/** An unescaped `+` arrives as a space. */
const callerInQuery = textField(E164, (value) => parseE164(value.replace(/^ /, "+")) ?? CALLER);

export const findQuery = model({ caller: callerInQuery, project: text({ min: 1 }).optional() });

/** Whatever stands there is no UUID first of all: a NUL too. */
const uuid = field({ type: "string", format: "uuid" }, (input) =>
  typeof input === "string" ? (parseUuid(input) ?? uuidFault(input)) : FAULTS.stringType,
);

export const sessionPath = model({ session_id: uuid });
