-- Sending money back after a session has ended otherwise is a reversal, in the table as everywhere.
alter table payment_attempts rename column undo to reversal;
alter table payment_attempts rename column undo_tries to reversal_tries;
alter table payment_attempts rename column undo_at to reversal_at;
alter table payment_attempts rename column undo_since to reversal_since;
alter index payment_attempts_undo rename to payment_attempts_reversal;
