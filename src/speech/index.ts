export type { Command, Hearing, ListenFor, ListenOptions } from "./hearing.ts";
export { type Listener, type Recogniser, type RecogniserOptions, createRecogniser } from "./recogniser.ts";
export { type Voice, type VoiceOptions, createVoice } from "./voice.ts";
