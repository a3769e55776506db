import { type Installation, openInstallation, type Serving, serve } from "./installation.ts";

/** Several processes of one installation, each with roles of its own. With one process it may also run embedded. */
export interface Fleet extends Installation {
  start(roles: string, env?: Record<string, string>): Promise<Serving>;
}

/** `embedded`: PGlite, whatever PostgreSQL there is. Its end is the end of every process that still runs. */
export async function openFleet({ embedded = false } = {}): Promise<Fleet> {
  const installation = await openInstallation({ SIMULATORS_PORT: "" }, { embedded });
  const processes: Serving[] = [];
  return {
    ...installation,
    async start(roles, more = {}) {
      const started = await serve({ ...installation.env, ROLES: roles, ...more });
      processes.push(started);
      return started;
    },
    async close() {
      await Promise.all(processes.map((started) => started.end("SIGKILL")));
      await installation.close();
    },
  };
}
