-- For the attempts of the last hour. Block ranges cost an insert next to nothing, and rows arrive in the order of their time.
create index payment_attempts_by_time on payment_attempts using brin (started_at);
