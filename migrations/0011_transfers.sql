-- Transfers of callers back to their callback, counted over all processes (R-330). Rows are kept for two days. No foreign
-- keys: a session may be erased while its row is still counted.
create table transfers (
  id bigint generated always as identity primary key,
  session_id uuid not null,
  project_id uuid not null,
  owner text not null,
  started_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);
create index transfers_running on transfers (started_at) where ended_at is null;
create index transfers_of_project on transfers (project_id, started_at);
