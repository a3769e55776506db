import type { CardCells } from "#src/kernel/card.ts";
import type {
  AccessToken,
  AttemptTrace,
  Declined,
  Gateway,
  GatewayIo,
  GatewaySettings,
  LookUpResult,
  Order,
  Outcome,
  VoidResult,
} from "../contract.ts";
import { declined, unknown } from "./outcomes.ts";
import { ofDuplicate, REFUSED_AS } from "./repeat.ts";
import type { Answered } from "./triage.ts";
import { holdsCode, holdsNumber, isKeepable, words } from "./scrub.ts";

/** The verbs as an adapter has them: its settings are resolved and typed. */
interface Verbs<I> {
  charge(order: Order, io: I): Promise<Outcome>;
  tokenize(order: Order, io: I): Promise<Outcome>;
  authenticate?(io: I): Promise<AccessToken | Declined>;
  lookUp?(attempt: AttemptTrace, io: I): Promise<LookUpResult>;
  void?(attempt: AttemptTrace, io: I): Promise<VoidResult>;
}

interface Guard {
  /** The settings as the adapter wants them; null when a required credential is missing. */
  resolve: (settings: GatewaySettings) => unknown;
  /** What the vendor's support asks for, of an answer. */
  supportIdOf?: (answer: Answered) => string | undefined;
}

const NO_CREDENTIALS = "a required credential is missing: nothing was sent";
/** Longest message that a merchant may give with card forwarding. */
const LONGEST_MESSAGE = 500;

/**
 * A gateway as every other module gets it. Whatever the adapter or the vendor does: no exception leaves a verb, and once
 * something was sent it is an unknown outcome; a refusal as a duplicate is looked up and never final by itself; no kept text
 * is ill-formed, holds control characters, is longer than 255 or repeats the card number or the security code, be
 * it a field, a note, a message, a decline's code or the id for the vendor's support.
 */
export function guarded<I extends { settings: unknown }>(
  descriptor: Omit<Gateway, keyof Verbs<I>>,
  verbs: Verbs<I>,
  { resolve, supportIdOf }: Guard,
): Gateway {
  const { lookUp: kind, idempotency } = descriptor.capabilities;
  /** With a key that replays, a duplicate is the issuer's word; by rule, it is the merchant's. Else it may be our own request, arrived twice. */
  const mayBeOurs = idempotency !== "replay" && kind !== "by rule";

  const attempt =
    (verb: "charge" | "tokenize") =>
    async (order: Order, io: GatewayIo): Promise<Outcome> => {
      const watched = watch(io, resolve(io.settings), order.card, supportIdOf);
      if (watched.io.settings === null) return declined("gateway_credentials_invalid", { reason: NO_CREDENTIALS });
      let outcome: Outcome;
      try {
        const told = cleaned(await verbs[verb](order, watched.io as unknown as I), order.card);
        if (told.outcome === "unknown" && told.unlessFound !== undefined) await watched.io.note({ [REFUSED_AS]: told.unlessFound });
        outcome = asTwin(told, mayBeOurs && verbs.lookUp !== undefined && watched.namesDuplicate());
        if (outcome.outcome === "declined" && outcome.code === "duplicate_transaction" && mayBeOurs) {
          const trace: AttemptTrace = { ...traceOf(order), startedAtMs: watched.startedAtMs, notes: watched.notes };
          outcome = verbs.lookUp
            ? await ofDuplicate(watched.io, outcome, () => lookUp(trace, io, order.card))
            : unknown("the vendor calls it a duplicate and cannot be asked for the first one");
        }
      } catch (error) {
        const reason = `the gateway's adapter failed (${placeOf(error)})`;
        outcome = watched.sent() ? unknown(reason) : declined("processing_error", { reason: `${reason} before anything was sent` });
      }
      const { supportId: told, ...rest } = outcome;
      const supportId = watched.supportId() ?? told;
      return { ...rest, ...(supportId !== undefined && isKeepable(supportId, order.card) && { supportId }) };
    };

  const later = async <R>(io: GatewayIo, ask: (io: I) => Promise<R>, card?: CardCells): Promise<R | ReturnType<typeof unknown>> => {
    const watched = watch(io, resolve(io.settings), card);
    if (watched.io.settings === null) return unknown(NO_CREDENTIALS);
    try {
      return await ask(watched.io as unknown as I);
    } catch (error) {
      return unknown(`the gateway's adapter failed (${placeOf(error)})`);
    }
  };
  /** `card`: while the attempt still has it. */
  const lookUp = async (trace: AttemptTrace, io: GatewayIo, card?: CardCells): Promise<LookUpResult> => {
    const found = await later(io, (own) => verbs.lookUp?.(trace, own) ?? Promise.resolve(unknown("there is no look-up")), card);
    return found.outcome === "approved" || found.outcome === "declined" ? cleaned(found, card) : found;
  };

  return {
    ...descriptor,
    charge: attempt("charge"),
    tokenize: attempt("tokenize"),
    ...(verbs.authenticate && {
      authenticate: async (io) => {
        const minted = await later(io, async (own) => (await verbs.authenticate?.(own)) ?? declined("gateway_unavailable"));
        return "outcome" in minted && minted.outcome === "unknown" ? declined("gateway_unavailable", { reason: minted.reason }) : minted;
      },
    }),
    ...(verbs.lookUp && { lookUp: (trace, io) => lookUp(trace, io) }),
    ...(verbs.void && {
      void: (trace, io) => later(io, (own) => verbs.void?.(trace, own) ?? Promise.resolve(unknown("there is no void"))),
    }),
  };
}

function traceOf({ sessionId, attempt, reference, mode, amountMinor, currency, connectedAccount }: Order) {
  return { sessionId, attempt, reference, mode, amountMinor, currency, connectedAccount };
}

/** A vendor's word for a second delivery of a request, as a word of its own: no part of a field's name. */
const DUPLICATE = /\bduplicate\b/i;

/** A refusal beside that word: the first delivery may have been taken, so that it is looked up before it counts. */
function asTwin(outcome: Outcome, namesDuplicate: boolean): Outcome {
  if (outcome.outcome !== "declined" || !namesDuplicate || outcome.code === "duplicate_transaction") return outcome;
  return { ...outcome, code: "duplicate_transaction", unlessFound: outcome.code };
}

/** An adapter's io: its own settings, clean notes, and what it did while it ran. */
function watch(io: GatewayIo, settings: unknown, card?: CardCells, supportIdOf?: Guard["supportIdOf"]) {
  const notes: Record<string, string> = {};
  /** What the settings say is no echo, and a look-up may go by it. */
  const isSetting = (value: string) => Object.values(io.settings.credentials).some((setting) => setting.reveal() === value);
  let sent = false;
  let supportId: string | undefined;
  let namesDuplicate = false;
  const own = Object.create(io, {
    settings: { value: settings },
    note: {
      value: async (given: Record<string, string>) => {
        const clean = keepClean(given, card, isSetting);
        Object.assign(notes, clean);
        await io.note(clean);
      },
    },
    send: {
      value: async (request: Parameters<GatewayIo["send"]>[0]) => {
        sent = true;
        const answer = await io.send(request);
        const given = answer.kind === "answered" ? supportIdOf?.(answer) : undefined;
        if (given !== undefined && isKeepable(given, card)) supportId = given;
        const isRefused = answer.kind === "answered" && answer.status >= 400 && answer.status < 500;
        if (isRefused && request.method !== "GET") namesDuplicate = DUPLICATE.test(Buffer.from(answer.body).toString("latin1"));
        return answer;
      },
    },
  }) as GatewayIo;
  return {
    io: own,
    notes,
    startedAtMs: io.clock.now(),
    sent: () => sent,
    supportId: () => supportId,
    namesDuplicate: () => namesDuplicate,
  };
}

/** Where our own code failed: file and line, never the message, which may hold anything. */
function placeOf(error: unknown): string {
  const frame =
    error instanceof Error ? /([\w-]+\/[\w.-]+\.ts:\d+)/.exec(error.stack?.split("\n").slice(1).join("\n") ?? "")?.[1] : undefined;
  return `${error instanceof Error ? error.name : "no error"} at ${frame ?? "an unknown place"}`;
}

function keepClean<T extends string | boolean>(
  fields: Readonly<Record<string, T>>,
  card?: CardCells,
  isOurs: (value: string) => boolean = () => false,
): Record<string, T> {
  const clean = Object.entries(fields).filter(([, value]) => typeof value !== "string" || isKeepable(value, card) || isOurs(value));
  return Object.fromEntries(clean) as Record<string, T>;
}

/** An outcome fit to be kept. What cannot be kept is dropped, never the outcome; without the card it was scrubbed before. */
function cleaned<R extends Outcome>(outcome: R, card?: CardCells): R {
  if (outcome.outcome === "unknown") return outcome;
  const processor = keepClean(outcome.processor, card);
  const dropped = Object.keys(processor).length < Object.keys(outcome.processor).length;
  return {
    ...(outcome.outcome === "declined" ? saidWithout(outcome, card) : outcome),
    processor,
    ...(outcome.webhookProcessor && { webhookProcessor: keepClean(outcome.webhookProcessor, card) }),
    ...(dropped && {
      reason: "a field of the answer was dropped: too long, no clean text, or it repeats the card number or the security code",
    }),
  } as R;
}

/** A decline without a text that repeats the card number in any spelling, or the security code. */
function saidWithout({ publicCode, publicMessage, storedAs, ...refusal }: Declined, card?: CardCells): Declined {
  const repeats = (text: string) => card !== undefined && (holdsNumber(text, card.number) || holdsCode(text, card.cvv));
  const clean = (text: string | null | undefined, limit?: number) =>
    text === undefined || text === null || repeats(text) ? null : words(text, limit);
  const own = clean(publicMessage, LONGEST_MESSAGE);
  return {
    ...refusal,
    message: clean(refusal.message),
    ...(publicCode !== undefined && { publicCode: isKeepable(publicCode) && !repeats(publicCode) ? publicCode : refusal.code }),
    ...(own !== null && { publicMessage: own }),
    ...(storedAs !== undefined && isKeepable(storedAs, card) && { storedAs }),
  };
}
