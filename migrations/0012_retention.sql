-- What is no longer needed is erased: first who called, then the session (docs/operations.md, Retention).
alter table sessions add column erased_at timestamptz;
create index sessions_to_erase on sessions (completed_at) where completed_at is not null and erased_at is null;
create index sessions_erased on sessions (completed_at) where completed_at is not null and erased_at is not null;

-- A webhook's body names the caller. Null: erased. A body that is still to be delivered is erased after that.
alter table webhook_events alter column body drop not null;
alter table webhook_events add column erase_when_settled boolean not null default false;
create index webhook_events_to_erase on webhook_events (id) where erase_when_settled;

-- Tries to pay go with their session.
alter table widget_charges
  drop constraint widget_charges_session_id_fkey,
  add foreign key (session_id) references sessions (id) on delete cascade;
