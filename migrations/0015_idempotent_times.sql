-- A kept response is its fixed part; the session's times, which only the database knows, stand beside it and are put in when it is read.
alter table idempotency_keys add column created_at timestamptz, add column session_expires_at timestamptz;
update idempotency_keys set
  created_at = (answer::json ->> 'created_at')::timestamptz,
  session_expires_at = coalesce(answer::json ->> 'expires_at', answer::json ->> 'created_at')::timestamptz,
  answer = regexp_replace(answer, '"(created_at|expires_at)":"[^"]*"', '"\1":null', 'g');
alter table idempotency_keys alter column created_at set not null, alter column session_expires_at set not null;
