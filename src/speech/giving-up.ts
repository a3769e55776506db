import type { Decoder, Decoders } from "./decoder.ts";

/** What was being decoded is no answer any more. */
export class GivenUp extends Error {}

/** The same decoders; each throws `GivenUp` in place of beginning another decoding, or waiting for one, once `isVain`. */
export function whileNotVain({ streaming, batch, scoring, verifier }: Decoders, isVain: () => boolean): Decoders {
  const check = () => {
    if (isVain()) throw new GivenUp();
  };
  // Every decoding begins with its grammar.
  const checked = (decoder: Decoder): Decoder => ({
    ...decoder,
    use(grammar) {
      check();
      decoder.use(grammar);
    },
  });
  return {
    streaming,
    batch: checked(batch),
    scoring: checked(scoring),
    verifier: verifier && {
      hear: (samples) => verifier.hear(samples),
      weigh(task) {
        check();
        const outcome = verifier.weigh(task);
        return () => {
          check();
          return outcome();
        };
      },
    },
  };
}
