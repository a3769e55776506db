import { checkCredential } from "../kit/auth.ts";
import type { Simulator, SimulatorAnswer, SimulatorFactory, SimulatorRequest } from "../kit/simulator.ts";
import { OK, newAccount } from "./account.ts";
import type { Account, Call, Reply } from "./account.ts";
import { createCustomerProfile, deleteCustomerProfile, getCustomerProfile } from "./profiles.ts";
import { getDetails, listBatch, listBatches, listUnsettled } from "./reports.ts";
import { REQUESTS, faultIn } from "./schema.ts";
import { createTransaction } from "./transactions.ts";

/**
 * Authorize.Net API as the sheet describes it: one path, the method is the body's only member, the schema's order counts,
 * everything is answered with status 200 and a byte order mark.
 */

const PATH = "/xml/v1/request.api";
const TYPES = ["application/json", "text/json"];

const METHODS: Readonly<Record<string, (call: Call) => Reply | "reset">> = {
  authenticateTestRequest: () => OK,
  createTransactionRequest: createTransaction,
  createCustomerProfileRequest: createCustomerProfile,
  getCustomerProfileRequest: getCustomerProfile,
  deleteCustomerProfileRequest: deleteCustomerProfile,
  getTransactionDetailsRequest: getDetails,
  getUnsettledTransactionListRequest: listUnsettled,
  getSettledBatchListRequest: listBatches,
  getTransactionListRequest: listBatch,
};

export const simulator: SimulatorFactory = (tools): Simulator => {
  const accounts = new Map<string, Account>();

  const handle = async (request: SimulatorRequest): Promise<SimulatorAnswer> => {
    if (request.path !== PATH)
      return { status: 404, headers: { "content-type": "text/html" }, body: "<h1>404 - File or directory not found.</h1>" };
    if (request.method !== "POST")
      return { status: 405, headers: { "content-type": "text/html" }, body: "<h1>405 - Method not allowed.</h1>" };
    const refused = (code: string, text: string, refId?: unknown): SimulatorAnswer => {
      tools.record({ kind: "refused", id: null, reference: null, outcome: null, details: { code } });
      return answerOf({ code, text }, refId);
    };
    const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
    if (!TYPES.includes(type)) return refused("E00002", "The content-type specified is not supported.");
    const [method, members] = methodOf(request.body) ?? [];
    if (method === undefined) return refused("E00003", "Root element is missing.");
    const [shape, run] = [REQUESTS[method], METHODS[method]];
    if (!shape || !run) return refused("E00003", `The 'AnetApi/xml/v1/schema/AnetApiSchema.xsd:${method}' element is not declared.`);
    const fault = faultIn(members, shape, method);
    if (fault !== null) return refused("E00003", fault);
    const wanted = members as Record<string, unknown>;
    const { name, transactionKey } = wanted["merchantAuthentication"] as Record<string, string>;
    const stranger = strangerTo(name ?? "", transactionKey ?? "");
    if (stranger !== null) return refused(...stranger, wanted["refId"]);
    await request.work();
    const account = accounts.get(name ?? "") ?? newAccount();
    accounts.set(name ?? "", account);
    const reply = run({ tools, account, request: wanted });
    return reply === "reset" ? reply : answerOf(reply, wanted["refId"]);
  };

  return { handle, operationOf: ({ body }) => methodOf(body)?.[0] };
};

/** The body's only member, its scalars as text; undefined when it is no JSON object or has another number of members. */
function methodOf(body: Buffer): readonly [string, unknown] | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString().replace(/^\ufeff/, ""), (_name, value: unknown) =>
      typeof value === "number" || typeof value === "boolean" ? String(value) : value,
    );
    const members = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? Object.entries(parsed) : [];
    return members.length === 1 ? members[0] : undefined;
  } catch {
    return undefined;
  }
}

function strangerTo(...credentials: string[]): readonly [string, string] | null {
  const verdicts = credentials.map((credential) => (/^[A-Za-z0-9_-]+$/.test(credential) ? checkCredential(credential) : "wrong"));
  if (verdicts.includes("wrong")) return ["E00007", "User authentication failed due to invalid authentication values."];
  return verdicts.includes("expired") ? ["E00008", "User authentication failed. The payment gateway account or user is inactive."] : null;
}

function answerOf({ code, text, members = {}, lost = false }: Reply, refId: unknown): SimulatorAnswer {
  const resultCode = code.startsWith("I") ? "Ok" : "Error";
  const body = {
    ...members,
    ...(refId !== undefined && { refId }),
    messages: { resultCode, message: [{ code, text }] },
  };
  return { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, body: `\ufeff${JSON.stringify(body)}`, lost };
}
