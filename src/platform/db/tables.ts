import type { ColumnType, Generated } from "kysely";
import type { BillingAddress, Environment, GatewayName, Mode } from "#src/kernel/payment.ts";

/** The tables as TypeScript sees them; `migrations/` is the truth. int8 arrives as a number, timestamptz as a Date. */
export interface Tables {
  organizations: { id: string; slug: string; name: string; created_at: Timestamp };
  projects: {
    id: string;
    organization_id: string;
    slug: string;
    name: string;
    currency: string;
    language: string;
    country: string;
    archived: ColumnType<boolean, boolean | undefined, boolean>;
    accepted_brands: ColumnType<string[], string[] | undefined, string[]>;
    voice: Json;
    widget: Json;
    integrations: Json;
    created_at: Timestamp;
  };
  recordings: { project_id: string; digest: string; ulaw: Uint8Array };
  phone_numbers: { number: string; project_id: string };
  api_keys: {
    id: string;
    organization_id: string;
    name: string;
    mode: Environment;
    digest: Uint8Array;
    prefix: string;
    last4: string;
    scopes: string[];
    expires_at: Date | null;
    revoked_at: Date | null;
    created_at: Timestamp;
  };
  gateway_settings: {
    project_id: string;
    gateway: GatewayName;
    environment: Environment;
    credentials: Uint8Array;
    endpoint: string | null;
    options: Json;
    version: Generated<number>;
    updated_at: Timestamp;
  };
  webhook_endpoints: {
    project_id: string;
    environment: ColumnType<Environment | "both", Environment | "both" | undefined, never>;
    url: string;
    secrets: Uint8Array;
    amount_unit: ColumnType<"dollars" | "cents", "dollars" | "cents" | undefined, "dollars" | "cents">;
    disabled_at: Date | null;
    updated_at: Timestamp;
  };
  sessions: {
    id: string;
    organization_id: string;
    project_id: string;
    environment: Environment;
    channel: "voice" | "widget";
    status: string;
    phase: string | null;
    mode: Mode;
    gateway: GatewayName;
    amount_minor: number;
    currency: string;
    caller: string | null;
    description: string | null;
    callback: string | null;
    memory: string | null;
    stripe_account: string | null;
    billing_address: ColumnType<BillingAddress | null, string | null, string | null>;
    processor: NullableJson;
    webhook_processor: NullableJson;
    card_brand: string | null;
    card_last4: string | null;
    error_code: string | null;
    error_message: string | null;
    transfer_status: string | null;
    claimed_by: string | null;
    call_id: string | null;
    revision: Generated<number>;
    created_at: Timestamp;
    updated_at: Timestamp;
    expires_at: Date;
    completed_at: Date | null;
    erased_at: Date | null;
  };
  payment_attempts: {
    id: string;
    session_id: string;
    number: number;
    reference: string;
    gateway: GatewayName;
    environment: Environment;
    mode: Mode;
    amount_minor: number;
    currency: string;
    stripe_account: string | null;
    credential_version: number;
    endpoint: string;
    card_brand: string;
    card_last4: string;
    owner: string;
    outcome: "approved" | "declined" | "unknown" | null;
    decline_code: string | null;
    reason: string | null;
    notes: Json;
    started_at: Timestamp;
    deadline_at: Date;
    finished_at: Date | null;
    reversal: "due" | "done" | "failed" | null;
    reversal_tries: Generated<number>;
    reversal_at: Date | null;
    reversal_since: Date | null;
    closed_since: Date | null;
  };
  process_leases: { owner: string; roles: string; heartbeat_at: Timestamp; master_keys: Generated<string[]> };
  webhook_events: {
    id: string;
    session_id: string;
    project_id: string;
    event: string;
    /** null: erased. */
    body: ColumnType<unknown, string | undefined, string | null>;
    erase_when_settled: Generated<boolean>;
    tries: Generated<number>;
    last_status: string | null;
    next_try_at: Timestamp;
    delivered_at: Date | null;
    dead_at: Date | null;
    created_at: Timestamp;
  };
  transfers: {
    id: Generated<number>;
    session_id: string;
    project_id: string;
    owner: string;
    started_at: Timestamp;
    ended_at: Date | null;
  };
  unmatched_calls: { id: Generated<number>; at: Timestamp; call_id: string; source: string; misses: Json };
  audit_log: {
    id: Generated<number>;
    at: Timestamp;
    organization_id: string | null;
    actor: string;
    action: string;
    object: string;
    details: Json;
    source: string | null;
    result: Generated<string>;
    position: number | null;
    seal: Uint8Array | null;
  };
  audit_head: { single: Generated<boolean>; position: number; seal: Uint8Array; proof: Uint8Array };
  installation_keys: { name: string; sealed: Uint8Array; created_at: Timestamp };
  idempotency_keys: {
    api_key_id: string;
    path: string;
    key: string;
    request: Uint8Array;
    status: number;
    answer: string;
    expires_at: Timestamp;
  };
  open_streams: { id: string; owner: string; session_id: string; api_key_id: string };
  token_buckets: { bucket: string; full_at: Date; granted: number };
  widget_charges: { session_id: string; nonces: string[]; busy_until: Date | null };
}

/** Filled by the database's clock when left out. */
type Timestamp = ColumnType<Date, Date | undefined, Date>;
/** Read as a value, written as JSON text: the two drivers disagree about arrays and strings in jsonb otherwise. */
type Json = ColumnType<unknown, string | undefined, string>;
type NullableJson = ColumnType<Record<string, string | boolean> | null, string | null, string | null>;
