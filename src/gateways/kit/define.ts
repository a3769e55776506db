import type { Mode } from "#src/kernel/payment.ts";
import type {
  AccessToken,
  AttemptTrace,
  Capabilities,
  Declined,
  Gateway,
  LookUpResult,
  Order,
  Outcome,
  ProcessorNames,
  Sum,
  VoidResult,
} from "../contract.ts";
import { guarded } from "./guard.ts";
import { declined } from "./outcomes.ts";
import { addressFault, credentialFaults, fieldsOf, resolveSettings, sandboxSecrets } from "./settings.ts";
import type { Io, SandboxValues, SettingsDescription, SettingsOf } from "./settings.ts";
import type { Answered } from "./triage.ts";

/** What holds for most vendors; an adapter names what it has otherwise. */
const USUAL = {
  lookUp: "by reference",
  voidBy: "reference",
  authorizeOnly: false,
  oneAttempt: false,
  moto: true,
  verifiesOnTokenize: true,
  needsAddress: false,
  sendsPostalCode: true,
  takesBillingAddress: false,
  connectedAccountOption: null,
  deadlineMs: 60_000,
} as const satisfies Partial<Capabilities>;

/** Names with blanks between them; the first of `charge` identifies the payment, unless `transactionId` says which one does. */
type ProcessorWords = Record<Mode, string> & Partial<Omit<ProcessorNames, Mode>>;

/** A gateway as its adapter writes it; `defineGateway` makes the contract's `Gateway` of it. */
export interface Adapter<D extends SettingsDescription> {
  name: Gateway["name"];
  settings: D;
  capabilities: Omit<Capabilities, keyof typeof USUAL | "processorFields"> &
    Partial<Omit<Capabilities, "processorFields">> & { processorFields: ProcessorWords };
  credentialsIn?: Gateway["credentialsIn"];
  /** Credentials that the gateway's simulator accepts. */
  sandbox: SandboxValues<D> | ((endpoint: string) => SandboxValues<D>);
  /** One sentence on what is wrong with a project's settings beyond the forms in their description, or null. */
  checkSettings?: (settings: SettingsOf<D>) => string | null;
  /** One sentence on why the vendor never takes such a sum, or null. Neither `charge` nor `tokenize` is called with one. */
  refusalOf?: (sum: Sum, settings: SettingsOf<D>) => string | null;
  /** Header of the vendor's answers that its support asks for, lower case; its last value is kept for the operator. */
  supportHeader?: string;
  /** The same where it stands in the body. */
  supportId?: (answer: Answered) => string | undefined;
  /** A sentence or two for the generated documentation. */
  documentation?: string;
  charge: (order: Order, io: Io<D>) => Promise<Outcome>;
  tokenize: (order: Order, io: Io<D>) => Promise<Outcome>;
  authenticate?: (io: Io<D>) => Promise<AccessToken | Declined>;
  lookUp?: (attempt: AttemptTrace, io: Io<D>) => Promise<LookUpResult>;
  void?: (attempt: AttemptTrace, io: Io<D>) => Promise<VoidResult>;
}

/** The gateway of an adapter, guarded: whatever the adapter or the vendor does, the promises of `guarded` hold. */
export function defineGateway<const D extends SettingsDescription>(adapter: Adapter<D>): Gateway {
  const { name, settings: description, credentialsIn = "credentials", sandbox, supportHeader, documentation } = adapter;
  const inHeader = ({ headers }: Answered) => (supportHeader === undefined ? undefined : headers[supportHeader]);
  return guarded(
    {
      name,
      capabilities: { ...USUAL, ...adapter.capabilities, processorFields: processorNames(adapter.capabilities.processorFields) },
      ...fieldsOf(description),
      credentialsIn,
      ...(documentation !== undefined && { documentation }),
      sandboxCredentials: (endpoint) => sandboxSecrets(typeof sandbox === "function" ? sandbox(endpoint) : sandbox),
      checkSettings: (settings) => {
        const faults: (string | null | undefined)[] = credentialFaults(description, settings);
        const resolved = resolveSettings(description, settings);
        // What an adapter reads has its form.
        if (faults.length === 0 && resolved !== null) faults.push(adapter.checkSettings?.(resolved));
        if (resolved !== null) faults.push(addressFault(description, settings));
        return faults.filter(Boolean).join("; ") || null;
      },
      refusalOf(sum, settings) {
        // Asked with every session that is made.
        if (adapter.refusalOf === undefined) return null;
        const resolved = resolveSettings(description, settings);
        return (resolved && adapter.refusalOf(sum, resolved)) ?? null;
      },
    },
    { ...adapter, charge: unlessRefused(adapter, adapter.charge), tokenize: unlessRefused(adapter, adapter.tokenize) },
    { resolve: (settings) => resolveSettings(description, settings), supportIdOf: adapter.supportId ?? inHeader },
  );
}

function processorNames({ charge, tokenize, ...more }: ProcessorWords): ProcessorNames {
  const charged = charge.split(" ");
  return { charge: charged, tokenize: tokenize.split(" "), transactionId: charged[0] ?? "", ...more };
}

/** What `refusalOf` has shown to be there: a sum that cannot be written is never sent. */
export function unrefused<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new TypeError("a sum that refusalOf should have refused");
  return value;
}

/** The settings may have changed since the session was made. */
function unlessRefused<D extends SettingsDescription>({ refusalOf }: Adapter<D>, verb: Adapter<D>["charge"]): Adapter<D>["charge"] {
  if (refusalOf === undefined) return verb;
  return (order, io) => {
    const reason = refusalOf(order, io.settings);
    return reason === null ? verb(order, io) : Promise.resolve(declined("gateway_misconfigured", { reason }));
  };
}
