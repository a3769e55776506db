-- Brands of cards that a project takes, on the telephone and in the card form; empty: whatever its gateway takes.
alter table projects add column accepted_brands text[] not null default '{}';
