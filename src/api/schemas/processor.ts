import type { GatewayName } from "#src/kernel/payment.ts";

/** docs/interface.md, Processor object: which fields a session of each gateway may show. */
const FIELDS: Readonly<Record<GatewayName, readonly string[]>> = {
  stripe: ["receipt_url", "stripe_charge_id", "stripe_payment_intent_id", "payment_method_id", "stripe_customer_id"],
  authorizenet: [
    "authnet_transaction_id",
    "authnet_auth_code",
    "authnet_response_code",
    "authnet_avs_result_code",
    "authnet_cvv_result_code",
    "authnet_cavv_result_code",
    "authnet_network_trans_id",
    "authnet_capture_status",
    "authnet_customer_profile_id",
    "authnet_payment_profile_id",
  ],
  braintree: ["braintree_transaction_id", "braintree_customer_id", "braintree_payment_method_token"],
  shift4: ["shift4_charge_id", "shift4_customer_id", "shift4_card_id"],
  fiserv: ["fiserv_transaction_id", "fiserv_order_id", "fiserv_payment_token", "fiserv_state"],
  jpmorgan: [
    "jpmorgan_transaction_id",
    "jpmorgan_state",
    "jpmorgan_consumer_profile_id",
    "jpmorgan_payment_method_id",
    "jpmorgan_payment_token",
  ],
  webhook: ["webhook_transaction_id", "webhook_token"],
  nmi: ["nmi_transaction_id", "nmi_customer_vault_id"],
  qualpay: ["qualpay_pg_id", "qualpay_card_id"],
  clover: ["clover_charge_id", "clover_customer_id"],
  adyen: ["adyen_psp_reference", "adyen_stored_payment_method_id"],
  checkoutcom: ["checkoutcom_payment_id", "checkoutcom_source_id"],
  cybersource: ["cybersource_payment_id", "cybersource_instrument_identifier_id"],
  worldpay: ["worldpay_payment_id", "worldpay_token_id"],
  usaepay: ["usaepay_refnum", "usaepay_card_key"],
  moneris: ["moneris_txn_id", "moneris_data_key"],
  globalpayments: ["globalpayments_transaction_id", "globalpayments_payment_method_id"],
  cardconnect: ["cardconnect_retref", "cardconnect_profile_id"],
  paysafe: ["paysafe_auth_id", "paysafe_payment_token"],
  fortis: ["fortis_transaction_id", "fortis_token_id"],
  payflow: ["payflow_pnref"],
  opayo: ["opayo_vps_tx_id", "opayo_security_key"],
  fatzebra: ["fatzebra_purchase_id", "fatzebra_card_token"],
  trustpayments: ["trustpayments_transaction_reference"],
  quickbooks: ["quickbooks_charge_id", "quickbooks_card_id"],
  ecommpay: ["ecommpay_payment_id", "ecommpay_operation_id"],
};

/**
 * A session paid by the test word has no gateway's answer: it shows the synthetic transaction beside the gateway's own
 * fields (docs/interface.md, States and transitions; R-234).
 */
const TEST_SKIP = ["test_skip", "transaction_id", "auth_code"];

export function processorFieldsOf(gateway: GatewayName): readonly string[] {
  return [...FIELDS[gateway], "card_brand", "card_last4", ...TEST_SKIP];
}
