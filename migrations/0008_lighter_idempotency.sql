-- Kept answers live for a day and are only ever found by their name. API keys are revoked, never deleted, so the reference
-- guarded against nothing; rows come in the order of their expiry, so a summary of each block's times finds the old ones.
alter table idempotency_keys drop constraint idempotency_keys_api_key_id_fkey;
drop index idempotency_keys_expired;
create index idempotency_keys_expired on idempotency_keys using brin (expires_at);
