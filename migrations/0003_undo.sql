-- Money (or a stored card) that must be given back, because the session ended otherwise: 'due' until the gateway has said
-- so ('done'), or until nobody can do it any more ('failed': the operator's work list). Null: nothing has to be given back.
alter table payment_attempts
  add column undo text check (undo in ('due', 'done', 'failed')),
  add column undo_tries integer not null default 0,
  -- The next try, by whichever process comes first; while one is at it, the end of its turn.
  add column undo_at timestamptz,
  add column undo_since timestamptz;
create index payment_attempts_undo on payment_attempts (undo_at) where undo = 'due';
