export { type Listener, type Recogniser, createRecogniser } from "./recogniser.ts";
export { type Voice, createVoice } from "./voice.ts";
