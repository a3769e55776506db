-- Which entry of the operator's list is closed, named by the time since which the attempt has needed somebody. What becomes of the attempt
-- later, such as money found after all, has a time of its own and is on the list again.
alter table payment_attempts add column closed_since timestamptz;
