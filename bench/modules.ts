import { createApi } from "#src/api/index.ts";
import { createCheckout } from "#src/checkout/index.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import { systemClock } from "#src/kernel/clock.ts";
import { systemRandom } from "#src/kernel/random.ts";
import { createKeyring, firstKeys, openDatabase, silentLog } from "#src/platform/index.ts";
import { createProjects } from "#src/projects/index.ts";
import { createSessions } from "#src/sessions/index.ts";

const MASTER_KEY = new Uint8Array(32).fill(1);

/** The modules behind the API, on the PostgreSQL database at `url`. */
export async function openModules(url: string) {
  const database = await openDatabase({ databaseUrl: url, dataDir: null });
  const sessions = createSessions({ database, clock: systemClock, random: systemRandom, log: silentLog });
  const keys = firstKeys(createKeyring([MASTER_KEY]));
  const projects = createProjects({ database, keys, random: systemRandom, gateways: GATEWAYS_BUILT, simulatorsUrl: () => null });
  return { database, sessions, projects };
}

/** The real API over them, alone in its process. */
export function apiOver({ database, sessions, projects }: Awaited<ReturnType<typeof openModules>>, rateLimitPerMinute: number) {
  return createApi({
    database,
    sessions,
    projects,
    checkout: createCheckout({
      database,
      projects,
      gateways: GATEWAYS_BUILT,
      clock: systemClock,
      log: silentLog,
      settings: { phoneNumber: null, sessionTtlSeconds: 300, dialsNumbers: false, dialsTls: false, isTrunkHost: () => false },
    }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    settings: { baseUrl: "http://127.0.0.1", version: "bench", rateLimitPerMinute, trustedProxies: [] },
    sipUriFor: (id) => `sip:${id}@127.0.0.1`,
    probes: { sip: null, worker: null },
  });
}
