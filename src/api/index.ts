export type { ApiDeps, ApiProjects, ApiSessions, ApiSettings, Probe } from "./deps.ts";
export { createApi } from "./server.ts";
