-- One row for each bucket: when it is full again, and how many tokens the last statement took of it. What was counted may be forgotten.
drop table rate_buckets;
create unlogged table rate_buckets (
  bucket text primary key,
  full_at timestamptz not null,
  granted integer not null
);
