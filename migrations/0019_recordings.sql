-- Sentences as a project's own voice says them: mu-law at 8 kHz, by the SHA-256 of it. Which sentence is said by which stands in projects.voice.
create table recordings (
  project_id uuid not null references projects (id),
  digest text not null,
  ulaw bytea not null,
  primary key (project_id, digest)
);
