import type { Gateway, Sum } from "#src/gateways/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import { decimalsOf } from "#src/kernel/money.ts";
import type { BillingAddress, Environment, GatewayName, Mode } from "#src/kernel/payment.ts";
import { type Database, type Log, ttlCached } from "#src/platform/index.ts";
import type { Project, Projects } from "#src/projects/index.ts";
import { amountInMinor, ceilingOf } from "./amount.ts";
import { parseCallback } from "./callback.ts";
import { callbackAllowed } from "./transfer-rules.ts";
import type { CheckoutFault, CheckoutResult, Requester, VoiceRequest, WidgetRequest } from "./types.ts";

/** People type slowly, and nobody is on the line. */
const WIDGET_TTL_SECONDS = 30 * 60;

export interface Checkout {
  /** What is to be made of a request for a voice session: the session, ready for `sessions.create`, or all that is wrong with it. */
  voiceSession(requester: Requester, request: VoiceRequest): Promise<CheckoutResult>;
  /** As `voiceSession`, for a widget session. */
  widgetSession(requester: Requester, request: WidgetRequest): Promise<CheckoutResult>;
}

interface CheckoutDeps {
  database: Pick<Database, "db">;
  projects: Pick<Projects, "findProject" | "gatewaySettings" | "numbersOf">;
  gateways: Readonly<
    Partial<
      Record<
        GatewayName,
        Pick<Gateway, "refusalOf"> & {
          readonly capabilities: Pick<Gateway["capabilities"], "connectedAccountOption" | "takesBillingAddress">;
        }
      >
    >
  >;
  clock: Clock;
  settings: {
    /** The number to call where a project has none. */
    phoneNumber: string | null;
    /** Unused voice sessions live this long. */
    sessionTtlSeconds: number;
    /** A fraction of a minor unit is rounded half up (`AMOUNT_SUBCENT`), not refused. Default false. */
    roundsFractions?: boolean;
    /** There is a trunk that dials numbers (`SIP_OUTBOUND`). */
    dialsNumbers: boolean;
    /** SIP is spoken over TLS here (`SIP_TLS_PORT`). */
    dialsTls: boolean;
    /** Whether the host of a SIP URI is a trunk's. */
    isTrunkHost(host: string): boolean;
  };
  log: Pick<Log, "warn">;
}

/** What a new session needs to know of its project. */
interface ProjectFacts {
  project: Project;
  /** Null: there are no credentials for the gateway. */
  gateway: {
    chargesConnectedAccounts: boolean;
    takesConnectedAccount: boolean;
    takesBillingAddress: boolean;
    refusalOf(sum: Sum): string | null;
  } | null;
  phoneNumber: string | null;
}

/** The rules of a valid new session that only its project and gateway can tell. Nothing is written. */
export function createCheckout({ database, projects, gateways, clock, settings, log }: CheckoutDeps): Checkout {
  const factsOf = factsReader({ database, projects, gateways, clock, settings });
  const factsFor = ({ organizationId, environment }: Requester, { gateway, project }: VoiceRequest | WidgetRequest) =>
    factsOf(organizationId, environment, gateway, project);

  return {
    async voiceSession(requester, request) {
      const facts = await factsFor(requester, request);
      if (!facts) return { kind: "no project" };
      const { project, gateway, phoneNumber } = facts;
      const amountMinor = amountInMinor(request.amount, project.currency, settings.roundsFractions ?? false);
      const faults = [
        ...amountFaults(amountMinor, request.mode, project.currency),
        ...gatewayFaults(facts, request.mode, amountMinor),
        ...callbackFaults(request.callback, project, settings),
        ...accountFaults(request, facts),
      ];
      if (faults.length > 0 || typeof amountMinor === "string") return { kind: "invalid", faults };
      const { caller, callback, memory, billingAddress } = request;
      // the session is made all the same, and its transfer will fail.
      if (!settings.dialsNumbers && callback !== null && parseCallback(callback)?.kind === "phone")
        log.warn("callback_without_trunk", { organization: requester.organizationId, project: project.id });
      return {
        kind: "valid",
        session: {
          ...commonTerms(requester, request, facts),
          channel: "voice",
          amountMinor,
          caller,
          callback,
          memory,
          billingAddress: gateway?.takesBillingAddress ? withCountry(billingAddress) : null,
          ttlSeconds: settings.sessionTtlSeconds,
        },
        phoneNumber,
        offersLink: project.voice.payUrl,
        hasCode: project.voice.shortCode,
      };
    },

    async widgetSession(requester, request) {
      const facts = await factsFor(requester, request);
      if (!facts) return { kind: "no project" };
      const { currency } = facts.project;
      const amountMinor = request.amountMinor > ceilingOf(currency) ? "too large" : request.amountMinor;
      const faults = [
        ...amountFaults(amountMinor, request.mode, currency),
        ...gatewayFaults(facts, request.mode, amountMinor),
        ...accountFaults(request, facts),
      ];
      if (faults.length > 0 || typeof amountMinor === "string") return { kind: "invalid", faults };
      return {
        kind: "valid",
        session: {
          ...commonTerms(requester, request, facts),
          channel: "widget",
          amountMinor,
          caller: null,
          callback: null,
          memory: null,
          billingAddress: null,
          ttlSeconds: WIDGET_TTL_SECONDS,
        },
        phoneNumber: null,
        offersLink: false,
        hasCode: false,
      };
    },
  };
}

/** Reads what a new session needs to know of its project, at most once in a moment; null when the organisation has no such project. */
function factsReader({ database, projects, gateways, clock, settings }: Omit<CheckoutDeps, "log">) {
  return ttlCached(
    clock,
    (organizationId: string, environment: Environment, gateway: GatewayName, project: string) =>
      [organizationId, environment, gateway, project].join(" "),
    async (organizationId, environment, gateway, idOrSlug): Promise<ProjectFacts | null> => {
      const { db } = database;
      const project = await projects.findProject(db, organizationId, idOrSlug);
      if (!project) return null;
      const own = await projects.gatewaySettings(db, project.id, gateway, environment);
      const [number] = await projects.numbersOf(db, project.id);
      const { connectedAccountOption: option = null, takesBillingAddress = false } = gateways[gateway]?.capabilities ?? {};
      return {
        project,
        gateway: own && {
          takesConnectedAccount: option !== null,
          chargesConnectedAccounts: option !== null && own.options[option] === true,
          takesBillingAddress,
          refusalOf: (sum) => gateways[gateway]?.refusalOf?.(sum, own) ?? null,
        },
        phoneNumber: number ?? settings.phoneNumber,
      };
    },
  );
}

function amountFaults(amount: ReturnType<typeof amountInMinor>, mode: Mode, currency: string): CheckoutFault[] {
  if (amount === 0 && mode === "charge") return [{ field: "amount", fault: "zero" }];
  if (amount === "fraction") return [{ field: "amount", fault: "fraction", decimals: decimalsOf(currency) }];
  return amount === "too large" ? [{ field: "amount", fault: "too large", ceiling: ceilingOf(currency), currency }] : [];
}

/** A payment that would end as a fault of the settings is told to whoever asks for it, not to who is about to pay. */
function gatewayFaults({ gateway, project: { currency } }: ProjectFacts, mode: Mode, amount: number | string): CheckoutFault[] {
  if (gateway === null) return [{ field: "gateway", fault: "not configured" }];
  const reason = typeof amount === "number" ? gateway.refusalOf({ mode, amountMinor: amount, currency }) : null;
  return reason === null ? [] : [{ field: "gateway", fault: "not the sum", reason }];
}

function callbackFaults(callback: string | null, project: Project, settings: CheckoutDeps["settings"]): CheckoutFault[] {
  if (callback === null) return [];
  const target = parseCallback(callback);
  if (!target) return [{ field: "callback", fault: "not a destination" }];
  // What cannot be dialled is refused now: after the payment it would strand the caller.
  const isDialled = target.kind === "phone" || !target.tls || settings.dialsTls;
  return isDialled && callbackAllowed(target, project, (host) => settings.isTrunkHost(host))
    ? []
    : [{ field: "callback", fault: "not allowed" }];
}

/** A connected account is charged with the platform's key, or not at all. */
function accountFaults({ connectedAccount }: VoiceRequest | WidgetRequest, { gateway }: ProjectFacts): CheckoutFault[] {
  const isCharged = connectedAccount === null || !gateway?.takesConnectedAccount || gateway.chargesConnectedAccounts;
  return isCharged ? [] : [{ field: "connectedAccount", fault: "no platform key" }];
}

function commonTerms(
  { organizationId, environment }: Requester,
  request: VoiceRequest | WidgetRequest,
  { project, gateway }: ProjectFacts,
) {
  return {
    organizationId,
    projectId: project.id,
    environment,
    mode: request.mode,
    gateway: request.gateway,
    currency: project.currency,
    description: request.description,
    connectedAccount: gateway?.takesConnectedAccount ? request.connectedAccount : null,
  };
}

function withCountry(address: VoiceRequest["billingAddress"]): BillingAddress | null {
  return address && { ...address, country: address.country ?? "US" };
}
