import type { GatewayAnswer, GatewaySettings } from "../contract.ts";
import { GATEWAYS_BUILT } from "../registry.ts";
import { answered, orderOf, settingsOf, testIo, type TestIo } from "../testing.ts";
import { nameOf } from "./requests.ts";

/** For this folder's tests: the vendor as a script. */

export const gateway = GATEWAYS_BUILT.authorizenet!;
export const settings = settingsOf(gateway);
/** What the attempt of `orderOf()` is called at the vendor. */
export const NAME = nameOf(orderOf());

export const LOST: GatewayAnswer = { kind: "lost", reason: "connection reset" };
export const OK = { resultCode: "Ok", message: [{ code: "I00001", text: "Successful." }] };
export const error = (code: string, text = "An error.") => ({ messages: { resultCode: "Error", message: [{ code, text }] } });

/** An answer as the vendor writes it: status 200 whatever happened, a byte order mark first. */
export const answer = (members: object) => answered(200, `\ufeff${JSON.stringify({ refId: NAME, messages: OK, ...members })}`);

/** Processor fields of a payment that the scripts approve. */
export const FIELDS = {
  authnet_transaction_id: "60198765432",
  authnet_auth_code: "H6K4BU",
  authnet_response_code: "1",
  authnet_avs_result_code: "Y",
  authnet_cvv_result_code: "M",
  authnet_cavv_result_code: "2",
  authnet_network_trans_id: "123456789NNNH",
};

/** The vendor's answer to a request: its parsed body, and the method that the body names. */
type Script = (body: Record<string, Record<string, unknown>>, method: string) => GatewayAnswer;

/** An adapter's io against a scripted vendor. */
export function ioWith(script: Script, changes: Partial<GatewaySettings> = {}): TestIo {
  const io = testIo({ ...settings, ...changes }, () => {
    const [[method, body] = ["", {}]] = Object.entries(JSON.parse(io.sent.at(-1)?.body ?? "{}") as Record<string, Parameters<Script>[0]>);
    return Promise.resolve(script(body, method));
  });
  return io;
}
