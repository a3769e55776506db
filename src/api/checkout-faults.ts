import type { CheckoutFault, CheckoutResult } from "#src/checkout/index.ts";
import { AppError } from "#src/kernel/errors.ts";
import { formatAmount } from "#src/kernel/money.ts";
import { itemAt, type Fault, FAULTS, Invalid, type Item } from "./schemas/faults.ts";

type AmountField = "amount" | "amount_cents";

/** The valid session, else throws: AppError when there is no such project, Invalid with a fault for each field otherwise. */
export function validOrThrow(result: CheckoutResult, amountField: AmountField): Extract<CheckoutResult, { kind: "valid" }> {
  if (result.kind === "valid") return result;
  if (result.kind === "no project") throw new AppError("project_not_found");
  throw new Invalid(result.faults.map((fault) => itemOf(fault, amountField)));
}

function itemOf(fault: CheckoutFault, amountField: AmountField): Item {
  const names = { amount: amountField, gateway: "gateway", callback: "callback", connectedAccount: "stripe_account" } as const;
  return itemAt(["body", names[fault.field]], faultOf(fault, amountField));
}

function faultOf(fault: CheckoutFault, amountField: AmountField): Fault {
  if (fault.field === "amount") return amountFault(fault, amountField);
  return fault.fault === "not the sum" ? FAULTS.value(fault.reason) : FAULT_OF[fault.fault];
}

const FAULT_OF: Readonly<Record<Exclude<CheckoutFault, { field: "amount" } | { fault: "not the sum" }>["fault"], Fault>> = {
  "not configured": FAULTS.gatewayNotConfigured,
  "not a destination": FAULTS.callback,
  "not allowed": FAULTS.callbackNotAllowed,
  "no platform key": FAULTS.value("stripe_account needs the platform key on the project"),
};

function amountFault(fault: Extract<CheckoutFault, { field: "amount" }>, amountField: AmountField): Fault {
  if (fault.fault === "zero") return FAULTS.moreThan(0);
  if (fault.fault === "fraction") return FAULTS.decimalPlaces(fault.decimals);
  return FAULTS.atMost(amountField === "amount" ? formatAmount(fault.ceiling, fault.currency) : fault.ceiling);
}
