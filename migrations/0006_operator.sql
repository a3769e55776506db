-- What an operator looks at. Calls from a trunk that no session matched, with what each rule found: at most the last
-- thousand, at most a week old. Telephone numbers and ids as they came; whatever looks like a card number is masked before.
create table unmatched_calls (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  call_id text not null,
  source text not null,
  misses jsonb not null
);

-- For lists of the newest rows. Block ranges cost an insert next to nothing, and rows arrive in the order of their time.
create index sessions_by_time on sessions using brin (created_at);
create index webhook_events_by_time on webhook_events using brin (created_at);
create index webhook_events_dead on webhook_events (created_at) where dead_at is not null;

-- Payments that somebody has to look at: the outcome was never established, or money is not given back.
create index payment_attempts_unsettled on payment_attempts (started_at) where outcome = 'unknown' or undo in ('due', 'failed');
