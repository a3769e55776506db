-- The streams that are open, in whichever process, while the limits of R-067 are on. Rows of a process whose lease has run out do
-- not count. Unlogged: after a crash of the server nobody streams.
create unlogged table open_streams (
  id uuid primary key,
  owner text not null,
  session_id uuid not null,
  api_key_id uuid not null
);
create index open_streams_of_session on open_streams (session_id);
create index open_streams_of_key on open_streams (api_key_id);
