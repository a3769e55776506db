import { createHash } from "node:crypto";
import type { ReceivedAnswer, Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

type Form = Record<string, string>;
let codes = 0;
const newCode = () => `ps-wrong-${++codes}`;
const post = (service: string, body: Form): Sent => ({
  at: `POST /gateway/service/${service}.vsp`,
  body: { VPSProtocol: "4.00", Vendor: "acmevendor", ...body },
  format: "form",
});
const side = (name: string): Form => ({
  [`${name}Surname`]: "Smith",
  [`${name}Firstnames`]: "Jane",
  [`${name}Address1`]: "88",
  [`${name}City`]: "London",
  [`${name}PostCode`]: "412",
  [`${name}Country`]: "GB",
});

/** An order by telephone, as the sheet shows it. */
export const register = (more: Form = {}): Sent =>
  post("vspdirect-register", {
    TxType: "PAYMENT",
    VendorTxCode: newCode(),
    Amount: "25.00",
    Currency: "GBP",
    Description: "Invoice 1001",
    CardHolder: "Jane Smith",
    CardNumber: "4929000000006",
    ExpiryDate: "0960",
    CV2: "123",
    CardType: "VISA",
    ...side("Billing"),
    ...side("Delivery"),
    AccountType: "M",
    Apply3DSecure: "2",
    ApplyAVSCV2: "0",
    ...more,
  });

const BROWSER = {
  AccountType: "E",
  ThreeDSNotificationURL: "https://shop.example/3ds",
  ClientIPAddress: "203.0.113.7",
  BrowserJavascriptEnabled: "0",
  BrowserAcceptHeader: "text/html",
  BrowserLanguage: "en-GB",
  BrowserUserAgent: "Browser/1.0",
  ChallengeWindowSize: "05",
};

/** The lines of an answer. */
export const linesOf = ({ text }: ReceivedAnswer): Form =>
  Object.fromEntries(
    text
      .trim()
      .split("\r\n")
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );

/** A payment that was made, by the names of the services that follow it. */
export async function made(send: Send, more: Form = {}): Promise<{ original: Form; related: Form }> {
  const sent = register(more);
  const { VPSTxId = "", SecurityKey = "", TxAuthNo = "" } = linesOf(await send(sent));
  const VendorTxCode = (sent.body as Form)["VendorTxCode"] ?? "";
  const original = { VendorTxCode, VPSTxId, SecurityKey, ...(TxAuthNo !== "" && { TxAuthNo }) };
  return {
    original,
    related: { VendorTxCode: newCode(), RelatedVendorTxCode: VendorTxCode, RelatedVPSTxId: VPSTxId, RelatedSecurityKey: SecurityKey },
  };
}

/** A service that follows a payment or, under `more`, something else. */
export async function following(send: Send, TxType: string, body: Form = {}, more: Form = {}): Promise<Sent> {
  const { original, related } = await made(send, more);
  const isRelated = ["REFUND", "AUTHORISE", "REPEAT"].includes(TxType);
  const amounts = {
    Amount: "25.00",
    Description: "Back",
    ...(TxType !== "AUTHORISE" && { Currency: "GBP" }),
    ...(TxType !== "AUTHORISE" && { RelatedTxAuthNo: original["TxAuthNo"] ?? "" }),
  };
  return post(TxType.toLowerCase(), { TxType, ...(isRelated ? { ...related, ...amounts } : original), ...body });
}

/** A signed question to the Reporting API. */
export function report(
  vendortxcode: string,
  { user = "apiuser", password = "s3cretPw1", command = "getTransactionDetail", vendor = "acmevendor" } = {},
): Sent {
  const asked = `<command>${command}</command><vendor>${vendor}</vendor><user>${user}</user>${vendortxcode && `<vendortxcode>${vendortxcode}</vendortxcode>`}`;
  const signature = createHash("md5").update(`${asked}<password>${password}</password>`).digest("hex");
  return {
    at: "POST /access/access.htm",
    body: { XML: `<vspaccess>${asked}<signature>${signature}</signature></vspaccess>` },
    format: "form",
  };
}

export const wrongRequests: WrongRequests = {
  codeOf: (answer) => {
    if (answer.status !== 200) return String(answer.status);
    const error = /<errorcode>(\d+)<\/errorcode>/.exec(answer.text)?.[1];
    if (error !== undefined) return error === "0000" ? null : error;
    const { Status = "", StatusDetail = "" } = linesOf(answer);
    return ["OK", "REGISTERED", "AUTHENTICATED", "3DAUTH"].includes(Status) ? null : `${Status} ${StatusDetail.slice(0, 4)}`;
  },
  requests: {
    "a payment": () => register(),
    "a payment in a browser": () => register(BROWSER),
    "a registration": () => register({ TxType: "AUTHENTICATE", COFUsage: "FIRST", InitiatedType: "CIT", MITType: "UNSCHEDULED" }),
    "a void": (send) => following(send, "VOID"),
    "a refund": (send) => following(send, "REFUND"),
    "a repeat": (send) => following(send, "REPEAT"),
    "an authorisation": (send) => following(send, "AUTHORISE", { Amount: "28.75" }, { TxType: "AUTHENTICATE" }),
    "a release": (send) => following(send, "RELEASE", { ReleaseAmount: "25.00" }, { TxType: "DEFERRED" }),
    "an abort": (send) => following(send, "ABORT", {}, { TxType: "DEFERRED" }),
    "a report": async (send) => report((await made(send)).original["VendorTxCode"] ?? ""),
  },
  cases: [
    ["a payment", { path: "/gateway/service/vspserver-register.vsp" }, "404"],
    ["a payment", { "header:Content-Type": "application/json" }, "MALFORMED 3034"],
    ["a payment", { Vendor: undefined }, "MALFORMED 3034"],
    ["a payment", { Vendor: "wrongvendor" }, "INVALID 4000"],
    ["a payment", { Vendor: "Acme Vendor" }, "INVALID 4000"],
    ["a payment", { VPSProtocol: "3.00" }, "INVALID 3003"],
    ["a payment", { TxType: "payment" }, "INVALID 3003"],
    ["a payment", { VendorTxCode: "x".repeat(41) }, "INVALID 3003"],
    ["a payment", { VendorTxCode: "a b" }, "INVALID 3003"],
    ["a payment", { Amount: "25.000" }, "INVALID 3003"],
    ["a payment", { Amount: "100000.01" }, "INVALID 3003"],
    ["a payment", { Amount: "25.50", Currency: "JPY" }, "INVALID 3003"],
    ["a payment", { Currency: "ZZZ" }, "INVALID 4008"],
    ["a payment", { Description: undefined }, "MALFORMED 3013"],
    ["a payment", { Description: "x".repeat(101) }, "INVALID 3013"],
    ["a payment", { CardHolder: undefined }, "MALFORMED 3002"],
    ["a payment", { CardHolder: "Žaneta" }, "INVALID 3003"],
    ["a payment", { CardNumber: "4000000000000001" }, "INVALID 5011"],
    ["a payment", { CardNumber: "4929 0000 0000 6" }, "INVALID 5011"],
    ["a payment", { CardType: "MC" }, "INVALID 4022"],
    ["a payment", { CardType: "VISADEBIT" }, "INVALID 3003"],
    ["a payment", { ExpiryDate: "1360" }, "INVALID 5014"],
    ["a payment", { ExpiryDate: "0120" }, "INVALID 5013"],
    ["a payment", { CV2: "12" }, "INVALID 5017"],
    ["a payment", { CV2: "1234" }, "INVALID 5018"],
    ["a payment", { BillingAddress1: undefined }, "MALFORMED 3091"],
    ["a payment", { BillingPostCode: undefined }, "MALFORMED 3090"],
    ["a payment", { BillingCountry: "GBR" }, "INVALID 3093"],
    ["a payment", { BillingCountry: "US" }, "MALFORMED 3002"],
    ["a payment", { BillingState: "TX" }, "INVALID 3003"],
    ["a payment", { BillingPhone: "call me" }, "INVALID 3003"],
    ["a payment", { DeliverySurname: undefined }, "MALFORMED 3111"],
    ["a payment", { AccountType: "T" }, "INVALID 3099"],
    ["a payment", { Apply3DSecure: "4" }, "INVALID 3003"],
    ["a payment", { ClientIPAddress: "2001:db8::7" }, "INVALID 3003"],
    ["a payment", { Token: "{11111111-1111-1111-1111-111111111111}" }, "INVALID 4050"],
    ["a payment", { InitiatedTYPE: "CIT" }, "INVALID 3003"],
    ["a payment in a browser", { ThreeDSNotificationURL: undefined }, "MALFORMED 3227"],
    ["a payment in a browser", { BrowserJavascriptEnabled: "1" }, "MALFORMED 3227"],
    ["a payment in a browser", { ChallengeWindowSize: "5" }, "INVALID 3227"],
    ["a registration", { COFUsage: "SECOND" }, "INVALID 3003"],
    ["a void", { SecurityKey: "0000000000" }, "INVALID 4041"],
    ["a void", { TxAuthNo: undefined }, "MALFORMED 3002"],
    ["a void", { VPSTxId: "{11111111-1111-1111-1111-111111111111}" }, "INVALID 4041"],
    ["a void", { path: "/gateway/service/abort.vsp", TxType: "ABORT" }, "INVALID 4037"],
    ["a refund", { Amount: "25.01" }, "INVALID 5025"],
    ["a refund", { Currency: "EUR" }, "INVALID 4008"],
    ["a refund", { TxType: "VOID" }, "INVALID 3003"],
    ["a repeat", { RelatedTxAuthNo: "1" }, "INVALID 4041"],
    ["an authorisation", { Amount: "28.76" }, "INVALID 4044"],
    ["a release", { ReleaseAmount: "25.01" }, "INVALID 5004"],
    ["a report", { body: report("x", { user: "nobody" }).body }, "0008"],
    ["a report", { body: report("x", { password: "wrong" }).body }, "0010"],
    ["a report", { body: report("none").body }, "0043"],
    ["a report", { body: report("").body }, "0042"],
    ["a report", { XML: "<vspaccess>" }, "0001"],
  ],
};
