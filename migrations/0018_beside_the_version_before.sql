-- A process of the version before finds what it knows, while it runs beside a newer one and after a step back.

-- Its counts, in a table of its own.
alter table rate_buckets rename to token_buckets;
create unlogged table rate_buckets (
  bucket text not null,
  window_start timestamptz not null,
  hits integer not null,
  primary key (bucket, window_start)
);

-- Kept responses, whole: as they were sent.
update idempotency_keys set answer = replace(
  replace(answer, '"created_at":null', '"created_at":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'),
  '"expires_at":null', '"expires_at":"' || to_char(session_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
);
alter table idempotency_keys drop column created_at, drop column session_expires_at;
