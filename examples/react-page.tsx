/**
 * A merchant's page in React 19 with the card form in it, in the place of the plain one of widget-page.ts, which serves it:
 *
 *   npx esbuild examples/react-page.tsx --bundle --minify --jsx=automatic --outfile=react-page.js
 *   API_KEY=svc_test_... BUNDLE=react-page.js npx node examples/widget-page.ts
 *
 * The element comes with the loader; voicetill.d.ts and voicetill-react.d.ts type it.
 */
import { useState } from "react";
import { createRoot } from "react-dom/client";

function Checkout({ sessionId }: { sessionId: string }) {
  const [outcome, setOutcome] = useState("");
  // For the shopper's eyes: an order is shipped when the webhook says so, or GET /v1/sessions/{id}.
  return (
    <>
      <h1>Order 1001</h1>
      <voicetill-payment
        session-id={sessionId}
        onsubmit={() => setOutcome("")}
        onsuccess={() => setOutcome("We are packing your order.")}
        onerror={({ detail }) => setOutcome(detail.message ?? "Your order is still open.")}
      />
      <p role="status">{outcome}</p>
    </>
  );
}

const root = document.querySelector<HTMLElement>("#root")!;
createRoot(root).render(<Checkout sessionId={root.dataset["sessionId"] ?? ""} />);
