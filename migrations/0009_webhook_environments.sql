-- An endpoint serves the sessions of both environments, or a project has one for each (R-431).
alter table webhook_endpoints
  add column environment text not null default 'both' check (environment in ('both', 'test', 'live')),
  drop constraint webhook_endpoints_pkey,
  add primary key (project_id, environment);
