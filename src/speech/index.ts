export { type Listener, type Recogniser, createRecogniser, tryEngine } from "./recogniser.ts";
export { type Synthesiser, createSynthesiser } from "./synthesiser.ts";
export { createEndpointVoice, type EndpointVoice } from "./endpoint-voice.ts";
export { readRecording } from "./recording.ts";
export { SoundFault, writeWav } from "./wav.ts";
export type { SpeechEngine } from "./streaming-recogniser.ts";
