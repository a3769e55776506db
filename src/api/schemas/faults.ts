/**
 * The words of a 422 answer. `type` and `msg` are those of Pydantic 2: clients branch on the
 * types. The value that was sent is never repeated: it may hold a card number.
 */

/** One thing that is wrong with one value, before it has a `loc`. */
export class Fault {
  readonly type: string;
  readonly msg: string;

  constructor(type: string, msg: string) {
    this.type = type;
    this.msg = msg;
  }
}

/** One item of `detail`: a fault and its `loc`, `["body", "billing_address", "zip"]`. */
export interface Item {
  type: string;
  loc: (string | number)[];
  msg: string;
}

/** A request that does not fit its schema; answered with 422 and all items at once. */
export class Invalid extends Error {
  readonly items: Item[];

  constructor(items: Item[]) {
    super("Invalid request");
    this.name = "Invalid";
    this.items = items;
  }
}

/** `fault` at `loc`, as an item. */
export function itemAt(loc: (string | number)[], fault: Fault): Item {
  return { type: fault.type, loc, msg: fault.msg };
}

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** `'a', 'b' or 'c'`. */
function alternatives(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

const NOT_AN_OBJECT = "Input should be a valid dictionary or object to extract fields from";

/** Every fault that a field can have. Functions where the words carry a bound. */
export const FAULTS = {
  missing: new Fault("missing", "Field required"),
  jsonInvalid: new Fault("json_invalid", "JSON decode error"),
  notAnObject: new Fault("model_attributes_type", NOT_AN_OBJECT),
  notSentAsJson: new Fault("model_attributes_type", `${NOT_AN_OBJECT}, sent with Content-Type: application/json`),
  stringType: new Fault("string_type", "Input should be a valid string"),
  stringUnicode: new Fault("string_unicode", "Input should be a valid string, unable to parse raw data as a unicode string"),
  tooLong: (max: number) => new Fault("string_too_long", `String should have at most ${count(max, "character")}`),
  tooManyBytes: (max: number) => new Fault("string_too_long", `String should have at most ${count(max, "byte")}`),
  tooShort: (min: number) => new Fault("string_too_short", `String should have at least ${count(min, "character")}`),
  pattern: (pattern: RegExp) => new Fault("string_pattern_mismatch", `String should match pattern '${pattern.source}'`),
  choice: (values: readonly string[]) => new Fault("enum", `Input should be ${alternatives(values)}`),
  decimalType: new Fault("decimal_type", "Decimal input should be an integer, float, string or Decimal object"),
  decimalParsing: new Fault("decimal_parsing", "Input should be a valid decimal"),
  finite: new Fault("finite_number", "Input should be a finite number"),
  decimalPlaces: (max: number) => new Fault("decimal_max_places", `Decimal input should have no more than ${count(max, "decimal place")}`),
  atLeast: (bound: number) => new Fault("greater_than_equal", `Input should be greater than or equal to ${bound}`),
  moreThan: (bound: number) => new Fault("greater_than", `Input should be greater than ${bound}`),
  atMost: (bound: string | number) => new Fault("less_than_equal", `Input should be less than or equal to ${bound}`),
  /** Before the currency is known; `bound` is that of two decimals. */
  atMostOfAny: (bound: string | number) => FAULTS.atMost(`${bound}, or to 999999 in a currency without decimals`),
  intType: new Fault("int_type", "Input should be a valid integer"),
  intFromFloat: new Fault("int_from_float", "Input should be a valid integer, got a number with a fractional part"),
  intParsing: new Fault("int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
  uuid: (why: string) => new Fault("uuid_parsing", `Input should be a valid UUID, ${why}`),
  value: (why: string) => new Fault("value_error", `Value error, ${why}`),
  callback: new Fault(
    "value_error",
    "Value error, callback must be a phone number in E.164 format or a SIP URI, such as +14155550100 or sip:agent@example.com",
  ),
  gatewayNotConfigured: new Fault("gateway_not_configured", "The gateway is not configured on the project for this key's mode"),
  callbackNotAllowed: new Fault("callback_not_allowed", "The project does not allow transfers to this destination"),
} as const;
