export { type Listener, type Recogniser, createRecogniser } from "./recogniser.ts";
export { type Synthesiser, createSynthesiser } from "./synthesiser.ts";
