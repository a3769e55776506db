import type { GatewayAnswer, GatewayIo, GatewayRequest } from "../contract.ts";

export type Answered = Extract<GatewayAnswer, { kind: "answered" }>;

/** What an answer says about repeating its request: it is final; nothing was done, come again; something may have been done, come again. */
export type Repeat = "final" | "nothing done" | "perhaps done";

export interface Repeated {
  /** The last answer that arrived; null when none did. */
  answer: Answered | null;
  /** The last answer is final. */
  final: boolean;
  /** A try before the final answer, or any at all without one, may have been acted on. */
  doubt: boolean;
}

const PAUSES_MS = [1000, 2000, 4000, 8000];

/**
 * Sends a request that carries an idempotency key until its answer is final, at most five times within the attempt's
 * deadline. `build` makes the request anew for each try: bodies are wiped once they were sent.
 */
export async function sendUntilFinal(io: GatewayIo, build: () => GatewayRequest, judge: (answer: Answered) => Repeat): Promise<Repeated> {
  let last: Answered | null = null;
  let doubt = false;
  for (const pause of [...PAUSES_MS, null]) {
    const answer = await io.send(build());
    if (answer.kind === "answered") {
      last = answer;
      const repeat = judge(answer);
      if (repeat === "final") return { answer, final: true, doubt };
      doubt ||= repeat === "perhaps done";
    } else doubt ||= answer.kind === "lost";
    if (pause === null || !(await io.wait(pause))) break;
  }
  return { answer: last, final: false, doubt };
}
