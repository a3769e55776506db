export { startAlarms } from "./alarms.ts";
export { createInviteWatch } from "./invites.ts";
