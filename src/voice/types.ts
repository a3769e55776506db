import type { Clock } from "#src/kernel/clock.ts";
import type { LanguageTag } from "#src/kernel/language.ts";
import type { Random } from "#src/kernel/random.ts";
import type { MediaEngine } from "#src/media/index.ts";
import type { Payments } from "#src/payments/index.ts";
import type { Background, Database, Log } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { Sessions, Step } from "#src/sessions/index.ts";
import type { UserAgent } from "#src/sip/index.ts";
import type { Recogniser } from "#src/speech/index.ts";
import type { CodeCount, ShortCodes } from "./short-codes.ts";
import type { TransferLimits } from "./transfer-quota.ts";
import type { Trunks } from "#src/checkout/index.ts";
import type { Prompts } from "./prompts.ts";
import type { StepCount } from "./steps.ts";

/** What a call needs; `voice/index.ts` fills it once. */
export interface CallDeps {
  database: Database;
  sessions: Sessions;
  projects: Projects;
  payments: Payments;
  userAgent: Pick<UserAgent, "invite" | "mayReach">;
  media: Pick<MediaEngine, "open" | "bridge" | "relayEarlyMedia" | "loadClip" | "unloadClip">;
  prompts: Prompts;
  shortCodes: Pick<ShortCodes, "find" | "mayAsk">;
  /** Null: keypad only. */
  recogniser: Pick<Recogniser, "acquire" | "expectSpeech" | "understandsNames"> | null;
  /** What is still to be written when its call is over. */
  background: Background;
  clock: Clock;
  random: Random;
  log: Log;
  /** For the operator's funnel. */
  countStep: (step: Step, what: StepCount) => void;
  countCode: (result: CodeCount) => void;
  settings: VoiceSettings;
}

export interface VoiceSettings {
  /** This run of this process, as in its lease. */
  owner: string;
  /** What a call can be spoken in. */
  languages: readonly LanguageTag[];
  /** IP address literal in our session descriptions. */
  mediaHost: string;
  /** No call over TLS without SRTP. */
  srtpRequired: boolean;
  /** Host in Contact, From and `sip_uri`. */
  publicHost: string;
  /** The number presented to a callback whose project has none. */
  phoneNumber: string | null;
  trunks: Trunks;
  transfers: TransferLimits;
}
