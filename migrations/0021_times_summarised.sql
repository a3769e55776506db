-- An index of block ranges knows nothing of those that were filled since the table was last vacuumed, and reads them all: the newest rows,
-- which are what it is asked for. Now a range is summarised when the next one begins (by the autovacuum daemon).
alter index sessions_by_time set (autosummarize = on);
alter index webhook_events_by_time set (autosummarize = on);
alter index payment_attempts_by_time set (autosummarize = on);
alter index idempotency_keys_expired set (autosummarize = on);
