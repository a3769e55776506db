-- Tries to pay in a widget, a row for each session that was tried. `nonces` has the one-time nonce of every try, in order, so
-- its length counts them; `busy_until` is set while one is under way. Neither says anything about a card.
create table widget_charges (
  session_id uuid primary key references sessions (id),
  nonces text[] not null,
  busy_until timestamptz
);
