/** The element of voicetill.d.ts for React 19 (needs @types/react), to be copied beside it. */
import type { Key, Ref } from "react";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "voicetill-payment": VoicetillPaymentAttributes & { key?: Key; ref?: Ref<VoicetillPaymentElement> };
    }
  }
}
