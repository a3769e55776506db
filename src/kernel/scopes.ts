/** What an API key may do; a key made without a choice has all of these. */
export const SCOPES = ["sessions:create", "sessions:read", "sessions:cancel", "widget:create", "projects:read"] as const;

/** What a key that stands in a voice platform's settings needs, and all it should have: the tools of /integrations, which `sessions:create` opens too. */
export const INTEGRATION_SCOPE = "integrations:use";
export const ALL_SCOPES = [...SCOPES, INTEGRATION_SCOPE] as const;
