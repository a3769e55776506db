-- The answers that an Idempotency-Key brings back. Written in the transaction that made what the answer tells of.
-- `request` is a digest of the body, so that the same key with another body is noticed.
create table idempotency_keys (
  api_key_id uuid not null references api_keys (id) on delete cascade,
  path text not null,
  key text not null,
  request bytea not null,
  status integer not null,
  answer text not null,
  expires_at timestamptz not null default clock_timestamp() + interval '24 hours',
  primary key (api_key_id, path, key)
);
create index idempotency_keys_expired on idempotency_keys (expires_at);
