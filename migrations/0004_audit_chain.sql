-- The audit log becomes a chain: a worker gives each row, once, its position and a seal over its content and the seal before
-- it (docs/decisions/0011). Until then both are null, so that nobody who writes a row waits for anybody else.
alter table audit_log
  -- Where it came from: an address, a command. Null: the service itself.
  add column source text,
  add column result text not null default 'done',
  add column position bigint,
  add column seal bytea;
create unique index audit_log_by_position on audit_log (position);
create index audit_log_unsealed on audit_log (id) where position is null;

-- How far the chain reaches, sealed itself: rows cut off its end are missed.
create table audit_head (
  single boolean primary key default true check (single),
  position bigint not null,
  seal bytea not null,
  proof bytea not null
);

-- The log only grows: what a row says is never changed, and its seal is set once.
create function audit_log_only_grows() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if old.position is null and to_jsonb(new) - 'position' - 'seal' = to_jsonb(old) - 'position' - 'seal' then
      return new;
    end if;
  end if;
  raise exception 'audit_log only grows';
end $$;
create trigger audit_log_only_grows before update or delete on audit_log for each row execute function audit_log_only_grows();
create trigger audit_log_is_not_emptied before truncate on audit_log for each statement execute function audit_log_only_grows();

-- Keys of this installation that outlive a master key, each sealed under it: what API keys are hashed with, what seals the
-- audit log, the demo project's key.
create table installation_keys (
  name text primary key,
  sealed bytea not null,
  created_at timestamptz not null default clock_timestamp()
);

-- The master keys that a process can open with, by their ids: all must know a new one before anything is sealed under it.
alter table process_leases add column master_keys text[] not null default '{}';
