import { shortReference } from "../kit/index.ts";
import type { Behaviour } from "../testing.ts";

export const behaviour: Behaviour = {
  specFields: { charge: "nmi_transaction_id", tokenize: "nmi_transaction_id nmi_customer_vault_id" },
  path: { charge: "/api/transact.php", tokenize: "/api/transact.php" },
  wrong: { security_key: "wrongKey" },
  told: ({ reference }) => shortReference(reference, 24),
  neverActed: { outcome: "absent" },
  async chargeStored({ nmi_customer_vault_id: record = "", nmi_transaction_id: first = "" }, _order, vendor) {
    const kept = `customer_vault_id=${record}&stored_credential_indicator=used&initial_transaction_id=${first}`;
    const body = `security_key=simulatorsSecurityKeyOfThirtyTwo&type=sale&amount=25.00&${kept}&initiated_by=merchant&orderid=later-${record}`;
    const later = await vendor.post("/api/transact.php", { "Content-Type": "application/x-www-form-urlencoded" }, body);
    return later.startsWith("response=1&");
  },
};
