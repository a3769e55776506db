import { pairs } from "../kit/answers.ts";
import type { ReceivedAnswer, Send, Sent, WrongRequests } from "../kit/wrong-requests.ts";

type Pairs = Record<string, string>;
const CREDENTIALS = { PARTNER: "PayPal", VENDOR: "acmemerchant", USER: "apiuser", PWD: "p&ss=word1" };
let requests = 0;
const post = (TRXTYPE: string, more: Pairs): Sent => ({
  at: "POST /",
  headers: { "X-VPS-REQUEST-ID": `wrong-${++requests}`, "X-VPS-CLIENT-TIMEOUT": "45" },
  body: { TRXTYPE, TENDER: "C", ...CREDENTIALS, ...more },
  format: "nameValue",
});

export const sale = (more: Pairs = {}, TRXTYPE = "S"): Sent =>
  post(TRXTYPE, {
    ACCT: "4111111111111111",
    EXPDATE: "0960",
    CVV2: "123",
    AMT: "25.00",
    CURRENCY: "USD",
    BILLTOFIRSTNAME: "Jane",
    BILLTOLASTNAME: "Smith & Sons",
    BILLTOZIP: "48375",
    CUSTREF: `r${requests}`,
    INVNUM: "INV1001",
    COMMENT1: "Invoice 1001",
    VERBOSITY: "HIGH",
    ...more,
  });

/** The members of an answer, tagged or not. */
export const membersOf = ({ text }: ReceivedAnswer): Pairs =>
  Object.fromEntries(text.split("&").map((pair) => pair.split(/(?:\[\d+\])?=/) as [string, string]));

/** Something done to an earlier transaction. */
export async function following(send: Send, TRXTYPE: string, more: Pairs = {}, original: Sent = sale()): Promise<Sent> {
  return post(TRXTYPE, { ORIGID: membersOf(await send(original))["PNREF"] ?? "", ...more });
}

export const wrongRequests: WrongRequests = {
  codeOf: (answer) => {
    if (answer.status !== 200) return String(answer.status);
    const { RESULT = "no RESULT" } = membersOf(answer);
    return RESULT === "0" ? null : RESULT;
  },
  requests: {
    "a sale": () => sale(),
    "an authorization": () => sale({}, "A"),
    "a check": () => sale({ AMT: "0.00", CARDONFILE: "CITI" }, "A"),
    "an upload": () => post("L", { ACCT: "5105105105105100", EXPDATE: "0960", BILLTOFIRSTNAME: "Jane" }),
    "a reference transaction": async (send) => following(send, "S", { AMT: "25.00", CURRENCY: "USD" }),
    "a capture": (send) => following(send, "D", { AMT: "25.00" }, sale({}, "A")),
    "a void": (send) => following(send, "V"),
    "an inquiry": async (send) => {
      const original = sale();
      await send(original);
      return post("I", { CUSTREF: (original.body as Pairs)["CUSTREF"] ?? "", VERBOSITY: "HIGH" });
    },
    "a review": (send) => following(send, "U", { UPDATEACTION: "RMS_APPROVE" }, sale({ AMT: "1126.00" })),
  },
  cases: [
    ["a sale", { path: "/transactions" }, "404"],
    ["a sale", { method: "PUT" }, "405"],
    ["a sale", { "header:Content-Type": "application/x-www-form-urlencoded" }, "7"],
    ["a sale", { "header:X-VPS-REQUEST-ID": undefined }, "7"],
    ["a sale", { "header:X-VPS-REQUEST-ID": "x".repeat(33) }, "7"],
    ["a sale", { "header:PAYPAL-NVP": "Y" }, "7"],
    ["a sale", { body: "TRXTYPE[2]=S&TENDER[1]=C" }, "7"],
    ["a sale", { body: `${pairs({ TRXTYPE: "S", TENDER: "C", ...CREDENTIALS })}&` }, "7"],
    ["a sale", { VENDOR: undefined, USER: undefined }, "26"],
    ["a sale", { USER: undefined }, "26"],
    ["a sale", { PWD: "wrongpassword" }, "1"],
    ["a sale", { PWD: "short" }, "1"],
    ["a sale", { PARTNER: undefined }, "1"],
    ["a sale", { TENDER: "G" }, "2"],
    ["a sale", { TRXTYPE: "G" }, "3"],
    ["a sale", { TRXTYPE: undefined }, "3"],
    ["a sale", { AMT: "-1.00" }, "4"],
    ["a sale", { AMT: "25" }, "4"],
    ["a sale", { AMT: "1,199.95" }, "4"],
    ["a sale", { AMT: "0.00" }, "4"],
    ["a sale", { AMT: undefined }, "4"],
    ["a sale", { AMT: "1013.00" }, "13"],
    ["a sale", { AMT: "2500.00" }, "12"],
    ["a sale", { CURRENCY: "ZZZ" }, "6"],
    ["a sale", { ACCT: "4111 1111 1111 1111" }, "23"],
    ["a sale", { ACCT: "4111111111111112" }, "23"],
    ["a sale", { ACCT: "000000000000000" }, "23"],
    ["a sale", { ACCT: undefined }, "23"],
    ["a sale", { EXPDATE: "1360" }, "24"],
    ["a sale", { EXPDATE: "0298" }, "24"],
    ["a sale", { EXPDATE: "09/60" }, "24"],
    ["a sale", { CVV2: "12" }, "7"],
    ["a sale", { BILLTOZIP: "48375-1234" }, "7"],
    ["a sale", { BILLTOSTATE: "Texas" }, "7"],
    ["a sale", { BILLTOCOUNTRY: "USA" }, "7"],
    ["a sale", { BILLTOFIRSTNAME: "x".repeat(31) }, "7"],
    ["a sale", { BILLTOLASTNAME: 'O"Brian' }, "7"],
    ["a sale", { BILLTOLASTNAME: "Müller" }, "7"],
    ["a sale", { CUSTREF: "3f6c0a5e-9b1d" }, "7"],
    ["a sale", { INVNUM: "INV-1001" }, "7"],
    ["a sale", { CUSTIP: "2001:db8::7" }, "7"],
    ["a sale", { CARDONFILE: "YES" }, "7"],
    ["a sale", { VERBOSITY: "LOUD" }, "7"],
    ["a sale", { MOTO: "Y" }, "7"],
    ["an upload", { AMT: "1.00" }, "7"],
    ["a reference transaction", { ORIGID: "A10AA633AB30" }, "19"],
    ["a capture", { ORIGID: undefined }, "7"],
    ["a capture", { ORIGID: "A10AA633AB30" }, "19"],
    ["a capture", { AMT: "25.01" }, "111"],
    ["a void", { TRXTYPE: "C" }, "105"],
    ["a void", { TRXTYPE: "D" }, "111"],
    ["an inquiry", { CUSTREF: "none" }, "19"],
    ["an inquiry", { CUSTREF: undefined }, "7"],
    ["an inquiry", { STARTTIME: "yesterday" }, "7"],
    ["a review", { UPDATEACTION: "APPROVE" }, "7"],
  ],
};
