-- A caller's sessions by two look-ups that end with the first row: the newest that is open, else the one that was completed last.
drop index sessions_by_caller;
create index sessions_open_by_caller on sessions (organization_id, environment, caller, created_at desc) where completed_at is null;
create index sessions_ended_by_caller on sessions (organization_id, environment, caller, completed_at desc, created_at desc)
  where completed_at is not null;

-- Which project has the trunk of a call: few have one of their own.
create index projects_with_trunks on projects (id) where voice ? 'trunks' and not archived;
