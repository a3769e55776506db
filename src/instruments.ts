import type { GatewayName } from "./kernel/payment.ts";
import type { Payments } from "./payments/index.ts";
import type { Metrics, Outbound } from "./platform/index.ts";
import type { Sessions, Step } from "./sessions/index.ts";

export type Instruments = ReturnType<typeof createInstruments>;

/** Puts the gauges on the pipes: each function answers what it was given, counted. docs/operations.md names the numbers. */
export function createInstruments(metrics: Metrics) {
  const created = metrics.counter("sessions_created_total", "Sessions made.", ["gateway", "mode", "environment"]);
  const charges = metrics.counter("charges_total", "Cards given to a gateway, by what became of them and who was told it.", [
    "gateway",
    "outcome",
    "by",
  ]);
  const settled = metrics.timings("charge_seconds", "From the card to the gateway's outcome.", ["gateway"]);
  const tries = metrics.counter("webhook_tries_total", "Tries to deliver a status webhook.", ["outcome"]);
  const requests = metrics.timings("http_request_seconds", "From a request's head to the end of its answer.", ["endpoint", "status"]);
  const countRateFallback = metrics.counter(
    "rate_limit_fallback_total",
    "Requests that this process counted by itself because Redis did not answer.",
  );
  const countCall = metrics.counter("calls_total", "INVITEs that came from a trunk.");
  const refusedCalls = metrics.counter("calls_refused_total", "Calls refused with 503 before anything was looked up.", ["reason"]);
  const steps = metrics.counter(
    "steps_total",
    "Steps of the collection of a card by telephone: how often one was reached, asked again, and the last of a call.",
    ["step", "what"],
  );
  const codes = metrics.counter("short_codes_total", "Short codes that callers dialled or keyed.", ["result"]);
  const countKeypadOnly = metrics.counter(
    "speech_refused_total",
    "Callers who spoke and were asked to use the keypad: all speech workers served others.",
  );
  const countSpeechFault = metrics.counter("speech_faults_total", "Speech workers that died, or whose recogniser failed.");

  return {
    countCall,
    countKeypadOnly,
    countSpeechFault,
    countRateFallback,

    observe: (endpoint: string, status: number, seconds: number) => requests(seconds * 1000, { endpoint, status: String(status) }),

    countStep: (step: Step, what: "reached" | "repeated" | "left") => steps({ step, what }),

    countCode: (result: "matched" | "wrong" | "closed") => codes({ result }),

    countRefusedCall: (reason: "draining" | "max_calls" | "overload") => refusedCalls({ reason }),

    sessions: <S extends Pick<Sessions, "create" | "createIdempotent">>(sessions: S): S => ({
      ...sessions,
      createIdempotent: async (...args: Parameters<Sessions["createIdempotent"]>) => {
        const stored = await sessions.createIdempotent(...args);
        const [{ gateway, mode, environment }] = args;
        if (stored && !stored.replayed) created({ gateway, mode, environment });
        return stored;
      },
      create: async (...args: Parameters<Sessions["create"]>) => {
        const session = await sessions.create(...args);
        const [, { gateway, mode, environment }] = args;
        created({ gateway, mode, environment });
        return session;
      },
    }),

    /** What the search found out after an answer was lost. */
    countReconciled: (gateway: GatewayName, outcome: "approved" | "declined" | "unknown") =>
      charges({ gateway, outcome, by: "reconciliation" }),

    payments: (payments: Payments, now: () => number): Payments => ({
      ...payments,
      settle: async (input) => {
        const gateway: GatewayName = input.session.gateway;
        const started = now();
        const result = await payments.settle(input);
        charges({ gateway, outcome: result.kind, by: "answer" });
        settled(now() - started, { gateway });
        return result;
      },
    }),

    webhooks: (outbound: Pick<Outbound, "send">): Pick<Outbound, "send"> => ({
      send: async (request) => {
        const answer = await outbound.send(request);
        tries({ outcome: answer.kind === "answered" ? `${Math.floor(answer.status / 100)}xx` : "no answer" });
        return answer;
      },
    }),
  };
}
