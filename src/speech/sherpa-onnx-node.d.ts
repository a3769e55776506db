/** The part of sherpa-onnx-node 1.13 that `sherpa-recogniser.ts` uses; the package is the operator's to install. */
declare module "sherpa-onnx-node" {
  interface OnlineStream {
    acceptWaveform(wave: { sampleRate: number; samples: Float32Array }): void;
    inputFinished(): void;
  }

  class OnlineRecognizer {
    /** Throws when a file is missing; a file that is no model ends the process. */
    constructor(config: object);
    createStream(): OnlineStream;
    isReady(stream: OnlineStream): boolean;
    decode(stream: OnlineStream): void;
    getResult(stream: OnlineStream): { text: string };
  }

  const library: { OnlineRecognizer: typeof OnlineRecognizer };
  export default library;
}
