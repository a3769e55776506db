import type { CheckoutFault, CheckoutResult } from "#src/checkout/index.ts";
import { AppError } from "#src/kernel/errors.ts";
import { formatAmount } from "#src/kernel/money.ts";
import { at, type Fault, FAULTS, Invalid, type Item } from "./schemas/faults.ts";

type AmountField = "amount" | "amount_cents";

/** The valid session, else throws: AppError when there is no such project, Invalid with a fault for each field otherwise. */
export function validOrThrow(result: CheckoutResult, amountField: AmountField): Extract<CheckoutResult, { kind: "valid" }> {
  if (result.kind === "valid") return result;
  if (result.kind === "no project") throw new AppError("project_not_found");
  throw new Invalid(result.faults.map((fault) => itemOf(fault, amountField)));
}

function itemOf(fault: CheckoutFault, amountField: AmountField): Item {
  const names = { amount: amountField, gateway: "gateway", callback: "callback", connectedAccount: "stripe_account" } as const;
  return at(["body", names[fault.field]], faultOf(fault, amountField));
}

function faultOf(fault: CheckoutFault, amountField: AmountField): Fault {
  switch (fault.fault) {
    case "zero":
      return FAULTS.moreThan(0);
    case "fraction":
      return FAULTS.decimalPlaces(fault.decimals);
    case "too large":
      return FAULTS.atMost(amountField === "amount" ? formatAmount(fault.ceiling, fault.currency) : fault.ceiling);
    case "not configured":
      return FAULTS.gatewayNotConfigured;
    case "not a destination":
      return FAULTS.callback;
    case "not allowed":
      return FAULTS.callbackNotAllowed;
    case "no platform key":
      return FAULTS.value("stripe_account needs the platform key on the project");
  }
}
