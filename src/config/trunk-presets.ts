/** The addresses that a carrier or voice platform says its calls come from. */
interface TrunkPreset {
  /** Where it says so. */
  page: string;
  ranges: readonly string[];
}

/**
 * Names that SIP_TRUNKS takes besides address ranges; as other publications quoted the vendor's page on 2026-11-22, not read off the page
 * itself (docs/trunks.md). Signalling alone: media is admitted by what a call has agreed on.
 */
export const TRUNK_PRESETS: Readonly<Record<string, TrunkPreset>> = {
  twilio: {
    page: "https://www.twilio.com/docs/sip-trunking/ip-addresses",
    // Virginia, Oregon, Dublin, Frankfurt, Tokyo, Singapore, Sydney, Sao Paulo: all of them, whatever the trunk's own region.
    ranges: [
      "54.172.60.0/30",
      "54.244.51.0/30",
      "54.171.127.192/30",
      "35.156.191.128/30",
      "54.65.63.192/30",
      "54.169.127.128/30",
      "54.252.254.64/30",
      "177.71.206.192/30",
    ],
  },
  telnyx: {
    page: "https://developers.telnyx.com/docs/voice/sip-trunking/routing/failover-and-retries",
    // United States; the other regions' addresses are on sip.telnyx.com.
    ranges: ["192.76.120.10", "64.16.250.10"],
  },
  vapi: {
    page: "https://docs.vapi.ai/advanced/sip/sip-trunk",
    // sip.vapi.ai
    ranges: ["44.229.228.186", "44.238.177.138"],
  },
  retell: {
    page: "https://docs.retellai.com/deploy/custom-telephony",
    ranges: ["18.98.16.120/30", "3.42.144.0/23", "153.57.128.0/18", "143.223.88.0/21", "161.115.160.0/19"],
  },
};
