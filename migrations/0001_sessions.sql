-- The first house: who may ask, what was asked, what became of it. Forwards only; runs on PostgreSQL 15 and later and on PGlite.
-- No column here can hold a card number, an expiry date or a security code.

create table organizations (
  id uuid primary key,
  slug text not null unique,
  name text not null,
  created_at timestamptz not null default clock_timestamp()
);

create table projects (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  slug text not null,
  name text not null,
  currency text not null,
  language text not null,
  country text not null,
  archived boolean not null default false,
  voice jsonb not null default '{}',
  widget jsonb not null default '{}',
  integrations jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  unique (organization_id, slug)
);

create table phone_numbers (
  number text primary key,
  project_id uuid not null references projects (id)
);

-- A key is kept as a keyed hash; its first and last four characters are all that can be shown again.
create table api_keys (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  name text not null,
  mode text not null check (mode in ('test', 'live')),
  digest bytea not null unique,
  prefix text not null,
  last4 text not null,
  scopes text[] not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  unique (organization_id, name)
);

-- Secrets are sealed (AES-256-GCM under the master key); `version` counts the saves and is what an attempt records.
create table gateway_settings (
  project_id uuid not null references projects (id),
  gateway text not null,
  environment text not null check (environment in ('test', 'live')),
  credentials bytea not null,
  endpoint text,
  options jsonb not null default '{}',
  version integer not null default 1,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (project_id, gateway, environment)
);

create table webhook_endpoints (
  project_id uuid primary key references projects (id),
  url text not null,
  secrets bytea not null,
  amount_unit text not null default 'dollars' check (amount_unit in ('dollars', 'cents')),
  disabled_at timestamptz,
  updated_at timestamptz not null default clock_timestamp()
);

create table sessions (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  project_id uuid not null references projects (id),
  environment text not null check (environment in ('test', 'live')),
  channel text not null check (channel in ('voice', 'widget')),
  status text not null,
  -- Hidden inside COLLECTING: collecting, charging, unknown. Null in every other status.
  phase text,
  mode text not null check (mode in ('charge', 'tokenize')),
  gateway text not null,
  amount_minor bigint not null check (amount_minor >= 0),
  currency text not null,
  caller text,
  description text,
  callback text,
  memory text,
  stripe_account text,
  billing_address jsonb,
  processor jsonb,
  webhook_processor jsonb,
  card_brand text,
  card_last4 text,
  error_code text,
  error_message text,
  transfer_status text,
  -- Which process holds the call, and which call: the claim.
  claimed_by text,
  call_id text,
  -- Counts the changes: the id of the stream's events.
  revision integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  completed_at timestamptz
);
create index sessions_by_caller on sessions (organization_id, environment, caller, created_at desc);
create index sessions_waiting on sessions (expires_at) where status = 'PENDING';
create index sessions_pending_by_caller on sessions (caller, created_at desc) where status = 'PENDING';
create index sessions_collecting on sessions (claimed_by) where status = 'COLLECTING';

-- Written before the gateway is called, finished after it: the ledger of what was tried (never twice, never lost).
create table payment_attempts (
  id uuid primary key,
  session_id uuid not null references sessions (id),
  number integer not null,
  reference text not null unique,
  gateway text not null,
  environment text not null,
  mode text not null,
  amount_minor bigint not null,
  currency text not null,
  stripe_account text,
  credential_version integer not null,
  endpoint text not null,
  card_brand text not null,
  card_last4 text not null,
  owner text not null,
  outcome text check (outcome in ('approved', 'declined', 'unknown')),
  decline_code text,
  reason text,
  notes jsonb not null default '{}',
  started_at timestamptz not null default clock_timestamp(),
  deadline_at timestamptz not null,
  finished_at timestamptz,
  unique (session_id, number)
);
create index payment_attempts_open on payment_attempts (deadline_at) where outcome is null or outcome = 'unknown';

-- A process says every few seconds that it lives; the janitor takes over only from the dead.
create table process_leases (
  owner text primary key,
  roles text not null,
  heartbeat_at timestamptz not null default clock_timestamp()
);

create table webhook_events (
  id text primary key,
  session_id uuid not null unique references sessions (id),
  project_id uuid not null references projects (id),
  event text not null,
  body jsonb not null,
  tries integer not null default 0,
  last_status text,
  next_try_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  dead_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);
create index webhook_events_waiting on webhook_events (next_try_at) where delivered_at is null and dead_at is null;

create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  organization_id uuid,
  actor text not null,
  action text not null,
  object text not null,
  details jsonb not null default '{}'
);

create unlogged table rate_buckets (
  bucket text not null,
  window_start timestamptz not null,
  hits integer not null,
  primary key (bucket, window_start)
);
